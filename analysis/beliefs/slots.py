"""Which slot a mention speaks of, and how many digits a thought says there are (English)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .chunks import SIDES, Chunk, Shadow
from .numbers import LEFT_MARK, RIGHT_MARK
from .rules import patterns

OPPOSITE = {"left": "right", "right": "left"}
_P = patterns("slots")
_SLOT_OF = {
    **SIDES,
    **dict.fromkeys(("leading", "tens", "begins", "starts", "l", LEFT_MARK), "left"),
    **dict.fromkeys(("last", "final", "trailing", "ones", "units", "ends", "r", RIGHT_MARK), "right"),
}
_ORDINALS = {"first", "second", "1st", "2nd", "last"}
_COUNTS = {"two": 2, "2": 2, "three": 3, "3": 3, "four": 4, "4": 4}


@dataclass
class Topic:
    """What the thought is speaking of while it is read: a slot, and the last slot named."""

    slot: str | None = None
    last: str | None = None


def assign(shadow: Shadow, topic: Topic, topped: set[str]) -> list[str | None]:
    """Slot of each chunk: `left`, `right`, or None where the thought does not say (sequences: None).

    Args:
        shadow: The sentence.
        topic: Carried from the sentences before; updated.
        topped: Slots that already have an asserted or hedged digit.
    """
    anchors = [m for m in _P["ANCHOR"].finditer(shadow.text) if not _is_stroke(shadow.text, m)]
    placed = _placed(shadow)
    taken = {a.start() for a in anchors if any(start < a.start() < end for start, end in placed.spans)}
    current = _carried(shadow, topic, topped)
    slots: list[str | None] = []
    done = 0
    for index, chunk in enumerate(shadow.chunks):
        named = False
        for anchor in anchors:
            if done <= anchor.start() < chunk.at and anchor.start() not in taken:
                slot, resets = _named(anchor, topic, shadow, chunk)
                if slot or resets:
                    current, done, named = slot, anchor.end(), True
        slot = chunk.side or placed.slots.get(index) or _inherited(shadow, index, slots, named)
        if not slot and current and not _left(shadow.text[done : chunk.at]):
            slot = current
        slots.append(slot)
        topic.last = slot or topic.last
    _move_on(topic, shadow, [a for a in anchors if a.start() not in taken], slots)
    return slots


@dataclass(frozen=True)
class _Placed:
    """Slots that chunks get from the words just after or between them, and where those words stand."""

    slots: dict[int, str]
    spans: list[tuple[int, int]]


def _placed(shadow: Shadow) -> _Placed:
    slots: dict[int, str] = {}
    spans: list[tuple[int, int]] = []
    for i, (a, b) in enumerate(zip(shadow.chunks, shadow.chunks[1:], strict=False)):
        between = shadow.text[a.at + 1 : b.at]
        if match := _P["BESIDE"].match(between):
            slots[i], slots[i + 1] = OPPOSITE[match["beside"]], match["beside"]
        elif match := _P["ORDER"].match(between):
            slots[i], slots[i + 1] = ("left", "right") if match["order"] else ("right", "left")
    for i, chunk in enumerate(shadow.chunks):
        if i not in slots and not chunk.side and (match := _attached(shadow.text[chunk.at + 1 :])):
            slots[i] = _SLOT_OF[next(name for name in match.groups() if name)]
            spans.append((chunk.at, chunk.at + 1 + match.end()))
    return _Placed(slots, spans)


def _attached(after: str) -> re.Match[str] | None:
    """The words that place a mention, just after it (`a 7 on the left`)."""
    match = _P["ATTACHED"].match(after)
    if match and "," in match[0] and _P["NEXT_MENTION"].match(after, match.end()):
        return None
    return match or _P["ATTACHED_LATE"].match(after)


def _inherited(shadow: Shadow, index: int, slots: Sequence[str | None], named: bool) -> str | None:
    """The slot of the mention before, where this one contrasts with it or goes on about it."""
    if not index or not slots[-1]:
        return None
    between = shadow.text[shadow.chunks[index - 1].at + 1 : shadow.chunks[index].at]
    goes_on = not named and (_P["REFERS"].search(between) or _P["CONCLUDES"].search(between))
    return slots[-1] if goes_on or _P["CONTRAST"].match(between) else None


def _left(text: str) -> bool:
    """Whether a thought leaves the slot it spoke of, and does not say `it is` of it after that."""
    match = _P["BREAK"].search(text)
    return match is not None and not _P["IT_IS"].search(text, match.start())


def _is_stroke(text: str, anchor: re.Match[str]) -> bool:
    """Whether `the right one` means a stroke that the sentence has just named, not a digit."""
    one = anchor["noun"] in {"left", "right", "second"} and anchor[0].endswith("one")
    return one and _P["STROKE"].search(text, 0, anchor.start()) is not None


def _carried(shadow: Shadow, topic: Topic, topped: set[str]) -> str | None:
    """The topic of the sentences before, where this one goes on about it."""
    if topic.slot is None or not shadow.chunks:
        return None
    before = shadow.text[: shadow.chunks[0].at]
    if _left(before) or (_P["WHOLE_CANVAS"].search(before) and not _P["IT_IS"].search(before)):
        return None
    refers = _P["REFERS"].search(before) or _P["CORRECTS"].match(before)
    return topic.slot if refers or topic.slot not in topped else None


def _named(
    anchor: re.Match[str], topic: Topic, shadow: Shadow, chunk: Chunk | None
) -> tuple[str | None, bool]:
    """Slot that an anchor names, and whether it ends what was spoken of before."""
    if anchor["explore"] and anchor["noun"] in _ORDINALS:
        return None, True
    if anchor["other"]:
        first = next((m["noun"] for m in _P["ANCHOR"].finditer(shadow.text) if m["noun"]), "")
        return OPPOSITE.get(topic.last or _SLOT_OF.get(first, "")), True
    if anchor["on"]:
        glued = chunk is not None and _P["GLUE"].match(shadow.text[anchor.end() : chunk.at])
        return (anchor["on"], False) if glued else (None, False)
    slot = _SLOT_OF[next(name for name in (anchor["noun"], *anchor.groups()) if name)]
    return OPPOSITE[slot] if anchor["back"] else slot, True


def _move_on(
    topic: Topic, shadow: Shadow, anchors: Sequence[re.Match[str]], slots: Sequence[str | None]
) -> None:
    """What the next sentence may go on about: the last slot named, or else the last one given a digit."""
    for anchor in anchors:
        if anchor["on"] is None:
            topic.slot, _ = _named(anchor, topic, shadow, None)
            topic.last = topic.slot or topic.last
    if not anchors and slots and slots[-1]:
        topic.slot = slots[-1]


def moved_to(shadow: Shadow) -> str | None:
    """The slot of a correction that names a side only (`Sorry, on the right.`)."""
    match = _P["MOVED"].match(shadow.text)
    return match["side"] if match else None


def is_pair(shadow: Shadow, chunk: Chunk) -> bool:
    """Whether `4 and 7` names both digits in reading order (`the digits are 4 and 7`)."""
    two = len(chunk.items) == 2 and not chunk.sequence and chunk.joiner in {"and", ","}
    named = _P["PAIR"].search(shadow.text, 0, chunk.at) or _P["IN_ORDER"].match(shadow.text, chunk.at + 1)
    return two and named is not None


def digit_count(sentence: str) -> int | None:
    """Number of digits that a sentence says the canvas has; None where it says none, or is unsure."""
    match = _P["COUNT"].search(sentence)
    if match is None:
        return None
    if match["one"]:
        return None if _P["COUNT_UNSURE"].search(sentence) else 1
    if _P["COUNT_UNSURE_BEFORE"].search(sentence, max(0, match.start() - 25), match.start()):
        return None
    return 2 if match["both"] else _COUNTS[match["n"]]
