"""The paired report: what agents answered against what a predictor read from the same evidence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..replay.swap import Pair
from ..schemas import Evidence, Geometry
from .statistics import Interval, mcnemar, paired_counts, paired_difference, proportion

Group = tuple[str, str, str, str, str]


def paired_table(pairs: Iterable[Pair], predictor: str) -> list[dict[str, Any]]:
    """One row per run, representation, evidence, and whether every digit was seen.

    An episode counts where it has a label, its runner did not fail and the predictor replied; how many were left
    out is in `n_excluded`. `all` is every episode; `every digit seen` and `a digit unseen` split them by whether the
    evidence holds at least one stroke pixel of every panel.

    Returns:
        rows with n, both accuracies and their Wilson 95 % intervals, the difference with its interval (Newcombe,
        method 10), the discordant pairs and the exact McNemar p.
    """
    groups: dict[Group, list[Pair]] = defaultdict(list)
    for pair in pairs:
        task = pair.task
        key = (task.source.run.run, predictor, task.representation.name, task.evidence, _at(pair))
        groups[key].append(pair)
    rows = []
    for key, members in sorted(groups.items()):
        usable = [pair for pair in members if _usable(pair)]
        seen = [every_digit_seen(pair) for pair in usable]
        parts = {
            "all": usable,
            "every digit seen": [pair for pair, s in zip(usable, seen, strict=True) if s],
            "a digit unseen": [pair for pair, s in zip(usable, seen, strict=True) if not s],
        }
        rows += [_row(key, name, part, len(members) - len(usable)) for name, part in parts.items()]
    return rows


def _at(pair: Pair) -> str:
    shown = len(pair.task.episode.windows() or [])
    return "last" if pair.task.glimpse in (shown - 1, -1) else str(pair.task.glimpse)


def _usable(pair: Pair) -> bool:
    episode = pair.task.episode
    return episode.label is not None and episode.stop_reason != "error" and pair.prediction is not None


def every_digit_seen(pair: Pair) -> bool:
    """Whether the evidence holds at least one stroke pixel of every panel (design, `missed_panel`)."""
    task = pair.task
    geometry = task.source.run.geometry()
    assert geometry is not None and task.episode.canvas is not None
    canvas = task.source.canvases[task.episode.canvas]
    windows = task.episode.windows() or []
    shown = windows if task.glimpse < 0 else windows[: task.glimpse + 1]
    return all_panels_seen(canvas, shown, geometry, task.evidence)


def all_panels_seen(
    canvas: np.ndarray, windows: Sequence[tuple[int, int]], geometry: Geometry, evidence: Evidence
) -> bool:
    """Whether some stroke pixel of every panel lies in the evidence of the windows."""
    ink = geometry.seen(windows, evidence) & (canvas == 0)
    return all(panel.any() for panel in np.split(ink, geometry.n_panels, axis=1))


def _row(key: Group, part: str, pairs: Sequence[Pair], excluded: int) -> dict[str, Any]:
    run, predictor, form, evidence, at = key
    original = np.array([bool(pair.task.episode.correct) for pair in pairs])
    swapped = np.array([bool(pair.correct) for pair in pairs])
    counts, n = paired_counts(swapped, original), len(pairs)
    before, after = proportion(int(original.sum()), n), proportion(int(swapped.sum()), n)
    difference = paired_difference(counts)
    return {
        "run": run,
        "predictor": predictor,
        "representation": form,
        "evidence": evidence,
        "at": at,
        "part": part,
        "n": n,
        "n_excluded": excluded if part == "all" else 0,
        "original": before.estimate,
        "original_interval": _bounds(before),
        "swapped": after.estimate,
        "swapped_interval": _bounds(after),
        "difference": difference.estimate,
        "difference_interval": _bounds(difference),
        "only_original": counts.only_b,
        "only_swapped": counts.only_a,
        "p": mcnemar(counts.only_b, counts.only_a).p if n else None,
    }


def _bounds(interval: Interval) -> tuple[float, float] | None:
    return None if interval.low is None or interval.high is None else (interval.low, interval.high)
