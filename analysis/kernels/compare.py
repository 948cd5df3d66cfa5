"""Two paths over one canvas (docs/metrics.md A10)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from .entropy import cells
from .path import without_noops
from .undefined import undefined


class PathComparison(NamedTuple):
    """Likeness of two paths over the same canvas.

    Attributes:
        lev_actions: 1 - edit distance of the directions over the longer length; two empty lists are alike.
        lev_cells: the same for the stride-sized cells that hold the window's centre.
        dtw_px: dynamic time warping distance of the positions, pixels, summed over the aligned pairs.
        dtw_px_mean: dtw_px over the number of aligned pairs.
        shape: MultiMatch on effective moves: 1 - median difference of aligned moves over two strides.
        direction: 1 - median angle between aligned moves over pi.
        position: 1 - median distance of aligned positions over the canvas diagonal.
        seen_iou: pixels seen by both over pixels seen by either.
        ink_iou: the same for stroke pixels.
        divergence_step: the first move that differs, counted from 0; the shorter length where one path is the
            beginning of the other.
    """

    lev_actions: float | None
    lev_cells: float | None
    dtw_px: float | None
    dtw_px_mean: float | None
    shape: float | None
    direction: float | None
    position: float | None
    seen_iou: float | None
    ink_iou: float | None
    divergence_step: int | None
    reasons: dict[str, str]


class MultiMatch(NamedTuple):
    """MultiMatch as published, on a screen: every difference over the screen's (twice the) diagonal."""

    shape: float
    direction: float
    length: float
    position: float


def compare_paths(
    windows_a: np.ndarray,
    windows_b: np.ndarray,
    directions_a: Sequence[str] | None,
    directions_b: Sequence[str] | None,
    seen_a: np.ndarray,
    seen_b: np.ndarray,
    window: int,
    stride: int,
    canvas: np.ndarray | None,
) -> PathComparison:
    """Compare two paths over the same canvas; joining the right episodes is the caller's duty.

    Args:
        windows_a: int (N, 2), windows of the first path.
        windows_b: int (N', 2).
        directions_a: directions of the first path's moves.
        directions_b: those of the second.
        seen_a: bool (height, width), evidence of the first path, from `Geometry.seen`.
        seen_b: that of the second.
        window: side of the window.
        stride: stride of both runs.
        canvas: uint8 (height, width), strokes are 0; None where it is not known.
    """
    if len(windows_a) == 0 or len(windows_b) == 0:
        return undefined(PathComparison, "no_glimpses")
    reasons = {}
    diagonal = float(np.hypot(*seen_a.shape))
    distance = np.linalg.norm(windows_a[:, None] - windows_b[None], axis=2)
    pairs = _cheapest_alignment(distance)
    dtw = float(distance[tuple(pairs.T)].sum())
    medians = _multimatch_medians(without_noops(windows_a), without_noops(windows_b))
    if medians is None:
        reasons |= dict.fromkeys(("shape", "direction", "position"), "too_short")
    ink = None if canvas is None else _iou(seen_a & (canvas == 0), seen_b & (canvas == 0))
    if ink is None:
        reasons["ink_iou"] = "canvas_unknown" if canvas is None else "no_strokes"
    if directions_a is None or directions_b is None:
        lev_actions = divergence = None
        reasons |= dict.fromkeys(("lev_actions", "divergence_step"), "not_recorded")
    else:
        lev_actions = levenshtein_similarity(directions_a, directions_b)
        divergence = divergence_step(directions_a, directions_b)
        if divergence is None:
            reasons["divergence_step"] = "never_reached"
    return PathComparison(
        lev_actions=lev_actions,
        lev_cells=levenshtein_similarity(*(_words(cells(w, window, stride)) for w in (windows_a, windows_b))),
        dtw_px=dtw,
        dtw_px_mean=dtw / len(pairs),
        shape=None if medians is None else 1 - medians[0] / (2 * stride),
        direction=None if medians is None else 1 - medians[1] / np.pi,
        position=None if medians is None else 1 - medians[3] / diagonal,
        seen_iou=_iou(seen_a, seen_b),
        ink_iou=ink,
        divergence_step=divergence,
        reasons=reasons,
    )


