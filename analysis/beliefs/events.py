"""How stated beliefs change from one explicit statement to the next (docs/metrics.md 3.4, the taxonomy)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from .model import Extraction, SlotBelief, slot_names

EVENTS = (
    "ADOPT", "CONFIRM", "NARROW", "WIDEN", "REVISE", "RETRACT", "REINSTATE", "SWAP", "COMMIT", "SILENT",
)  # fmt: skip
"""All events; `step_event` reports the first of `_PRIORITY` among the slots."""

_PRIORITY = ("REVISE", "REINSTATE", "RETRACT", "ADOPT", "WIDEN", "NARROW", "CONFIRM", "SILENT")
_ALL = frozenset(range(10))

Direction = Literal["to_right", "to_wrong", "lateral", "right_lost", "wrong_lost"]
Prior = Sequence[int | str] | Mapping[str, int | Sequence[int]]
"""Earlier tops: `[5, 6]` (the one slot, or unassigned), `["L7", "R1"]`, or `{"left": [7], "right": [1]}`."""


@dataclass(frozen=True)
class State:
    """What a slot believes after the statements so far.

    Attributes:
        held: The top that stands, or None.
        history: Every top adopted so far, oldest first.
        possible: Digits not yet excluded, or those last put forward as candidates.
    """

    held: int | None = None
    history: tuple[int, ...] = ()
    possible: frozenset[int] = _ALL


@dataclass(frozen=True)
class Event:
    """One event of one slot.

    Attributes:
        step: Index of the thought.
        slot: `digit`, `left`, `right` or `unassigned`.
        event: One of `EVENTS`.
        before: Top held before, or None.
        after: Top held after; of a COMMIT the digit answered.
        direction: For REVISE, REINSTATE and SWAP to_right, to_wrong or lateral; for a lost top right_lost or
            wrong_lost; None where the label is not known or nothing was lost or changed.
        answer_matches_belief: Only of COMMIT: the digit answered is the top held; None without either.
    """

    step: int
    slot: str
    event: str
    before: int | None
    after: int | None
    direction: Direction | None = None
    answer_matches_belief: bool | None = None

    def to_row(self) -> dict[str, Any]:
        """As a row of a table."""
        return dict(vars(self))


def advance(state: State, belief: SlotBelief) -> tuple[str, State]:
    """The event of one slot when `belief` follows `state`, and the state after it.

    A thought that says nothing of the slot, only asks, plans, recalls or compares, or excludes other digits
    than the one held, carries the belief forward (SILENT). A top that stays among several candidates is
    WIDEN, one that is given up is RETRACT.
    """
    if belief.top is not None:
        return _with_top(state, belief.top)
    lost = state.held is not None and (bool(belief.live) or state.held in belief.excluded)
    if state.held is not None and not lost:
        return "SILENT", state
    possible = _possible(state, belief)
    after = replace(state, held=None, possible=possible)
    if lost:
        return ("WIDEN" if state.held in possible else "RETRACT"), after
    if possible == state.possible:
        return ("CONFIRM" if belief.live or belief.excluded else "SILENT"), after
    return ("NARROW" if possible < state.possible else "WIDEN"), after


def _with_top(state: State, top: int) -> tuple[str, State]:
    if top == state.held:
        return "CONFIRM", replace(state, possible=frozenset({top}))
    event = "REINSTATE" if top in state.history else "ADOPT" if state.held is None else "REVISE"
    return event, State(top, (*state.history, top), frozenset({top}))


def _possible(state: State, belief: SlotBelief) -> frozenset[int]:
    """Candidates put forward now, else those of before without what is excluded now."""
    if belief.live:
        return belief.live
    before = state.possible if state.held is None else _ALL
    reopened = {c.digit for c in belief.candidates if c.kind == "pseudo_negation"}
    return (before - set(belief.excluded)) | reopened


def step_event(states: Mapping[str, State], beliefs: Mapping[str, SlotBelief]) -> str:
    """The one event of a thought: SWAP, or else the weightiest of its slots'."""
    if _swapped(states, beliefs):
        return "SWAP"
    found = {advance(states[slot], belief)[0] for slot, belief in beliefs.items()}
    return next(event for event in _PRIORITY if event in found)


