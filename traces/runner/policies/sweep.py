"""The sweep: every pixel of the canvas, line by line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ....schemas import Geometry, Point
from .base import Decision, View

_BACK = {"up": "down", "down": "up", "left": "right", "right": "left"}


def boustrophedon(geometry: Geometry, start: Point) -> list[str]:
    """Moves that cover the canvas: to the nearest corner, then to and fro along the shorter axis.

    Lines lie as far apart as whole strides fit into the window. From any start this takes at most 31 moves at
    one panel and 56 at two (64/32 pixels), within the budget; where the stride is more than half the window,
    the way to the corner may cost more than the budget has.
    """
    moves: list[str] = []
    position = start

    def go(direction: str, limit: int | None = None) -> int:
        nonlocal position
        taken = 0
        while taken != limit and (reached := geometry.move(position, direction)[0]) != position:
            position = reached
            moves.append(direction)
            taken += 1
        return taken

    (x, y), (x_max, y_max) = start, geometry.limits
    sideways, upright = ("left" if 2 * x <= x_max else "right"), ("up" if 2 * y <= y_max else "down")
    along, across = (upright, sideways) if y_max <= x_max else (sideways, upright)
    go(across)
    go(along)
    while True:
        along = _BACK[along]
        go(along)
        if not go(_BACK[across], max(1, geometry.window // geometry.stride)):
            return moves


@dataclass
class Sweep:
    """Looks at every pixel of the canvas, line by line, then answers."""

    clairvoyant = False
    _path: Iterator[str] | None = field(default=None, init=False)

    def reset(self, rng: np.random.Generator, geometry: Geometry, t_max: int) -> None:
        """Forget the last path."""
        self._path = None

    def act(self, view: View) -> Decision:
        """The next move of the path, the answer at its end or with the last action."""
        if self._path is None:
            self._path = iter(boustrophedon(view.geometry, view.position))
        return Decision(None if view.last else next(self._path, None))
