"""A sentence as its rules see it: enumerations of digits become `¤`, stated shares become `℗`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from .numbers import NUMBER, PAD, mask, mask_long, shares

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
        at: Offset of its `¤` in the shadow sentence.
        items: The digits; in a sequence chunk each has one digit for every slot.
        joiner: `or`, `and`, `,`, or empty for a single item.
        article: Its first item has a determiner (`a 7`, `the digit 7`).
        definite: Spoken of as known (`the 7`, `this 7`, `the left 4`).
        side: A slot named inside the chunk (`the left 4`), or None.
    """

    at: int
    items: tuple[Item, ...]
    joiner: str = ""
    article: bool = False
    definite: bool = False
    side: str | None = None

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
_SIDE = "|".join(sorted(SIDES, key=len, reverse=True))
_ADJECTIVE = r"""(?:handwritten|hand-?drawn|clear|typical|standard|simple|plain|slanted|closed|open|stylized|stylised|
italic|european|lone|proper|real|true|regular|thin|fat|tall|curvy|narrow|wide|big|small|large|obvious|classic|
complete|full|single|normal|rounded|round|straight|tilted|rotated|well-formed|unmistakable|textbook|
sloppy|messy|squashed|cursive|upright|clean|perfect|nice|bold|isolated|lonely|familiar|ordinary|loopy|open-top|
open-topped|closed-top|capital|slender|skinny|wobbly|neat|solid|generic|canonical|same|whole|entire|(?:slightly|very|rather|somewhat|quite|fairly|really|perfectly|oddly|poorly|badly)\s+\w+)"""
_TOKEN = rf"(?<![\w.$%{PAD}])(?:(?<!\w-)|(?<=figure-))(?P<value>\d{{1,2}}){PAD}*(?![\w%{PAD}])(?!\.\d)(?!['’]?s?-(?!\s))"
_ITEM = re.compile(
    rf"""(?:\b(?P<det>an?|the|this|that|our|my|another|one|some|single|your|his)\s+)?
    (?:{_ADJECTIVE}\s+)*(?:\b(?P<side>{_SIDE})\s+)?(?:{_ADJECTIVE}\s+)*
    (?:\b(?P<noun>digit|number|numeral|figure\s+of|figure|class|label|symbol|character|digits|numbers|one)[\s-]+)?
    [\"'(\[{{<]*{_TOKEN}[\"')\]}}>]*""",
    re.X,
)
_JOINER = re.compile(
    r"\s*(?:,?\s*(?P<or>\bor\b|/|\bvs\.?|\bversus\b|\bnor\b)|,?\s*(?P<and>\band\b|&)|(?P<comma>[,|]))"
    r"\s*(?:even\s+|also\s+)?(?:an?\s+)?"
)
_SINGULAR_VERB = re.compile(
    r"\s*(?:is|isn't|was|wasn't|has|hasn't|looks|seems|does|doesn't|fits|remains|becomes|would\s+be|will\s+be)\b"
)
_SEQUENCE_BEFORE = re.compile(
    r"(?:\b(?:answer|sequence|numbers?|digits|reads?|value|label|string|code|pairs?|is|be|as|it's|that's|say|says|see|"
    r"submit|predict|predicting|answering|guess|guessing|to|forms?|final|are|with|so|thus|therefore|hence|then|like|"
    r"gives|giving|spells?|makes|now|probably|likely|maybe|perhaps|possibly|not|means|shows|becomes|i'd\s+say|rather|correction:?|sorry,?|no,|actually|instead)"
    r"(?:\s+(?:a|the|probably|likely|now|is|maybe|perhaps|either|clearly|again|still))*\s*|[:=→]\s*|[\"'(]|^\s*)$"
)
_SEQUENCE_AFTER = re.compile(
    r"\s*(?:$|[.,;:!?)\"'—→|]|-\s|(?:or|and|but|because|since|rather|not|as|seems|looks|is|was|fits|would|could|with|"
    r"for|instead|now|then|so|if|unless|though|in\s+total|from|again|it|at\s+most)\b)"
)


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
        joined = re.search(r"\d\d[\"']?\s*(?:or|/|,|and|vs\.?)\s*[\"']?$", before)
        if len(number) == 2 and _SEQUENCE_AFTER.match(after) and (joined or _SEQUENCE_BEFORE.search(before)):
            return number
        return "n" * len(number)

    return re.sub(r"(?<!\w)\d[\d.,]*\d(?!\d)|\d{2,}", replace, text)


Piece = tuple[int, int, Callable[[int], Chunk]]
"""Start and end in the sentence, and what to build once the place in the shadow is known."""


def _chunks(text: str) -> list[Piece]:
    groups: list[list[re.Match[str]]] = []
    for match in _ITEM.finditer(text):
        if groups and _joins(text, groups[-1][-1], match):
            groups[-1].append(match)
        else:
            groups.append([match])
    return [piece for group in groups for piece in _split_group(text, group)]


def _joins(text: str, last: re.Match[str], new: re.Match[str]) -> bool:
    if last["side"] or new["side"] or len(last["value"]) != len(new["value"]):
        return False
    return _JOINER.fullmatch(text, last.end(), new.start()) is not None


def _split_group(text: str, group: list[re.Match[str]]) -> list[Piece]:
    """Detach the last item when it begins a clause of its own (`it is a 7, 1 is ruled out`)."""
    joiners = [_JOINER.fullmatch(text, a.end(), b.start()) for a, b in zip(group, group[1:], strict=False)]
    kinds = ["or" if j and j["or"] else "and" if j and j["and"] else "," for j in joiners]
    if kinds and kinds[-1] != "or" and _SINGULAR_VERB.match(text, group[-1].end()):
        return [*_split_group(text, group[:-1]), _piece(group[-1:], "")]
    joiner = "or" if "or" in kinds else "and" if "and" in kinds else "," if kinds else ""
    return [_piece(group, joiner)]


def _piece(group: list[re.Match[str]], joiner: str) -> Piece:
    first = group[0]
    definite = bool(first["side"]) or (
        first["det"] in {"the", "this", "that", "our", "my"} and not first["noun"]
    )
    items = tuple(Item(tuple(int(c) for c in m["value"]), m.start("value"), _end(m)) for m in group)

    def build(at: int) -> Chunk:
        return Chunk(
            at=at,
            items=items,
            joiner=joiner,
            article=bool(first["det"] or first["noun"]),
            definite=definite,
            side=SIDES.get(first["side"] or ""),
        )

    return first.start(), group[-1].end(), build


def _end(match: re.Match[str]) -> int:
    end = match.end("value")
    while match.string[end : end + 1] == PAD:
        end += 1
    return end


def assemble(text: str, values: list[float], offset: int, pieces: list[Piece]) -> Shadow:
    """Put the placeholders in, drop padding, join runs of spaces."""
    parts: list[str] = []
    chunks: list[Chunk] = []
    found: dict[int, float] = {}
    length = done = 0

    def add(piece: str) -> None:
        nonlocal length
        parts.append(piece)
        length += len(piece)

    def plain(start: int, end: int) -> None:
        for part in re.split(f"({SHARE})", text[start:end]):
            if part == SHARE:
                found[length] = next(remaining)
            add(part.replace(PAD, ""))

    remaining = iter(values)
    for start, end, build in pieces:
        plain(done, start)
        chunks.append(build(length))
        add(DIGIT)
        done = end
    plain(done, len(text))
    return Shadow("".join(parts), tuple(chunks), found, offset)
