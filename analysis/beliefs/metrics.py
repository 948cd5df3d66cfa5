"""Belief revision measured against evidence (docs/metrics.md 3.4, the table).

A *step* is a thought with its action; a *glimpse* an observation. The thought of step t has seen the glimpses
up to `glimpse[t]`. Evidence is the reference posterior after each glimpse; panels are slots (`digit`, or `left`
and `right`). What is undefined is None, with a reason from `schemas.enums.REASONS`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log
from typing import Any, Literal, NamedTuple

import numpy as np

from ..statistics import proportion
from .events import Event, digit_of, episode_events
from .model import Extraction, silent

CONTRADICTION = log(9)
"""A belief is contradicted when another digit is this much likelier, in log odds."""
SUPPORT = 0.5
"""A belief is supported when the posterior gives it at least this."""


@dataclass(frozen=True)
class Episode:
    """One episode's stated beliefs and the evidence that lay before the agent.

    Attributes:
        extractions: One per step; None where the step has no thought.
        digits: Digits on the canvas, 1 or 2.
        label: True digits, or None.
        answer: Answer as a digit string, or None.
        glimpse: For each step the last glimpse shown before its thought; None for 0, 1, 2, ...
        posterior: float (G, panels, 10), reference posterior after each glimpse; None if not computed.
        new_ink: (G, panels), stroke pixels first shown by each glimpse; None if not known.
    """

    extractions: Sequence[Extraction | None]
    digits: int
    label: str | None = None
    answer: str | None = None
    glimpse: Sequence[int] | None = None
    posterior: np.ndarray | None = None
    new_ink: np.ndarray | None = None

    def events(self) -> list[Event]:
        """Events of all steps (`events.episode_events`)."""
        stated = [silent(self.digits) if e is None else e for e in self.extractions]
        return episode_events(stated, self.digits, self.label, self.answer)

    def seen(self, step: int) -> int:
        """Index of the last glimpse before the thought of `step`."""
        return step if self.glimpse is None else self.glimpse[step]


class Line(NamedTuple):
    """One slot's history: its events in order, and the top held after each step (None for no belief)."""

    slot: str
    panel: int
    truth: int | None
    events: list[Event]
    held: list[int | None]


class Spell(NamedTuple):
    """A run of steps in which the belief going in is contradicted by evidence newer than the belief.

    Attributes:
        belief: The digit believed.
        start: Step whose evidence first contradicts it.
        latency: Steps from `start` until it was given up, or until the spell ended without.
        outcome: `revised` (given up), `faded` (the evidence came back), `kept` (to the end).
    """

    belief: int
    start: int
    latency: int
    outcome: Literal["revised", "faded", "kept"]


def belief_rows(episode: Episode) -> list[dict[str, Any]]:
    """One row per slot that has a panel: adoption, flips, survival, corrections, consistency, evidence.

    Every row has `reasons`: field → why it is None. Sums and pairs of counts in it pool with `pooled`.
    """
    rows = []
    for line in lines(episode):
        row: dict[str, Any] = {"slot": line.slot, "reasons": {}}
        for part in (_rate, _adoption, _flips, _wrong_belief, _consistency, _contradiction, _anchoring, _lag):
            values, reasons = part(episode, line)
            row |= values
            row["reasons"] |= reasons
        rows.append(row)
    return rows


def lines(episode: Episode) -> list[Line]:
    """The history of each slot that has a panel."""
    events = episode.events()
    names = ["digit"] if episode.digits == 1 else ["left", "right"]
    out = []
    for panel, slot in enumerate(names):
        own = [e for e in events if e.slot == slot and e.event != "COMMIT"]
        truth = digit_of(episode.label, slot, episode.digits)
        out.append(Line(slot, panel, truth, own, [e.after for e in own]))
    return out


Part = tuple[dict[str, Any], dict[str, str]]


def _rate(episode: Episode, line: Line) -> Part:
    """Explicit-belief rate of the episode: thoughts with a mention ÷ thoughts."""
    thoughts = [e for e in episode.extractions if e is not None]
    explicit = sum(e.explicit for e in thoughts)
    rate = explicit / len(thoughts) if thoughts else None
    values = {"n_thoughts": len(thoughts), "n_explicit": explicit, "explicit_belief_rate": rate}
    return values, {} if thoughts else {"explicit_belief_rate": "not_recorded"}


