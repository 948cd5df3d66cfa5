"""Stopping against the evidence: was it enough, was it too early, too late?

Everything is measured against the reference reader's posterior on the evidence that the agent had (docs/metrics.md 3.1,
3.2), so the reader's own calibration belongs beside every figure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ..schemas import Evidence
from .database import Database

THRESHOLDS = (0.8, 0.9, 0.95)
COSTS = (0.0, 0.1, 0.5)
"""Prices of the whole budget, in right answers, for regret."""
USE, COVERAGE = 0.5, 0.5
"""Over-optimistic stop: answered wrongly with less than this share of the budget and of some digit's strokes."""


@dataclass(frozen=True)
class Stop:
    """One episode as stopping sees it; G shown glimpses, N panels.

    Args:
        run: name.
        episode_id: id in the run.
        source_episode_id: id as the source has it.
        canvas: pixel hash; what clusters are made of.
        label: true digits.
        answer: the agent's digits, or None.
        stop_reason: how the episode ended.
        n_actions: actions taken, the answer included.
        t_max: actions allowed, or None.
        posterior: float (G, N, 10).
        coverage: float (G,), strokes seen so far.
        min_coverage: float (G,), the least of the panels.
        new_ink: int (G,), stroke pixels first shown.
    """

    run: str
    episode_id: str
    source_episode_id: str
    canvas: str
    label: str
    answer: str | None
    stop_reason: str
    n_actions: int
    t_max: int | None
    posterior: np.ndarray
    coverage: np.ndarray
    min_coverage: np.ndarray
    new_ink: np.ndarray

    @property
    def confidence(self) -> np.ndarray:
        """c_t: the product over panels of the largest probability, float (G,)."""
        return self.posterior.max(axis=2).prod(axis=1)

    @property
    def right(self) -> np.ndarray:
        """Whether the most probable digits are the label, bool (G,); a tie is never right."""
        truth = self.truth
        best = self.posterior.max(axis=2)
        given = np.take_along_axis(self.posterior, truth[None, :, None], axis=2)[..., 0]
        tied = (self.posterior == best[..., None]).sum(axis=2) > 1
        return ((given == best) & ~tied).all(axis=1)

    @property
    def truth(self) -> np.ndarray:
        """Digits of the label, int (N,)."""
        return np.array([int(digit) for digit in self.label])

    @property
    def tau(self) -> int:
        """Number of the last shown glimpse: where the agent stopped looking."""
        return len(self.posterior) - 1

    @property
    def answered(self) -> bool:
        """Whether the episode ended with an answer."""
        return self.stop_reason == "answered"

    @property
    def correct(self) -> bool:
        """Whether the agent's answer is the label."""
        return self.answer == self.label

    @property
    def use(self) -> float | None:
        """Share of the budget used."""
        return self.n_actions / self.t_max if self.t_max else None

    def of(self, digits: str | None) -> np.ndarray | None:
        """Probability of digits after each glimpse, float (G,); None for what is no reading of this canvas."""
        if digits is None or len(digits) != self.posterior.shape[1]:
            return None
        chosen = np.array([int(digit) for digit in digits])
        return np.take_along_axis(self.posterior, chosen[None, :, None], axis=2)[..., 0].prod(axis=1)


def load_stops(database: Database, evidence: Evidence = "window") -> list[Stop]:
    """Episodes whose evidence was read after each glimpse; the runner's failures and unknown labels are left out.

    Args:
        database: opened with `posterior="each"`.
        evidence: which pixels of a glimpse count as seen.
    """
    frame = database.query("stops", {"evidence": evidence})
    return [_stop(row) for row in frame.iter_rows(named=True)]


def _stop(row: dict[str, Any]) -> Stop:
    panels = np.array(row.pop("panel_coverage"), dtype=float)
    return Stop(
        **{name: row[name] for name in Stop.__annotations__ if name in row and name not in _ARRAYS},
        posterior=np.array(row["posterior"], dtype=float),
        coverage=np.array(row["coverage"], dtype=float),
        min_coverage=panels.min(axis=1),
        new_ink=np.array(row["new_ink"]).sum(axis=1),
    )


_ARRAYS = {"posterior", "coverage", "min_coverage", "new_ink"}


def first_sufficient(confidence: np.ndarray, threshold: float) -> int | None:
    """First glimpse whose confidence reaches the threshold; None where none does (censored).

    >>> first_sufficient(np.array([.2, .9, .5, .95]), .9), first_sustained(np.array([.2, .9, .5, .95]), .9)
    (1, 3)
    """
    reached = np.flatnonzero(confidence >= threshold)
    return int(reached[0]) if len(reached) else None


def first_sustained(confidence: np.ndarray, threshold: float) -> int | None:
    """First glimpse from which confidence stays at the threshold; it looks ahead, so it is no rule to stop by."""
    below = np.flatnonzero(confidence < threshold)
    first = int(below[-1]) + 1 if len(below) else 0
    return first if first < len(confidence) else None


