"""Following the ink."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....schemas import Geometry
from .base import Decision, View
from .routes import route


@dataclass
class Stroke:
    """Follows ink to where it leaves what was seen; looks into panels that have shown none; then answers."""

    clairvoyant = False

    def reset(self, rng: np.random.Generator, geometry: Geometry, t_max: int) -> None:
        """Nothing to forget."""

    def act(self, view: View) -> Decision:
        """A move towards the nearest loose end, or the answer."""
        if view.last:
            return Decision()
        ends = loose_ends(view.canvas == 0, view.seen)
        wanted = ends if ends.any() else _blank_panels(view)
        way = route(view.geometry, view.position, wanted)
        return Decision(way[0] if way else None)


def loose_ends(ink: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Unseen pixels that touch seen ink: where a stroke leaves what was seen. All arrays bool (H, W)."""
    touched = np.zeros_like(ink)
    touched[1:] |= ink[:-1]
    touched[:-1] |= ink[1:]
    touched[:, 1:] |= ink[:, :-1]
    touched[:, :-1] |= ink[:, 1:]
    return touched & ~seen


def _blank_panels(view: View) -> np.ndarray:
    """Unseen pixels of the panels that have shown no ink."""
    ink = (view.canvas == 0).any(axis=0).reshape(view.geometry.n_panels, -1).any(axis=1)
    return ~view.seen & np.repeat(~ink, view.geometry.panel)
