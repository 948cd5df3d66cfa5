"""The yardstick: most new ink, knowing where it is."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ....schemas import DIRECTIONS, Geometry, Point
from .base import Decision, View
from .routes import route, window_sums


@dataclass
class Greedy:
    """Clairvoyant: moves where most new ink is until all in reach is seen, then answers (docs/metrics.md A4)."""

    clairvoyant = True

    def reset(self, rng: np.random.Generator, geometry: Geometry, t_max: int) -> None:
        """Nothing to forget."""

    def act(self, view: View) -> Decision:
        """The greedy move, or the answer."""
        unseen = unseen_ink(view)
        if view.last or route(view.geometry, view.position, unseen) is None:
            return Decision()
        return Decision(greedy_move(view.geometry, view.position, unseen))


def unseen_ink(view: View) -> np.ndarray:
    """Ink that was not shown yet, bool (H, W); for views of clairvoyant policies."""
    assert view.hidden is not None
    return (view.hidden.canvas == 0) & ~view.seen


def greedy_move(geometry: Geometry, position: Point, unseen: np.ndarray) -> str:
    """The move that shows most of `unseen`; of equal ones the one from where the rest is nearest."""
    count = window_sums(geometry, unseen)
    reached = {direction: geometry.move(position, direction)[0] for direction in DIRECTIONS}
    most = max(count(window) for window in reached.values())
    best = [direction for direction, window in reached.items() if count(window) == most]
    if len(best) == 1:
        return best[0]
    return min(best, key=lambda direction: _way_on(geometry, reached[direction], unseen))


def _way_on(geometry: Geometry, position: Point, unseen: np.ndarray) -> float:
    x0, y0, x1, y1 = geometry.box(position)
    rest = unseen.copy()
    rest[y0:y1, x0:x1] = False
    way = route(geometry, position, rest)
    return math.inf if way is None else len(way)
