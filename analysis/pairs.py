"""Runs side by side on the same hidden canvas: which worlds they share, and how alike their paths are."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from ..schemas import Episode, Geometry
from .database import Database
from .kernels.compare import compare_paths


def shared_worlds(database: Database, runs: Sequence[str]) -> list[dict[str, Any]]:
    """Worlds that all of the runs met (`sql/shared_worlds.sql`), each with the episodes in the order of `runs`."""
    rows = database.query("shared_worlds", {"runs": list(runs)}).to_dicts()
    for row in rows:
        row["episodes"].sort(key=lambda episode: runs.index(episode["run"]))
    return rows


def compare(
    episodes: Sequence[Episode], geometry: Geometry, canvas: np.ndarray | None
) -> list[dict[str, Any]]:
    """Likeness of every two paths over one canvas (docs/metrics.md A10).

    Args:
        episodes: of the same world.
        geometry: theirs.
        canvas: the hidden canvas, None where it is not known.

    Returns:
        for each pair `a` and `b`, positions in `episodes`, and the fields of `kernels.compare.PathComparison`.

    Raises:
        ValueError: where the episodes are not of one world.
    """
    if len({episode.world_key for episode in episodes}) != 1 or episodes[0].world_key is None:
        raise ValueError("these episodes differ in canvas, start or geometry: their paths cannot be compared")
    return [
        {"a": a, "b": b, **_compare(episodes[a], episodes[b], geometry, canvas)}
        for a, b in combinations(range(len(episodes)), 2)
    ]


def _compare(a: Episode, b: Episode, geometry: Geometry, canvas: np.ndarray | None) -> dict[str, Any]:
    ours, theirs = a.windows() or [], b.windows() or []
    found = compare_paths(
        np.array(ours, np.int64).reshape(-1, 2),
        np.array(theirs, np.int64).reshape(-1, 2),
        _directions(a),
        _directions(b),
        geometry.seen(ours),
        geometry.seen(theirs),
        geometry.window,
        geometry.stride,
        canvas,
    )
    return found._asdict()


def _directions(episode: Episode) -> list[str] | None:
    """Directions of the moves that led to the shown glimpses; None where one is not known."""
    directions = {step.step: step.direction for step in episode.steps}
    found = [directions[g.step] for g in episode.glimpses() if g.step is not None]
    return None if None in found else found  # type: ignore[return-value]