def _swapped(states: Mapping[str, State], beliefs: Mapping[str, SlotBelief]) -> bool:
    """Left and right tops exchanged."""
    if "left" not in states:
        return False
    before = states["left"].held, states["right"].held
    after = beliefs["right"].top, beliefs["left"].top
    return None not in before and before == after and before[0] != before[1]


def episode_events(
    extractions: Sequence[Extraction], digits: int, label: str | None = None, answer: str | None = None
) -> list[Event]:
    """All events of an episode, slot by slot within each step, with a COMMIT per slot at the end.

    Args:
        extractions: One per thought, in order; a step without text is an empty extraction.
        digits: Digits on the canvas.
        label: True digits; directions are None without it.
        answer: The answer as a digit string, or None (then there is no COMMIT).
    """
    states = {slot: State() for slot in slot_names(digits)}
    events: list[Event] = []
    for step, extraction in enumerate(extractions):
        swap = _swapped(states, extraction.slots)
        for slot, belief in extraction.slots.items():
            name, after = advance(states[slot], belief)
            name = "SWAP" if swap and slot != "unassigned" else name
            truth = digit_of(label, slot, digits)
            direction = _direction(states[slot].held, after.held, truth)
            events.append(Event(step, slot, name, states[slot].held, after.held, direction))
            states[slot] = after
    if answer is not None:
        events += [_commit(len(extractions) - 1, s, states[s].held, answer, digits) for s in states]
    return events


def _commit(step: int, slot: str, held: int | None, answer: str, digits: int) -> Event:
    given = digit_of(answer, slot, digits)
    matches = None if held is None or given is None else held == given
    return Event(step, slot, "COMMIT", held, given, answer_matches_belief=matches)


def digit_of(text: str | None, slot: str, digits: int) -> int | None:
    """The digit of a label or answer that belongs to a slot; None where there is none.

    Answers of the wrong length belong to no slot, and nothing belongs to `unassigned`.
    """
    if text is None or len(text) != digits or not (text.isascii() and text.isdigit()) or slot == "unassigned":
        return None
    return int(text[-1] if slot == "right" else text[0])


def _direction(before: int | None, after: int | None, truth: int | None) -> Direction | None:
    if truth is None or before is None or before == after:
        return None
    if after is None:
        return "right_lost" if before == truth else "wrong_lost"
    if after == truth:
        return "to_right"
    return "to_wrong" if before == truth else "lateral"


def prior_states(prior: Prior, names: Sequence[str]) -> dict[str, State]:
    """States after earlier tops.

    Args:
        prior: See `Prior`; a bare digit belongs to the only slot, or to `unassigned`.
        names: Slots of the canvas.

    Raises:
        ValueError: If an entry is no digit or names a slot that the canvas has not.
    """
    tops: dict[str, list[int]] = {name: [] for name in names}
    pairs = (
        [(slot, d) for slot, ds in prior.items() for d in ([ds] if isinstance(ds, int) else ds)]
        if isinstance(prior, Mapping)
        else [_prior_entry(entry, names) for entry in prior]
    )
    for slot, digit in pairs:
        if slot not in tops or digit not in _ALL:
            raise ValueError(f"prior: no top of this canvas: {slot}={digit}")
        tops[slot].append(digit)
    return {slot: State(t[-1], tuple(t), frozenset({t[-1]})) if t else State() for slot, t in tops.items()}


def _prior_entry(entry: int | str, names: Sequence[str]) -> tuple[str, int]:
    text = str(entry).strip()
    slot = {"L": "left", "R": "right", "U": "unassigned", "D": "digit"}.get(text[:1].upper(), names[-1])
    number = text.lstrip("LRUDlrud")
    if not number.isdecimal():
        raise ValueError(f"prior: not a digit: {entry!r}")
    return slot, int(number)
