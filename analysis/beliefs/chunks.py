"""A sentence as its rules see it: enumerations of digits become `¤`, stated shares become `℗`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from .numbers import NUMBER, PAD, letters, mask, mask_long, shares
from .rules import patterns

MOST = 20
"""Mentions that a sentence may have; with more it is a table or noise, and says nothing."""
DIGIT, SHARE = "¤", "℗"


@dataclass(frozen=True)
class Item:
    """One digit (or, for a sequence, several digits) as written, with its offsets in the sentence."""

    digits: tuple[int, ...]
    start: int
    end: int


@dataclass(frozen=True)
class Chunk:
    """An enumeration of digits that share one stance.

    Attributes:
        items: The digits; in a sequence chunk each has one digit for every slot.
        joiner: `or`, `and`, `,`, or empty for a single item.
        article: Its first item has a determiner (`a 7`, `the digit 7`).
        definite: Spoken of as known (`the 7`, `this 7`, `the left 4`).
        side: A slot named inside the chunk (`the left 4`), or None.
        at: Offset of its `¤` in the shadow sentence.
    """

    items: tuple[Item, ...]
    joiner: str = ""
    article: bool = False
    definite: bool = False
    side: str | None = None
    at: int = -1

    @property
    def sequence(self) -> bool:
        """Whether the items are whole answers such as `47`."""
        return len(self.items[0].digits) > 1


@dataclass(frozen=True)
class Shadow:
    """A sentence with placeholders.

    Attributes:
        text: The sentence, lower case, single-spaced.
        chunks: Its digit enumerations in order.
        shares: Stated shares by the offset of their `℗` in `text`.
        offset: Offset of the sentence in the thought.
    """

    text: str
    chunks: tuple[Chunk, ...]
    shares: dict[int, float] = field(default_factory=dict)
    offset: int = 0


SIDES = {
    **dict.fromkeys(
        ("left", "leftmost", "left-most", "left-hand", "lefthand", "first", "1st", "leading"), "left"
    ),
    **dict.fromkeys(
        ("right", "rightmost", "right-most", "right-hand", "righthand", "second", "2nd"), "right"
    ),
}
_P = patterns("mentions")


def shadow(sentence: str, offset: int, digits: int) -> Shadow:
    """Build the shadow of an English sentence.

    Args:
        sentence: Normalised text of the sentence.
        offset: Where it begins in the thought.
        digits: Digits on the canvas; two-digit answers are read only when it is 2.
    """
    if not NUMBER.search(sentence):
        return Shadow(sentence, ())
    text, values = shares(sentence)
    text = mask(text, digits)
    text = _mask_sequences(text) if digits == 2 else mask_long(text)
    pieces = _chunks(text)
    return assemble(text, values, offset, pieces if len(pieces) <= MOST else [])


def _mask_sequences(text: str) -> str:
    """Keep two-digit numbers where an answer may stand, mask every other long number."""

    def replace(match: re.Match[str]) -> str:
        number = match[0]
        before, after = text[max(0, match.start() - 60) : match.start()], text[match.end() :]
        joined = _P["SEQUENCE_JOINED"].search(before)
        if (
            len(number) == 2
            and _P["SEQUENCE_AFTER"].match(after)
            and (joined or _P["SEQUENCE_BEFORE"].search(before))
        ):
            return number
        return letters(match)

    return re.sub(r"(?<!\w)\d[\d.,]*\d(?!\d)|\d{2,}", replace, text)


Piece = tuple[int, int, Chunk]
"""Start and end of an enumeration in the masked sentence, and its chunk, whose place is not known yet."""


def _chunks(text: str) -> list[Piece]:
    groups: list[list[re.Match[str]]] = []
    for match in _P["ITEM"].finditer(text):
        if groups and _joins(text, groups[-1][-1], match):
            groups[-1].append(match)
        else:
            groups.append([match])
    return [piece for group in groups for piece in _split_group(text, group)]


def _joins(text: str, last: re.Match[str], new: re.Match[str]) -> bool:
    if new["side"] or len(last["value"]) != len(new["value"]):
        return False
    return _P["JOINER"].fullmatch(text, last.end(), new.start()) is not None


def _split_group(text: str, group: list[re.Match[str]]) -> list[Piece]:
    """Detach the last item when it begins a clause of its own (`it is a 7, 1 is ruled out`)."""
    joiners = [
        _P["JOINER"].fullmatch(text, a.end(), b.start()) for a, b in zip(group, group[1:], strict=False)
    ]
    kinds = ["or" if j and j["or"] else "and" if j and j["and"] else "," for j in joiners]
    if kinds and kinds[-1] != "or" and _P["SINGULAR_VERB"].match(text, group[-1].end()):
        return [*_split_group(text, group[:-1]), _piece(group[-1:], "")]
    joiner = "or" if "or" in kinds else "and" if "and" in kinds else "," if kinds else ""
    return [_piece(group, joiner)]


def _piece(group: list[re.Match[str]], joiner: str) -> Piece:
    first = group[0]
    known = first["det"] in {"the", "this", "that", "our", "my"} and not first["noun"]
    chunk = Chunk(
        items=tuple(Item(tuple(int(c) for c in m["value"]), m.start("value"), _end(m)) for m in group),
        joiner=joiner,
        article=bool(first["det"] or first["noun"]),
        definite=bool(first["side"]) or known,
        side=SIDES.get(first["side"] or ""),
    )
    return first.start(), group[-1].end(), chunk


def _end(match: re.Match[str]) -> int:
    end = match.end("value")
    while match.string[end : end + 1] == PAD:
        end += 1
    return end


def assemble(text: str, values: list[float], offset: int, pieces: list[Piece]) -> Shadow:
    """Put the placeholders in and drop the padding.

    Args:
        text: The masked sentence.
        values: Of its `℗`, in order.
        offset: Where the sentence begins in the thought.
        pieces: Its enumerations of digits, in order.
    """
    out = ""
    done = 0
    chunks: list[Chunk] = []
    found: dict[int, float] = {}
    remaining = iter(values)
    for start, end, chunk in [*pieces, (len(text), len(text), None)]:
        for part in re.split(f"({SHARE})", text[done:start]):
            if part == SHARE:
                found[len(out)] = next(remaining)
            out += part.replace(PAD, "")
        if chunk:
            chunks.append(replace(chunk, at=len(out)))
            out += DIGIT
        done = end
    return Shadow(out, tuple(chunks), found, offset)
