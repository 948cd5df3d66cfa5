"""Random walks: to the end of the budget, and cut off early."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ....schemas import DIRECTIONS, Geometry
from .base import Decision, View


@dataclass
class Random:
    """Moves in a random direction that is not blocked, and answers with the last action allowed."""

    clairvoyant = False
    _rng: np.random.Generator = field(default_factory=np.random.default_rng, init=False)

    def reset(self, rng: np.random.Generator, geometry: Geometry, t_max: int) -> None:
        """Take the episode's generator."""
        self._rng = rng

    def act(self, view: View) -> Decision:
        """A random move, or the answer."""
        position, geometry = view.position, view.geometry
        free = [direction for direction in DIRECTIONS if geometry.move(position, direction)[0] != position]
        if view.last or not free:
            return Decision()
        return Decision(free[self._rng.integers(len(free))])


@dataclass
class Early(Random):
    """Walks at random and answers after `k` glimpses, whatever they showed."""

    k: int = 4

    def act(self, view: View) -> Decision:
        """A random move, or the answer after `k` glimpses."""
        return Decision() if len(view.windows) >= self.k else super().act(view)
