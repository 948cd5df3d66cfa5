"""From the readings of one slot to its belief: what still stands, what is excluded, and the top."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import replace

from .model import RANK, SlotBelief
from .readings import Reading

_CORRECTION = re.compile(
    r"\b(?:wait|actually|scratch\s+that|correction|on\s+second\s+(?:thoughts?|look)|no,|hold\s+on|hang\s+on|sorry|"
    r"let\s+me\s+(?:correct|reconsider|revise|rethink|re-think|re-evaluate|take\s+that\s+back)|my\s+mistake|oops|"
    r"never\s*mind|i\s+take\s+(?:that|it)\s+back|strike\s+that|on\s+closer\s+(?:look|inspection)|looking\s+again|"
    r"i\s+stand\s+corrected|i\s+change\s+my\s+mind|i\s+meant|make\s+that|i'm\s+changing|"
    r"re-?evaluating|reconsidering|upon\s+reflection|or\s+rather)"
    r"|不对|哦不|不[，,]|等等|等一下|更正|修正|其实|改为|改成|重新看|再看|现在看"
)
_WITHDRAWAL = re.compile(
    r"\b(?:(?:that|which|this)\s+(?:was|is|turned\s+out\s+to\s+be)\s+(?:\w+\s+)?"
    r"(?:wrong|premature|hasty|a\s+mistake|a\s+misreading|incorrect|an\s+error|not\s+right)|"
    r"i\s+was\s+(?:wrong|mistaken)|i\s+take\s+(?:that|it)\s+back|scratch\s+that|strike\s+that|i\s+misread|"
    r"that\s+(?:doesn't|does\s+not|can't|cannot)\s+be\s+right)|不对|错了"
)


def withdraw(readings: Sequence[Reading], text: str) -> list[Reading]:
    """Turn the mention before each `I was wrong`, `scratch that` into past; readings of all slots (mode 15).

    Args:
        readings: In text order.
        text: The normalised thought.
    """
    held = sorted({r.at for r in readings if r.topable})
    before = [bisect_left(held, match.start()) - 1 for match in _WITHDRAWAL.finditer(text)]
    gone = {held[i] for i in before if i >= 0} | _misplaced([r for r in readings if r.topable], text)
    return [_past(r) if r.at in gone and r.topable else r for r in readings]


def _misplaced(held: Sequence[Reading], text: str) -> set[int]:
    """Mentions whose digit a correction puts into the other slot (`The right is a 5. Sorry, the left is a 5.`)."""
    moves = [
        (a, b)
        for a, b in zip(held, held[1:], strict=False)
        if a.digit == b.digit and a.slot != b.slot and a.at < b.at
    ]
    return {a.at for a, b in moves if _CORRECTION.search(text, a.at, b.at)}


def slot_belief(readings: Sequence[Reading], text: str) -> SlotBelief:
    """Belief of one slot from its readings in text order (docs/metrics.md 3.4, which mention may be top).

    Args:
        readings: Of this slot.
        text: The normalised thought, searched for corrections between the readings.
    """
    standing = _tied(_corrected(readings, text))
    excluded = _excluded(standing)
    live = [r for r in standing if not r.negated and r.digit not in excluded]
    best = _conceded(list(_best(live).values()), live)
    return SlotBelief(_top(best), tuple(r.candidate for r in best), tuple(sorted(excluded)))


def _past(reading: Reading) -> Reading:
    return reading.restated(kind="past", strength="possible")


def _corrected(readings: Sequence[Reading], text: str) -> list[Reading]:
    """A digit is past once the thought corrects itself to another one and does not come back to it (mode 15)."""
    held = [r for r in readings if r.topable]
    if len(held) < 2 or held[-1].added:
        return list(readings)
    marks = [m.start() for m in _CORRECTION.finditer(text)]
    latest = {r.digit: r.at for r in held}
    gone = {d for d, at in latest.items() if bisect_left(marks, at) < bisect_left(marks, held[-1].at)}
    return [_past(r) if r.topable and r.digit in gone else r for r in readings]


def _tied(readings: list[Reading]) -> list[Reading]:
    """An added alternative joins the enumeration before it, so that the two tie."""
    out: list[Reading] = []
    earlier: Reading | None = None
    for reading in readings:
        if earlier and reading.added and reading.topable and earlier.candidate.strength == "possible":
            reading = replace(reading, at=earlier.at)
        earlier = reading if reading.topable else earlier
        out.append(reading)
    return out


def _excluded(readings: Iterable[Reading]) -> set[int]:
    """Digits whose last word is an exclusion."""
    out: set[int] = set()
    for reading in readings:
        if reading.negated:
            out.add(reading.digit)
        elif reading.topable:
            out.discard(reading.digit)
    return out


def _weight(reading: Reading) -> tuple[bool, int, float]:
    candidate = reading.candidate
    return reading.topable, RANK[candidate.strength], -1.0 if candidate.p is None else candidate.p


def _best(readings: Iterable[Reading]) -> dict[int, Reading]:
    """For each digit the mention that decides its standing: the strongest, of equals the last."""
    best: dict[int, Reading] = {}
    for reading in readings:
        known = best.get(reading.digit)
        if known is None or _weight(reading) >= _weight(known):
            best[reading.digit] = reading
    return best


def _conceded(best: list[Reading], live: Sequence[Reading]) -> list[Reading]:
    """An assertion that its own sentence qualifies (`3, though it could be an 8`) is likely, not certain."""

    def qualified(reading: Reading) -> bool:
        return reading.candidate.kind == "asserted" and any(
            r.conceded
            and r.sentence == reading.sentence
            and r.at > reading.at
            and r.digit != reading.digit
            and r.candidate.kind in {"hedged", "conditional"}
            for r in live
        )

    return [
        r.restated(kind="hedged", strength="likely", rule=f"{r.candidate.rule}+conceded")
        if qualified(r)
        else r
        for r in best
    ]


def _top(best: Sequence[Reading]) -> int | None:
    """Asserted beats hedged, stronger beats weaker, later beats earlier; a tie in one enumeration is no top."""
    held = [r for r in best if r.topable]
    if not held:
        return None
    weight = max(_weight(r) for r in held)
    strongest = [r for r in held if _weight(r) == weight]
    last = max(r.at for r in strongest)
    digits = {r.digit for r in strongest if r.at == last}
    return digits.pop() if len(digits) == 1 else None