def _adoption(episode: Episode, line: Line) -> Part:
    """The first top, when it came and whether it was right (coverage joins on `adoption_glimpse`)."""
    step = next((t for t, d in enumerate(line.held) if d is not None), None)
    first = None if step is None else line.held[step]
    correct = None if first is None or line.truth is None else first == line.truth
    values = {
        "adoption_step": step,
        "adoption_glimpse": None if step is None else episode.seen(step),
        "first_belief": first,
        "first_belief_correct": correct,
    }
    reason = "never_reached" if step is None else "label_unknown"
    return values, {k: reason for k, v in values.items() if v is None}


def _flips(episode: Episode, line: Line) -> Part:
    """Flip rate (#REVISE ÷ (#explicit tops − 1)), number and turn of flip, correction balance.

    A REINSTATE that replaces a standing top is a flip too: it is the second half of a flip-flop.
    """
    tops = sum(e is not None and e.slots[line.slot].top is not None for e in episode.extractions)
    flips = [e for e in line.events if e.event in {"REVISE", "REINSTATE"} and e.before is not None]
    right = sum(e.direction == "to_right" for e in flips)
    wrong = sum(e.direction == "to_wrong" for e in flips)
    values = {
        "n_explicit_tops": tops,
        "n_flips": len(flips),
        "flip_rate": len(flips) / (tops - 1) if tops > 1 else None,
        "first_flip_step": flips[0].step if flips else None,
        "n_to_right": right,
        "n_to_wrong": wrong,
        "n_lateral": sum(e.direction == "lateral" for e in flips),
        "correction_balance": (right - wrong) / (right + wrong) if right + wrong else None,
    }
    reasons = {
        "flip_rate": "too_short",
        "first_flip_step": "never_reached",
        "correction_balance": "never_reached",
    }
    return values, {k: r for k, r in reasons.items() if values[k] is None}


def _wrong_belief(episode: Episode, line: Line) -> Part:
    """The first wrong belief adopted: how long it stood, and whether it became the answer."""
    fields = ("wrong_belief", "wrong_from_step", "wrong_duration", "wrong_ended", "wrong_survived")
    if line.truth is None:
        return dict.fromkeys(fields), dict.fromkeys(fields, "label_unknown")
    start = next((t for t, d in enumerate(line.held) if d not in (None, line.truth)), None)
    if start is None:
        return dict.fromkeys(fields), dict.fromkeys(fields, "never_reached")
    wrong = line.held[start]
    end = next((t for t in range(start, len(line.held)) if line.held[t] != wrong), None)
    given = digit_of(episode.answer, line.slot, episode.digits)
    survived = None if given is None else given == wrong
    stood = (len(line.held) if end is None else end) - start
    values = {
        "wrong_belief": wrong,
        "wrong_from_step": start,
        "wrong_duration": stood,
        "wrong_ended": end is not None,
        "wrong_survived": survived,
    }
    return values, {} if survived is not None else {"wrong_survived": "not_recorded"}


def _consistency(episode: Episode, line: Line) -> Part:
    """Two asserted digits in one thought, belief against answer, claims about the number of digits."""
    stated = [e for e in episode.extractions if e is not None]
    asserted = [{c.digit for c in e.slots[line.slot].candidates if c.kind == "asserted"} for e in stated]
    claims = [e.n_digits_claim for e in stated if e.n_digits_claim is not None]
    held = line.held[-1] if line.held else None
    given = digit_of(episode.answer, line.slot, episode.digits)
    matches = None if held is None or given is None else held == given
    values = {
        "n_two_tops": sum(len(digits) > 1 for digits in asserted),
        "n_count_claims": len(claims),
        "n_wrong_count_claims": sum(n != episode.digits for n in claims),
        "answer_matches_belief": matches,
    }
    reason = "never_reached" if held is None else "not_recorded"
    return values, {} if matches is not None else {"answer_matches_belief": reason}


