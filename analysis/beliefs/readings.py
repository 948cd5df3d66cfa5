"""Readings: one digit of one mention, with its stance and slot."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from .chunks import DIGIT, Chunk, Shadow
from .model import TOPABLE, Candidate
from .slots import is_pair
from .stance import Stance

_CONCESSION = re.compile(
    r"\b(?:though|although|but|unless|however|while|except|yet|still)\b|但|不过|虽然|除非"
)
_ADDITION = re.compile(
    r"\b(?:also|alternatively|another\s+(?:option|possibility|candidate)|or(?!\s+rather)|as\s+well|equally|too|just\s+as)\b"
    r"|也(?:有)?可能|或者?"
)


@dataclass(frozen=True)
class Reading:
    """One digit of one mention, placed in a slot.

    Attributes:
        candidate: As it will be reported.
        slot: Slot it speaks of.
        negated: The mention excludes the digit (`kind` and `strength` then mean nothing).
        at: Offset of its mention in the thought; mentions of one enumeration share it.
        sentence: Index of its sentence.
        added: Presented as one more alternative (`it could also be`).
        conceded: Stands after `though`, `but`, `unless` in its sentence.
    """

    candidate: Candidate
    slot: str
    negated: bool
    at: int
    sentence: int
    added: bool = False
    conceded: bool = False

    @property
    def topable(self) -> bool:
        """Whether this mention may be the top belief."""
        return not self.negated and self.candidate.kind in TOPABLE

    @property
    def digit(self) -> int:
        """The digit."""
        return self.candidate.digit

    def placed(self, slot: str) -> Reading:
        """The same in another slot."""
        return replace(self, slot=slot)

    def restated(self, **changes: str) -> Reading:
        """The same with another kind, strength or rule."""
        return replace(self, candidate=replace(self.candidate, **changes))


def readings(
    shadow: Shadow, stances: Sequence[Stance | None], slots: Sequence[str | None], sentence: int
) -> list[Reading]:
    """Readings of one sentence in text order.

    Args:
        shadow: The sentence.
        stances: Of its chunks; None gives no reading.
        slots: Of its chunks; None is `unassigned`.
        sentence: Its index in the thought.
    """
    out: list[Reading] = []
    last: str | None = None
    for chunk, stance, slot in zip(shadow.chunks, stances, slots, strict=True):
        if stance is None:
            continue
        parallel = stance.strength == "possible" and stance.rule == last
        last = stance.rule
        if chunk.sequence or (slot != "digit" and is_pair(shadow, chunk)):
            new = [] if stance.kind == "negated" else _in_order(shadow, chunk, stance, sentence)
        else:
            stance = _possible(stance) if chunk.joiner in {"or", ","} and stance.p is None else stance
            places = [(i.digits[0], i.start, i.end) for i in chunk.items]
            new = [_reading(shadow, chunk, stance, slot or "unassigned", place, sentence) for place in places]
        out += [replace(r, added=r.added or parallel) for r in new]
    return out


def refer(new: Sequence[Reading], earlier: Sequence[Reading]) -> list[Reading]:
    """Put `the 6` into the slot that has a 6, where one slot has (`The number is 26. I am not sure of the 6.`)."""
    named = {(r.slot, r.digit) for r in (*earlier, *new) if r.topable and r.slot in {"left", "right"}}

    def slot(reading: Reading) -> str:
        places = [s for s in ("left", "right") if (s, reading.digit) in named]
        known = reading.slot == "unassigned" and reading.candidate.rule.startswith("definite")
        return places[0] if known and len(places) == 1 else reading.slot

    return [replace(r, slot=slot(r)) for r in new]


def _in_order(shadow: Shadow, chunk: Chunk, stance: Stance, sentence: int) -> list[Reading]:
    """A whole answer (`47`, `the digits are 4 and 7`), or several of them, spread over the slots."""
    if chunk.sequence:
        columns = [[(i.digits[k], i.start + k, i.start + k + 1) for i in chunk.items] for k in (0, 1)]
    else:
        columns = [[(i.digits[0], i.start, i.end)] for i in chunk.items]
    out = []
    for slot, column in zip(("left", "right"), columns, strict=True):
        shared = stance if len({digit for digit, _, _ in column}) == 1 else _possible(stance)
        out += [_reading(shadow, chunk, shared, slot, place, sentence) for place in column]
    return out


def _reading(
    shadow: Shadow, chunk: Chunk, stance: Stance, slot: str, place: tuple[int, int, int], sentence: int
) -> Reading:
    digit, start, end = place
    negated = stance.kind == "negated"
    before = shadow.text[: chunk.at]
    candidate = Candidate(
        digit=digit,
        strength=stance.strength,  # pyright: ignore[reportArgumentType]
        kind="asserted" if negated else stance.kind,  # pyright: ignore[reportArgumentType]
        p=stance.p,
        span=(shadow.offset + start, shadow.offset + end),
        rule=stance.rule,
    )
    return Reading(
        candidate,
        slot,
        negated,
        at=shadow.offset + chunk.items[0].start,
        sentence=sentence,
        added=_ADDITION.search(before, before.rfind(DIGIT) + 1) is not None,
        conceded=_CONCESSION.search(before) is not None,
    )


def _possible(stance: Stance) -> Stance:
    """Alternatives (`3 or 8`) cannot all be held: what is asserted or likely of them is only possible."""
    return Stance("hedged", "possible", stance.rule) if stance.kind in TOPABLE else stance
