"""Chinese: numbers, slots and counts; stance rules are in data/chinese.rules, the machinery is that of English."""

from __future__ import annotations

import re

from .chunks import MOST, Chunk, Item, Piece, Shadow, assemble
from .numbers import letters, mask_long, shares
from .rules import patterns
from .slots import OPPOSITE, Topic

_P = patterns("chinese")
_MASKS = [pattern for name, pattern in _P.items() if name.startswith("MASK_")]
_NUMERALS = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"〇": 0}
_SIDE = {**dict.fromkeys("左一1首十", "left"), **dict.fromkeys("右二2末后个", "right")}


def shadow(sentence: str, offset: int, digits: int) -> Shadow:
    """Build the shadow of a Chinese sentence; arguments as `chunks.shadow`."""
    text, values = shares(sentence)
    for pattern in _MASKS:
        text = pattern.sub(letters, text)
    text = _P["NUMERAL"].sub(lambda m: str(_NUMERALS[m["n"]]), text)
    text = _mask_sequences(text) if digits == 2 else mask_long(text)
    pieces = _pieces(text)
    return assemble(text, values, offset, pieces if len(pieces) <= MOST else [])


def _mask_sequences(text: str) -> str:
    def replace(match: re.Match[str]) -> str:
        before = text[max(0, match.start() - 12) : match.start()]
        keep = len(match[0]) == 2 and _P["SEQUENCE_BEFORE"].search(before)
        return match[0] if keep else letters(match)

    return re.sub(r"\d{2,}", replace, text)


def _pieces(text: str) -> list[Piece]:
    groups: list[list[re.Match[str]]] = []
    joiners: list[str] = []
    for match in _P["ITEM"].finditer(text):
        link = _P["JOINER"].fullmatch(text, groups[-1][-1].end(), match.start()) if groups else None
        if link and len(groups[-1][-1]["value"]) == len(match["value"]):
            groups[-1].append(match)
            kind = next(name for name in ("or", "and", "comma") if link[name])
            joiners[-1] = "or" if "or" in (kind, joiners[-1]) else "and" if kind == "and" else ","
        else:
            groups.append([match])
            joiners.append("")
    return [_piece(group, joiner) for group, joiner in zip(groups, joiners, strict=True)]


def _piece(group: list[re.Match[str]], joiner: str) -> Piece:
    items = tuple(Item(tuple(int(c) for c in m["value"]), *m.span("value")) for m in group)
    return group[0].start(), group[-1].end(), Chunk(items, joiner)


def assign(sentence: Shadow, topic: Topic, topped: set[str]) -> list[str | None]:
    """Slot of each chunk, as `slots.assign`."""
    anchors = list(_P["ANCHOR"].finditer(sentence.text))
    current = topic.slot if topic.slot not in topped or _P["GOES_ON"].match(sentence.text) else None
    slots: list[str | None] = []
    used: set[int] = set()
    done = 0
    for chunk in sentence.chunks:
        for anchor in anchors:
            if done <= anchor.start() < chunk.at and anchor.start() not in used:
                current, done = _named(anchor, topic), anchor.end()
        attached = _P["ATTACHED"].match(sentence.text[chunk.at + 1 :])
        if attached:
            used |= {a.start() for a in anchors if 0 < a.start() - chunk.at < 1 + attached.end()}
        slots.append(_SIDE[attached["side"]] if attached else current)
        topic.last = slots[-1] or topic.last
    for anchor in anchors:
        if anchor.start() not in used:
            topic.slot = _named(anchor, topic)
            topic.last = topic.slot or topic.last
    return slots


def _named(anchor: re.Match[str], topic: Topic) -> str | None:
    if anchor["explore"]:
        return None
    if anchor["other"]:
        return OPPOSITE.get(topic.last or "")
    return _SIDE[next(name for name in anchor.groups() if name)]


def digit_count(sentence: str) -> int | None:
    """Number of digits that a sentence says the canvas has, or None."""
    match = _P["COUNT"].search(sentence)
    if match is None or _P["COUNT_UNSURE"].search(sentence, 0, match.start()):
        return None
    return 1 if match["one"] else 2 if match["two"] else 3