def _contradiction(episode: Episode, line: Line) -> Part:
    """Contradiction spells and ignored rate, evidence sensitivity, inertia, collateral changes."""
    fields = ("ignored_rate", "evidence_sensitivity", "inertia")
    counts = ("n_spells", "n_spells_ignored", "n_contradicted", "n_contradicted_revised", "n_supported",
              "n_supported_revised", "n_changes", "n_collateral")  # fmt: skip
    if episode.posterior is None or episode.new_ink is None:
        return dict.fromkeys([*fields, *counts]), dict.fromkeys([*fields, *counts], "not_recorded")
    found = spells(episode, line)
    tests = _tests(episode, line)
    against = [t.revised for t in tests if t.contradicted]
    supported = [t.revised for t in tests if t.supported]
    ignored = sum(s.outcome != "revised" for s in found)
    changes, collateral = _collateral(episode, line)
    values = {
        "n_spells": len(found),
        "n_spells_ignored": ignored,
        "ignored_rate": ignored / len(found) if found else None,
        "n_contradicted": len(against),
        "n_contradicted_revised": sum(against),
        "n_supported": len(supported),
        "n_supported_revised": sum(supported),
        "evidence_sensitivity": _mean(against) - _mean(supported) if against and supported else None,
        "inertia": 1 - _mean(against) if against else None,
        "n_changes": changes,
        "n_collateral": collateral,
    }
    return values, {k: "never_reached" for k in fields if values[k] is None}


class _Test(NamedTuple):
    """A step that had a belief going in, what the evidence said of it, and whether it was given up."""

    step: int
    belief: int
    contradicted: bool
    supported: bool
    revised: bool


def _tests(episode: Episode, line: Line) -> list[_Test]:
    assert episode.posterior is not None
    assert episode.new_ink is not None
    out = []
    since = 0
    for step in range(1, len(line.held)):
        belief = line.held[step - 1]
        if belief is None:
            continue
        if step == 1 or line.held[step - 2] != belief:
            since = step - 1
        q = episode.posterior[episode.seen(step), line.panel]
        fresh = episode.new_ink[episode.seen(since) + 1 : episode.seen(step) + 1, line.panel].sum() > 0
        against = bool(fresh) and log_odds_against(q, belief) >= CONTRADICTION
        out.append(_Test(step, belief, against, bool(q[belief] >= SUPPORT), line.held[step] != belief))
    return out


def log_odds_against(q: np.ndarray, digit: int) -> float:
    """ln(max q / q(digit)) of a posterior (10,); infinite where the digit has no probability."""
    return float("inf") if q[digit] <= 0 else float(np.log(q.max() / q[digit]))


def spells(episode: Episode, line: Line) -> list[Spell]:
    """Contradiction spells of a slot; latencies with outcome `revised` are events, the others censored."""
    out: list[Spell] = []
    start: _Test | None = None
    last = 0
    for test in _tests(episode, line):
        if start is not None and (test.belief != start.belief or test.step != last + 1):
            start = None
        if start is not None and not test.contradicted:
            out.append(Spell(start.belief, start.step, test.step - start.step, "faded"))
            start = None
        if test.contradicted:
            start = start or test
            if test.revised:
                out.append(Spell(start.belief, start.step, test.step - start.step, "revised"))
                start = None
        last = test.step
    if start is not None:
        out.append(Spell(start.belief, start.step, last - start.step, "kept"))
    return out


def _collateral(episode: Episode, line: Line) -> tuple[int, int]:
    """Changes of a held top, and those while only other panels gave new ink since it was last stated."""
    assert episode.new_ink is not None
    changes = collateral = stated = 0
    for event in line.events:
        if event.before is not None and event.after != event.before:
            ink = episode.new_ink[episode.seen(stated) + 1 : episode.seen(event.step) + 1].sum(axis=0)
            own = ink[line.panel]
            changes += 1
            collateral += int(own == 0 and ink.sum() > 0)
        if event.event != "SILENT":
            stated = event.step
    return changes, collateral


