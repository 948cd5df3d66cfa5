"""Finding the way to pixels that are wanted."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from ....schemas import DIRECTIONS, Geometry, Point


def window_sums(geometry: Geometry, wanted: np.ndarray) -> Callable[[Point], int]:
    """How many pixels of `wanted`, bool (H, W), a window shows, as a function of its position."""
    sums = np.zeros((wanted.shape[0] + 1, wanted.shape[1] + 1), dtype=np.int32)
    np.cumsum(wanted, axis=0, out=sums[1:, 1:])
    np.cumsum(sums, axis=1, out=sums)

    def count(position: Point) -> int:
        x0, y0, x1, y1 = geometry.box(position)
        return int(sums[y1, x1] - sums[y0, x1] - sums[y1, x0] + sums[y0, x0])

    return count


def route(geometry: Geometry, start: Point, wanted: np.ndarray) -> list[str] | None:
    """Shortest moves from `start` to a window that shows a wanted pixel; None where no window can."""
    count = window_sums(geometry, wanted)
    moves: dict[Point, list[str]] = {start: []}
    queue = deque(moves)
    while queue:
        position = queue.popleft()
        if count(position):
            return moves[position]
        for direction in DIRECTIONS:
            reached, _ = geometry.move(position, direction)
            if reached not in moves:
                moves[reached] = [*moves[position], direction]
                queue.append(reached)
    return None
