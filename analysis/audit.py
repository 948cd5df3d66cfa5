"""Why did an episode fail? Every category that applies, the one that leads, and the steps that show it.

A category is a definition and a function from a `Case` to the steps that show it (None where it does not apply).
Categories describe; they are not exclusive. The one that leads is the first in `CATEGORIES` that applies: what ended
the episode or made the answer impossible comes before what merely happened on the way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..schemas import Episode, Geometry, Run
from ..schemas.metrics import EpisodeMetrics, StepMetrics
from .kernels.localisation import drift_from_truth
from .measures import Row, Value
from .statistics import proportion

EARLY_USE, LITTLE = 0.5, 0.5
"""Stopped early: less than this share of the budget; with little seen: less than this share of some digit's strokes."""
ALL = 0.9
"""Saw all: at least this share of every digit's strokes."""
LOOPED = 0.5
"""Looped: at least this share of moves went back to a position held before (blocked moves apart)."""
BLOCKED = 3
"""Blocked at the wall: this many moves in a row that changed nothing."""
_MIN_MOVES = 4

_NEW = re.compile(
    r"\b(?:new|unexplored|unseen|unvisited|fresh)\s+(?:area|region|part|place|section|territory|ground|spot|window)s?\b"
    r"|\b(?:haven't|have not|hasn't|has not|not yet|never)\s+(?:been\s+)?(?:explored|seen|visited|looked at)\b"
    r"|未(?:探索|看过|访问)|新(?:的)?区域",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Case:
    """An episode with what was measured of it.

    Args:
        run: its run.
        episode: with steps and texts.
        metrics: its row of `episode_metrics`.
        glimpses: its rows of `step_metrics`, one a shown glimpse.
        anchored: steps at which the evidence refuted a belief that was kept to the end; None where thoughts or
            posterior are missing.
    """

    run: Run
    episode: Episode
    metrics: EpisodeMetrics
    glimpses: Sequence[StepMetrics]
    anchored: Sequence[int] | None = None

    @property
    def digits(self) -> int:
        """Digits on the canvas."""
        return self.run.n_panels or len(self.episode.label or "")

    @property
    def geometry(self) -> Geometry | None:
        """The run's geometry."""
        return self.run.geometry()

    @property
    def last(self) -> list[int]:
        """The last step, or nothing."""
        return [self.episode.steps[-1].step] if self.episode.steps else []

    @property
    def failed(self) -> bool:
        """Whether the episode counts as failed: not answered with the label."""
        return self.episode.correct is not True and (
            self.episode.label is not None or self.episode.error is not None
        )


Find = Callable[[Case], list[int] | None]


class Category(NamedTuple):
    """A reason to fail: its name, its definition in one sentence, and what finds the steps that show it."""

    name: str
    definition: str
    find: Find


def _runner_error(case: Case) -> list[int] | None:
    return case.last if case.episode.stop_reason == "error" else None


def _no_valid_answer(case: Case) -> list[int] | None:
    invalid = case.episode.stop_reason in ("invalid_action", "no_answer")
    unreadable = case.episode.stop_reason == "answered" and case.episode.answer is None
    return case.last if invalid or unreadable else None


def _wrong_order(case: Case) -> list[int] | None:
    answer, label = case.episode.answer, case.episode.label
    same = answer is not None and label is not None and sorted(answer) == sorted(label)
    return case.last if same and answer != label else None


def _never_saw(case: Case) -> list[int] | None:
    return case.last if case.metrics.missed_panel else None


def _single_digit(case: Case) -> list[int] | None:
    answer, label = case.episode.answer, case.episode.label
    single = case.digits > 1 and answer is not None and len(answer) == 1
    # A leading zero lost on the way is no single-digit answer; `leading_zero_lost` tells it apart.
    return case.last if single and case.episode.answer_status != "leading_zero_lost" and label else None


def _leading_zero(case: Case) -> list[int] | None:
    return case.last if case.episode.answer_status == "leading_zero_lost" else None


def _stopped_early(case: Case) -> list[int] | None:
    seen, budget = case.metrics.min_coverage, case.run.t_max
    if case.episode.stop_reason != "answered" or seen is None or not budget:
        return None
    early = (case.episode.n_actions or 0) / budget < EARLY_USE
    return case.last if early and seen < LITTLE else None


def _anchored(case: Case) -> list[int] | None:
    return list(case.anchored) if case.anchored else None


def _saw_all(case: Case) -> list[int] | None:
    seen = case.metrics.min_coverage
    answered = case.episode.stop_reason == "answered" and case.episode.answer is not None
    return case.last if answered and seen is not None and seen >= ALL else None


def _looped(case: Case) -> list[int] | None:
    again = [g.step for g in case.glimpses if g.kind in ("loop", "backtrack") and g.step is not None]
    return again if is_looping(len(again), len(case.glimpses) - 1) else None


def is_looping(back: int, moves: int) -> bool:
    """Whether so many of an episode's moves went back (blocked ones apart) that it counts as looped."""
    return moves >= _MIN_MOVES and back / moves >= LOOPED


def _blocked(case: Case) -> list[int] | None:
    runs: list[list[int]] = [[]]
    for glimpse in case.glimpses[1:]:
        if glimpse.kind == "noop" and glimpse.step is not None:
            runs[-1].append(glimpse.step)
        else:
            runs.append([])
    longest = max(runs, key=len)
    return longest if len(longest) >= BLOCKED else None


def _budget(case: Case) -> list[int] | None:
    return case.last if case.episode.stop_reason == "step_limit" else None


def _claimed_new(case: Case) -> list[int] | None:
    thoughts = {text.step: text.thought or "" for text in case.episode.step_texts}
    # The thought before a move announces where it leads: the glimpse after the step is what it claims to be new.
    found = [
        glimpse.step
        for glimpse in case.glimpses
        if glimpse.step is not None
        and (glimpse.near or glimpse.redundant)
        and _NEW.search(thoughts.get(glimpse.step, ""))
    ]
    return found or None


def _map_drift(case: Case) -> list[int] | None:
    geometry = case.geometry
    places = stated_places(case.episode)
    if geometry is None or not places or len(case.glimpses) < 2:
        return None
    coords = np.full((len(case.glimpses), 2), np.nan)
    steps = {}
    for number, glimpse in enumerate(case.glimpses):
        step = 0 if glimpse.step is None else glimpse.step + 1
        if step in places:
            coords[number], steps[number] = places[step], step
    drift = drift_from_truth(coords, np.array([g.window for g in case.glimpses]), geometry.stride)
    wrong = [steps[n] for n in steps if drift.errors[n] >= 1]
    return wrong or None


def stated_places(episode: Episode) -> dict[int, tuple[float, float]]:
    """By step, the relative coordinates of the last map entry written with it: where the agent thinks it is."""
    places = {}
    for text in episode.step_texts:
        entries = text.spatial_map if isinstance(text.spatial_map, list) else []
        for entry in entries:
            coords = entry.get("coords") if isinstance(entry, dict) else None
            if (
                isinstance(coords, list)
                and len(coords) == 2
                and all(isinstance(c, (int, float)) for c in coords)
            ):
                places[text.step] = (float(coords[0]), float(coords[1]))
    return places


def _unexplained(case: Case) -> list[int] | None:
    return case.last


CATEGORIES: tuple[Category, ...] = (
    Category("runner error", "the runner failed; the agent had no chance to answer", _runner_error),
    Category(
        "no valid answer", "invalid action, unreadable answer, or stopped without one", _no_valid_answer
    ),
    Category(
        "right digits, wrong order", "the answer holds the label's digits in another order", _wrong_order
    ),
    Category(
        "leading zero lost", "the answer lacks the label's leading zero and came as a number", _leading_zero
    ),
    Category("never saw a digit", "no stroke pixel of some digit was ever shown", _never_saw),
    Category("single-digit answer", "one digit answered where there are several", _single_digit),
    Category(
        "stopped early, little seen",
        f"answered with < {EARLY_USE:.0%} of the budget and < {LITTLE:.0%} of some digit's strokes",
        _stopped_early,
    ),
    Category(
        "anchored on a refuted belief", "kept to the end a belief that its evidence had refuted", _anchored
    ),
    Category(
        "saw all, read wrong", f"at least {ALL:.0%} of every digit's strokes shown, wrong answer", _saw_all
    ),
    Category("looped", f"at least {LOOPED:.0%} of {_MIN_MOVES} or more moves went back", _looped),
    Category("blocked at the wall", f"at least {BLOCKED} moves in a row changed nothing", _blocked),
    Category("budget spent", "the last action allowed was no answer", _budget),
    Category("claimed new, but seen", "a thought calls new what had been seen", _claimed_new),
    Category("map drift", "the agent's own map is off by a cell or more", _map_drift),
    Category("unexplained", "none of the above: partly seen, read wrong", _unexplained),
)
"""Every category, in the order in which they lead."""


@dataclass
class Verdict:
    """A failed episode: the category that leads, and by category the steps that show it."""

    run: str
    episode_id: str
    source_episode_id: str
    label: str | None
    answer: str | None
    leads: str
    steps: dict[str, list[int]] = field(default_factory=dict)


def audit(case: Case) -> Verdict | None:
    """What went wrong; None for an episode that did not fail."""
    if not case.failed:
        return None
    steps: dict[str, list[int]] = {}
    for name, _, find in CATEGORIES:
        found = find(case) if name != "unexplained" or not steps else None
        if found is not None:
            steps[name] = found
    episode = case.episode
    return Verdict(
        case.run.run,
        episode.episode_id,
        episode.source_episode_id,
        episode.label,
        episode.answer,
        next(iter(steps)),
        steps,
    )


def audit_rows(verdicts: Iterable[Verdict], episodes: dict[str, int]) -> list[Row]:
    """Counts by run and category over the failed episodes, with Wilson intervals.

    Args:
        verdicts: of the failed episodes.
        episodes: episodes looked at, by run.
    """
    rows: list[Row] = []
    listed = list(verdicts)
    for run, total in episodes.items():
        failed = [verdict for verdict in listed if verdict.run == run]
        for name, definition, _ in CATEGORIES:
            hits = [verdict for verdict in failed if name in verdict.steps]
            row: Row = {
                "run": run,
                "category": name,
                "n": len(failed),
                "episodes": total,
                "count": len(hits),
                "leads": sum(verdict.leads == name for verdict in failed),
                "share": Value(proportion(len(hits), len(failed)), True),
                "definition": definition,
            }
            rows.append(row)
    return rows


def verdict_row(verdict: Verdict) -> dict[str, Any]:
    """A verdict as plain values."""
    return {
        "run": verdict.run,
        "episode": verdict.source_episode_id,
        "label": verdict.label,
        "answer": verdict.answer,
        "leads": verdict.leads,
        "categories": list(verdict.steps),
        "steps": verdict.steps,
    }