def episode_row(stop: Stop) -> dict[str, Any]:
    """Stopping measures of one episode; null where the event never happened (docs/metrics.md 3.2)."""
    c, tau = stop.confidence, stop.tau
    given = stop.of(stop.answer)
    row: dict[str, Any] = {
        "run": stop.run,
        "episode_id": stop.episode_id,
        "source_episode_id": stop.source_episode_id,
        "stop_reason": stop.stop_reason,
        "correct": stop.correct,
        "tau": tau,
        "budget_use": stop.use,
        "confidence": float(c[tau]),
        "evidence_right": bool(stop.right[tau]),
        "answer_probability": None if given is None else float(given[tau]),
        "min_coverage": float(stop.min_coverage[tau]),
        "over_optimistic": over_optimistic(stop, USE, COVERAGE),
    }
    for threshold in THRESHOLDS:
        suffix = f"_{round(100 * threshold)}"
        first = first_sufficient(c, threshold)
        row["sufficient" + suffix] = first
        row["sustained" + suffix] = first_sustained(c, threshold)
        row["gap" + suffix] = None if first is None else tau - first
        row["premature" + suffix] = premature(stop, threshold)
        row["overshoot" + suffix] = first is not None and first < tau
    for cost in COSTS:
        past, own = regret(stop, cost)
        row[f"regret_past_{cost}"], row[f"regret_agent_{cost}"] = past, own
    return row


def premature(stop: Stop, threshold: float) -> bool:
    """Whether the agent answered on insufficient evidence with budget left."""
    left = stop.t_max is None or stop.n_actions < stop.t_max
    return stop.answered and left and float(stop.confidence[stop.tau]) < threshold


def over_optimistic(stop: Stop, use: float, coverage: float) -> bool | None:
    """Whether the agent answered wrongly, early and on little (paper §4); None without a known budget."""
    if stop.use is None:
        return None
    little = float(stop.min_coverage[stop.tau]) < coverage
    return stop.answered and not stop.correct and stop.use < use and little


def regret(stop: Stop, cost: float) -> tuple[float | None, float | None]:
    """What stopping elsewhere on the same path would have gained: for the reader, and for the agent.

    J(t) = 1[the reader is right at t] - cost * t / t_max. The first is max J - J(tau) and never negative; the second
    takes the agent's own answer at tau and may be negative.
    """
    if not stop.t_max:
        return None, None
    gain = stop.right - cost * np.arange(stop.tau + 1) / stop.t_max
    own = float(stop.correct) - cost * stop.tau / stop.t_max
    return float(gain.max() - gain[stop.tau]), float(gain.max() - own)


def accuracy_if_stopped(stops: Sequence[Stop]) -> list[tuple[int, int, int]]:
    """(t, right, n): how often the reader is right where every episode stops at glimpse t, or before where it ended.

    All episodes count at every t, so hard ones that take longer do not bend the curve.
    """
    longest = max((stop.tau for stop in stops), default=-1)
    right = [stop.right for stop in stops]
    return [(t, sum(bool(r[min(t, len(r) - 1)]) for r in right), len(stops)) for t in range(longest + 1)]


def earliness(stops: Sequence[Stop]) -> dict[str, float | None]:
    """Mean share of the budget spent looking, and its harmonic mean with accuracy (early time-series classification).

    The harmonic mean rewards instant guessing and must not stand alone.
    """
    known = [stop for stop in stops if stop.t_max]
    if not known:
        return {"earliness": None, "harmonic_mean": None}
    early = float(np.mean([stop.tau / (stop.t_max or 1) for stop in known]))
    accuracy = float(np.mean([stop.correct for stop in known]))
    total = accuracy + 1 - early
    return {"earliness": early, "harmonic_mean": 2 * accuracy * (1 - early) / total if total else None}


def commit_hazard_rows(stops: Iterable[Stop]) -> dict[str, np.ndarray]:
    """One row per glimpse at which an episode could stop, for a discrete-time model of committing.

    Returns:
        arrays of one length: `commit` (bool), `confidence`, `coverage`, `new_ink` (share of the canvas' ink is not
        known here, so pixels / 100), `time` (glimpse / t_max), `canvas` (cluster).
    """
    columns: dict[str, list[Any]] = {
        name: [] for name in ("commit", "confidence", "coverage", "new_ink", "time")
    }
    canvas: list[str] = []
    for stop in stops:
        if not stop.t_max:
            continue
        n = stop.tau + 1
        columns["commit"] += [False] * (n - 1) + [stop.answered]
        columns["confidence"] += stop.confidence.tolist()
        columns["coverage"] += stop.coverage.tolist()
        columns["new_ink"] += (stop.new_ink / 100).tolist()
        columns["time"] += (np.arange(n) / stop.t_max).tolist()
        canvas += [stop.canvas] * n
    return {name: np.array(values) for name, values in columns.items()} | {"canvas": np.array(canvas)}


def episode_frame(stops: Sequence[Stop]) -> pl.DataFrame:
    """`episode_row` of every episode as a frame."""
    return pl.DataFrame([episode_row(stop) for stop in stops], infer_schema_length=None)
