"""How fast a path finds the ink, and how fast it could have (docs/metrics.md A3, A4)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from ...schemas.geometry import Geometry, Point, walk
from .coverage import Curves, Shown
from .undefined import undefined


class Acquisition(NamedTuple):
    """Acquisition efficiency of an episode in one evidence mode.

    Attributes:
        auc_coverage: mean height of the coverage curve over the moves made.
        auc_budget: the same over the whole budget, the last value held to its end.
        new_ink_per_move: stroke pixels first shown per move.
        redundancy: share of the pixels shown that had been shown before.
        coverage_vs_greedy: auc_coverage over that of the greedy path during as many moves; may exceed 1.
    """

    auc_coverage: float | None
    auc_budget: float | None
    new_ink_per_move: float | None
    redundancy: float | None
    coverage_vs_greedy: float | None
    reasons: dict[str, str]


def acquisition(curves: Curves, shown: Shown, t_max: int, greedy: np.ndarray | None = None) -> Acquisition:
    """Efficiency of one episode (docs/metrics.md A3, A4).

    Args:
        curves: the curves of its N glimpses.
        shown: what its glimpses show, in the same evidence mode.
        t_max: actions allowed, the answer included.
        greedy: coverage curve of `greedy_path` from the same start; without it the comparison is left out.
    """
    moves = len(curves.coverage) - 1
    if moves < 0:
        return undefined(Acquisition, "no_glimpses")
    redundancy = 1 - float(curves.new_area.sum() / shown.area.sum()) if shown.area.any() else None
    if np.isnan(curves.coverage[0]):
        return undefined(Acquisition, "no_strokes", redundancy=redundancy)
    auc_budget = area_under(held(curves.coverage, t_max - 1))
    if moves == 0:
        return undefined(Acquisition, "no_moves", redundancy=redundancy, auc_budget=auc_budget)
    auc = area_under(curves.coverage)
    best = None if greedy is None else area_under(held(greedy, moves))
    return Acquisition(
        auc_coverage=auc,
        auc_budget=auc_budget,
        new_ink_per_move=float(curves.new_ink[1:].sum() / moves),
        redundancy=redundancy,
        coverage_vs_greedy=auc / best if best else None,
        reasons={} if best else {"coverage_vs_greedy": "not_recorded" if best is None else "never_reached"},
    )


def steps_to(coverage: np.ndarray, q: float) -> int | None:
    """The first glimpse after which coverage is at least q; None where it never was (censored)."""
    reached = np.asarray(coverage) >= q
    return int(reached.argmax()) if reached.any() else None


def held(curve: np.ndarray, moves: int) -> np.ndarray:
    """The curve over exactly that many moves: cut, or its last value held."""
    return np.append(curve, np.repeat(curve[-1:], max(0, moves + 1 - len(curve))))[: moves + 1]


def area_under(curve: np.ndarray) -> float:
    """Mean height by the trapezoid rule; of a single point its height."""
    return float(np.trapezoid(curve) / (len(curve) - 1)) if len(curve) > 1 else float(curve[0])


def sweep_path(start: Point, window: int, stride: int, panel: int, n_panels: int = 1) -> np.ndarray:
    """The reference sweep: to the nearest corner, then to and fro in lanes one window apart; int (M + 1, 2).

    Lanes run along the axis that needs fewer moves. On the published geometry this takes at most 31 moves for
    one panel and 56 for two.
    """
    geometry = Geometry(window, stride, panel, n_panels)
    to_corner, outward = [], []
    for at, limit, (back, forth) in zip(
        start, geometry.limits, (("left", "right"), ("up", "down")), strict=True
    ):
        towards, away = (back, forth) if 2 * at <= limit else (forth, back)
        to_corner += [towards] * -(-min(at, limit - at) // stride)
        outward.append((away, towards, -(-limit // stride)))
    x, y = outward
    shift = max(1, window // stride)
    lanes = min(_lanes(x, y[0], y[2], shift), _lanes(y, x[0], x[2], shift), key=len)
    return np.array(walk(geometry, start, to_corner + lanes))


def _lanes(along: tuple[str, str, int], across: str, distance: int, shift: int) -> list[str]:
    """Directions of a sweep to and fro along one axis, `distance` strides wide across it."""
    away, back, length = along
    directions = [away] * length
    for done in range(0, distance, shift):
        away, back = back, away
        directions += [across] * min(shift, distance - done) + [away] * length
    return directions


def greedy_path(
    canvas: np.ndarray, start: Point, window: int, stride: int, inset: tuple[int, int] = (0, 0)
) -> np.ndarray:
    """The clairvoyant greedy reference: int (M + 1, 2), ending when all ink within reach is seen.

    Each move shows as much new ink as a move can. Among equals it takes the one with the fewest moves left to
    a window with unseen ink, then the first of up, down, left, right. Greedy is best at each move only.

    Args:
        canvas: uint8 (height, width), stroke pixels are 0.
        start: position of the first window.
        window: side of the window.
        stride: pixels of a move.
        inset: what the outline takes of a window, from `coverage.inset()`.

    Raises:
        ValueError: if no window can start there.
    """
    x, y = start
    height, width = canvas.shape
    if not (0 <= x <= max(0, width - window) and 0 <= y <= max(0, height - window)):
        raise ValueError(f"no window of {window} px starts at {start} on a canvas of {width} x {height}")
    return _greedy(np.ascontiguousarray(canvas), int(x), int(y), window, stride, *inset)


_NEVER = np.iinfo(np.int64).max


@njit(cache=True)
def _greedy(canvas, x, y, window, stride, before, after):
    height, width = canvas.shape
    x_limit, y_limit = max(0, width - window), max(0, height - window)
    unseen = canvas == 0
    sums = np.zeros((height + 1, width + 1), np.int64)
    path = [(x, y)]
    while True:
        x0, y0, x1, y1 = _box(x, y, window, before, after, width, height)
        unseen[y0:y1, x0:x1] = False
        _sum_up(unseen, sums)
        most, fewest, here = 0, _NEVER, path[-1]
        for dx, dy in ((0, -stride), (0, stride), (-stride, 0), (stride, 0)):
            to = min(max(here[0] + dx, 0), x_limit), min(max(here[1] + dy, 0), y_limit)
            if to == here:
                continue
            ink = _ink(sums, _box(to[0], to[1], window, before, after, width, height))
            left = _moves_left(sums, to, x_limit, y_limit, window, stride, before, after)
            if ink > most or (ink == most and left < fewest):
                most, fewest = ink, left
                x, y = to
        if (x, y) == here:
            return np.array(path)
        path.append((x, y))


@njit(cache=True)
def _moves_left(sums, start, x_limit, y_limit, window, stride, before, after) -> int:
    """Moves from `start` to the nearest window with ink that would still be unseen at `start`."""
    height, width = sums.shape[0] - 1, sums.shape[1] - 1
    own = _box(start[0], start[1], window, before, after, width, height)
    fewest = _NEVER
    columns = _within_reach(start[0], x_limit, stride)
    for y, y_moves in _within_reach(start[1], y_limit, stride):
        for x, x_moves in columns:
            if x_moves + y_moves >= fewest:
                break
            box = _box(x, y, window, before, after, width, height)
            both = max(box[0], own[0]), max(box[1], own[1]), min(box[2], own[2]), min(box[3], own[3])
            if _ink(sums, box) > _ink(sums, both):
                fewest = x_moves + y_moves
    return fewest


@njit(cache=True)
def _within_reach(start, limit, stride):
    """Positions along one axis that moves from `start` lead to, and how many moves, nearest first."""
    known = np.zeros(limit + 1, np.bool_)
    known[start] = True
    found = [(start, 0)]
    for position, moves in found:
        for to in (max(position - stride, 0), min(position + stride, limit)):
            if not known[to]:
                known[to] = True
                found.append((to, moves + 1))
    return found


@njit(cache=True)
def _box(x, y, window, before, after, width, height):
    x0, y0 = min(x + before, width), min(y + before, height)
    return x0, y0, max(x0, min(x + window - after, width)), max(y0, min(y + window - after, height))


@njit(cache=True)
def _ink(sums, box):
    x0, y0, x1, y1 = box
    if x0 >= x1 or y0 >= y1:
        return 0
    return sums[y1, x1] - sums[y0, x1] - sums[y1, x0] + sums[y0, x0]


@njit(cache=True)
def _sum_up(mask, sums):
    """Fill the summed-area table of a bool mask."""
    for y in range(mask.shape[0]):
        row = 0
        for x in range(mask.shape[1]):
            row += mask[y, x]
            sums[y + 1, x + 1] = sums[y, x + 1] + row