def levenshtein_similarity(a: Sequence, b: Sequence) -> float:
    """1 - edit distance over the longer length; 1 for two empty sequences."""
    if len(a) == 0 and len(b) == 0:
        return 1.0
    numbers = {word: i for i, word in enumerate(dict.fromkeys([*a, *b]))}
    coded = (np.array([numbers[word] for word in words], np.int64) for words in (a, b))
    return 1 - _levenshtein(*coded) / max(len(a), len(b))


def divergence_step(a: Sequence[str], b: Sequence[str]) -> int | None:
    """The first index at which two sequences differ; None where they are equal."""
    differs = (i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y)
    return next(differs, None if len(a) == len(b) else min(len(a), len(b)))


def multimatch(windows_a: np.ndarray, windows_b: np.ndarray, width: int, height: int) -> MultiMatch | None:
    """MultiMatch as published (Dewhurst et al. 2012, Behavior Research Methods 44:1079), no-ops included.

    On a lattice of short moves it saturates; `compare_paths` scales by what a move can differ. None where a
    path has fewer than two moves. Among alignments that cost the same, the one with diagonal steps is taken;
    other programs choose otherwise.
    """
    medians = _multimatch_medians(windows_a, windows_b)
    if medians is None:
        return None
    vector, angle, length, position = medians
    diagonal = float(np.hypot(width, height))
    return MultiMatch(
        1 - vector / (2 * diagonal), 1 - angle / np.pi, 1 - length / diagonal, 1 - position / diagonal
    )


def _multimatch_medians(a: np.ndarray, b: np.ndarray) -> tuple[float, float, float, float] | None:
    """Median differences of the aligned moves: vector, angle, length, and position where they begin."""
    if min(len(a), len(b)) < 3:
        return None
    moves_a, moves_b = np.diff(a, axis=0), np.diff(b, axis=0)
    i, j = _cheapest_alignment(np.linalg.norm(moves_a[:, None] - moves_b[None], axis=2)).T
    angle = np.abs(np.arctan2(*moves_a.T[::-1])[i] - np.arctan2(*moves_b.T[::-1])[j])
    length = np.abs(np.linalg.norm(moves_a, axis=1)[i] - np.linalg.norm(moves_b, axis=1)[j])
    differences = (
        np.linalg.norm(moves_a[i] - moves_b[j], axis=1),
        np.minimum(angle, 2 * np.pi - angle),
        length,
        np.linalg.norm(a[i] - b[j], axis=1),
    )
    vector, angle, length, position = (float(np.median(difference)) for difference in differences)
    return vector, angle, length, position


def _words(rows: np.ndarray) -> list[tuple[int, ...]]:
    return [tuple(row) for row in rows.tolist()]


def _iou(a: np.ndarray, b: np.ndarray) -> float | None:
    either = np.count_nonzero(a | b)
    return np.count_nonzero(a & b) / either if either else None


@njit(cache=True)
def _levenshtein(a, b) -> int:
    row = np.arange(len(b) + 1)
    for i in range(len(a)):
        diagonal, row[0] = row[0], i + 1
        for j in range(len(b)):
            substituted = diagonal + (a[i] != b[j])
            diagonal = row[j + 1]
            row[j + 1] = min(substituted, row[j] + 1, diagonal + 1)
    return row[-1]


@njit(cache=True)
def _cheapest_alignment(cost):
    """Cheapest way from the first to the last cell of a matrix, right, down or both at once: int (L, 2)."""
    n, m = cost.shape
    total = np.full((n + 1, m + 1), np.inf)
    total[0, 0] = 0
    for i in range(n):
        for j in range(m):
            total[i + 1, j + 1] = cost[i, j] + min(total[i, j], total[i, j + 1], total[i + 1, j])
    i, j = n - 1, m - 1
    way = [(i, j)]
    while i > 0 or j > 0:
        best = min(total[i, j], total[i, j + 1], total[i + 1, j])
        if total[i, j] == best:
            i, j = i - 1, j - 1
        elif total[i, j + 1] == best:
            i -= 1
        else:
            j -= 1
        way.append((i, j))
    return np.array(way)[::-1]