def _anchoring(episode: Episode, line: Line) -> Part:
    """Whether the answer is the first belief although the last posterior prefers another digit.

    `anchored_refuted` asks for more: the posterior contradicts it (the audit's category).
    """
    fields = ("anchored", "anchored_refuted")
    first = next((d for d in line.held if d is not None), None)
    given = digit_of(episode.answer, line.slot, episode.digits)
    if first is None or given is None:
        return dict.fromkeys(fields), dict.fromkeys(
            fields, "never_reached" if first is None else "not_recorded"
        )
    if episode.posterior is None or not len(episode.posterior):
        return dict.fromkeys(fields), dict.fromkeys(fields, "not_recorded")
    q = episode.posterior[-1, line.panel]
    best = argmax(q)
    refuted = log_odds_against(q, first) >= CONTRADICTION
    anchored = None if best in (None, first) else given == first
    values = {"anchored": anchored, "anchored_refuted": given == first and refuted}
    return values, {} if anchored is not None else {
        "anchored": "ambiguous" if best is None else "never_reached"
    }


def argmax(q: np.ndarray) -> int | None:
    """Likeliest digit of a posterior (10,); None where it is tied (a tied argmax is no answer)."""
    best = np.flatnonzero(q == q.max())
    return int(best[0]) if len(best) == 1 else None


def _lag(episode: Episode, line: Line) -> Part:
    """First glimpse from which the evidence is right to the end, minus that of the first right belief."""
    believed = next((t for t, d in enumerate(line.held) if d is not None and d == line.truth), None)
    shown = _right_from(episode, line)
    known = None if believed is None else episode.seen(believed)
    lag = None if shown is None or known is None else shown - known
    values = {"evidence_right_glimpse": shown, "belief_right_glimpse": known, "lag": lag}
    if line.truth is None:
        return values, dict.fromkeys(values, "label_unknown")
    missing = "not_recorded" if episode.posterior is None else "never_reached"
    reasons = {"evidence_right_glimpse": missing, "belief_right_glimpse": "never_reached"}
    reasons["lag"] = missing if shown is None else "never_reached"
    return values, {k: r for k, r in reasons.items() if values[k] is None}


def _right_from(episode: Episode, line: Line) -> int | None:
    if episode.posterior is None or line.truth is None:
        return None
    right = [argmax(q) == line.truth for q in episode.posterior[:, line.panel]]
    wrong = [g for g, ok in enumerate(right) if not ok]
    first = wrong[-1] + 1 if wrong else 0
    return first if first < len(right) else None


def _mean(flags: Sequence[bool]) -> float:
    return sum(flags) / len(flags)


_POOLED = {
    "first_belief_accuracy": ("first_belief_correct", None),
    "flip_rate": ("n_flips", "n_explicit_tops"),
    "wrong_belief_survival": ("wrong_survived", None),
    "ignored_rate": ("n_spells_ignored", "n_spells"),
    "revised_when_contradicted": ("n_contradicted_revised", "n_contradicted"),
    "revised_when_supported": ("n_supported_revised", "n_supported"),
    "anchoring": ("anchored", None),
    "anchored_refuted": ("anchored_refuted", None),
    "collateral_change": ("n_collateral", "n_changes"),
    "answer_matches_belief": ("answer_matches_belief", None),
    "corrected_to_right": ("n_to_right", "n_corrections"),
}


def pooled(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rates over many slot rows: `{metric, k, n, rate, low, high}`, Wilson intervals; None for n = 0.

    Yes/no fields count the rows where they are defined; counts are summed first (flips are divided by the
    chances to flip, explicit tops − 1 of each row).
    """
    rows = list(rows)
    out = []
    for metric, (over, under) in _POOLED.items():
        if under is None:
            flags = [bool(r[over]) for r in rows if r[over] is not None]
            k, n = sum(flags), len(flags)
        else:
            pairs = [(r[over], _chances(r, under)) for r in rows if r[over] is not None]
            k, n = sum(a for a, _ in pairs), sum(b for _, b in pairs)
        found = proportion(k, n)
        out.append(
            {"metric": metric, "k": k, "n": n, "rate": found.estimate, "low": found.low, "high": found.high}
        )
    return out


def _chances(row: dict[str, Any], field: str) -> int:
    if field == "n_explicit_tops":
        return max(row[field] - 1, 0)
    return row["n_to_right"] + row["n_to_wrong"] if field == "n_corrections" else row[field]
