"""The structure of an extraction; every extractor, rules or model, returns it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal[
    "asserted",
    "hedged",
    "question",
    "conditional",
    "analogy",
    "plan",
    "pseudo_negation",
    "past",
    "quoted",
]
Strength = Literal["certain", "likely", "possible"]

TOPABLE: frozenset[str] = frozenset({"asserted", "hedged"})
"""Kinds of mention that may be the top belief (docs/metrics.md 3.4)."""

RANK: dict[str, int] = {"possible": 1, "likely": 2, "certain": 3}


@dataclass(frozen=True)
class Candidate:
    """One digit that a thought puts forward, with the mention that decides its standing.

    Attributes:
        digit: 0..9.
        strength: How sure the mention is.
        kind: How it is said; only `asserted` and `hedged` may be top.
        p: Stated probability in [0, 1], or None.
        span: Character offsets [start, end) of the digit in the original text.
        rule: Identifier of the rule that decided.
    """

    digit: int
    strength: Strength
    kind: Kind
    p: float | None
    span: tuple[int, int]
    rule: str

    def to_json(self) -> dict[str, Any]:
        """As a JSON object with the field names of the `beliefs` table."""
        return {
            "digit": self.digit,
            "strength": self.strength,
            "kind": self.kind,
            "p": self.p,
            "span": list(self.span),
            "rule": self.rule,
        }


@dataclass(frozen=True)
class SlotBelief:
    """What is stated about one slot: candidates in text order, exclusions ascending, and the top."""

    top: int | None = None
    candidates: tuple[Candidate, ...] = ()
    excluded: tuple[int, ...] = ()

    @property
    def explicit(self) -> bool:
        """Whether the thought says anything about this slot."""
        return bool(self.candidates or self.excluded)

    @property
    def live(self) -> frozenset[int]:
        """Digits that the thought itself holds possible now (asserted or hedged)."""
        return frozenset(c.digit for c in self.candidates if c.kind in TOPABLE)

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return {
            "top": self.top,
            "candidates": [c.to_json() for c in self.candidates],
            "excluded": list(self.excluded),
        }


@dataclass(frozen=True)
class Extraction:
    """The beliefs stated in one thought.

    Attributes:
        slots: `digit` for one digit; `left`, `right` and `unassigned` for more.
        n_digits_claim: Number of digits that the thought says there are, or None.
        event: The event against the prior tops, or None where no prior was given.
    """

    slots: dict[str, SlotBelief]
    n_digits_claim: int | None = None
    event: str | None = None

    @property
    def explicit(self) -> bool:
        """Whether the thought mentions any digit as a belief."""
        return any(slot.explicit for slot in self.slots.values())

    def to_json(self) -> dict[str, Any]:
        """The object of `mnistpro-replay beliefs extract`; `event` only where a prior was given."""
        out: dict[str, Any] = {
            "slots": {name: slot.to_json() for name, slot in self.slots.items()},
            "n_digits_claim": self.n_digits_claim,
        }
        return out if self.event is None else {**out, "event": self.event}


def slot_names(digits: int) -> tuple[str, ...]:
    """Slots of a canvas with `digits` digits: one `digit`, or left, right and unassigned.

    Raises:
        ValueError: If `digits` is below 1.
    """
    if digits < 1:
        raise ValueError(f"digits must be at least 1, got {digits}")
    return ("digit",) if digits == 1 else ("left", "right", "unassigned")


def silent(digits: int) -> Extraction:
    """The extraction of a step that says nothing."""
    return Extraction({name: SlotBelief() for name in slot_names(digits)})
