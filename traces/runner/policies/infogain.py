"""Looking where the posterior is expected to change most."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

import numpy as np

from ....schemas import DIRECTIONS, Geometry, Point
from ...world import build_canvas, embedded
from .base import Decision, View
from .routes import route

CELLS = 28
"""Cells along a panel; a cell is ink, ground or unseen as its middle pixel is."""
SIGMA = 2.5
"""Scale of the Hamming distance in cells: least leave-one-out log loss on the bank after 3 and 6 glimpses."""
_HYPOTHESES = 30
_NEGLIGIBLE = 1e-6


@cache
def bank() -> tuple[np.ndarray, np.ndarray]:
    """The 1,000 embedded training digits: ink, float32 (1000, 784), and class, float32 one-hot (1000, 10)."""
    digits = embedded("train")
    panel = CELLS * 8
    middles = _middles(panel)
    ink = [
        build_canvas([digits.image(index)], panel)[np.ix_(middles, middles)] == 0 for index in digits.index
    ]
    classes = np.eye(10, dtype=np.float32)[digits.labels[digits.index]]
    return np.stack(ink).reshape(-1, CELLS**2).astype(np.float32), classes


def _middles(panel: int) -> np.ndarray:
    return ((np.arange(CELLS) + 0.5) * panel / CELLS).astype(np.int64)


def in_cells(pixels: np.ndarray, geometry: Geometry) -> np.ndarray:
    """An array (H, W) at the middles of the cells, (n_panels, 784)."""
    middles, n = _middles(geometry.panel), geometry.n_panels
    columns = (np.arange(n)[:, None] * geometry.panel + middles).reshape(-1)
    return pixels[np.ix_(middles, columns)].reshape(CELLS, n, CELLS).swapaxes(0, 1).reshape(n, CELLS**2)


def posterior(canvas: np.ndarray, geometry: Geometry, sigma: float = SIGMA) -> np.ndarray:
    """Weights of the bank's digits given a partly seen canvas, float64 (n_panels, 1000), summing to 1.

    Weights are proportional to exp(-d / sigma), d the number of seen cells in which the bank's digit differs
    (docs/metrics.md 3.2). Times `bank()[1]` they give the posterior over the ten classes.
    """
    cells = in_cells(canvas, geometry)
    seen_ink, seen_ground = cells == 0, cells == 255
    # Seen ink differs where the bank has none, seen ground where it has some.
    signs = seen_ground.astype(np.float32) - seen_ink
    distance = seen_ink.sum(axis=1, keepdims=True) + signs @ bank()[0].T
    weights = np.exp((distance.min(axis=1, keepdims=True) - distance).astype(np.float64) / sigma)
    return weights / weights.sum(axis=1, keepdims=True)


def expected_change(weights: np.ndarray, cells: np.ndarray, sigma: float = SIGMA) -> float:
    """How much seeing more cells of one panel is expected to change the posterior over classes, in nats.

    The mean, over the heaviest digits of the bank as the truth, of KL(posterior then || posterior now).

    Args:
        weights: of the bank's digits, float (1000,).
        cells: which cells would be seen that were not, bool (784,).
        sigma: scale of the Hamming distance.
    """
    if not cells.any():
        return 0.0
    ink, classes = bank()
    heavy = np.argpartition(-weights, _HYPOTHESES)[:_HYPOTHESES]
    shown = ink[:, cells]
    size = shown.sum(axis=1)
    distance = size[heavy, None] + size - 2 * shown[heavy] @ shown.T
    then = (weights.astype(np.float32) * np.exp(-distance / np.float32(sigma))) @ classes
    then /= then.sum(axis=1, keepdims=True)
    now = weights @ classes
    change = (then * np.log(np.maximum(then, 1e-9) / np.maximum(now, 1e-9))).sum(axis=1)
    return float(change @ weights[heavy] / weights[heavy].sum())


@dataclass
class Infogain:
    """Moves where the posterior over a bank of training digits is expected to change most; answers when sure.

    Sure means that the product over panels of the highest class probability reaches `confidence`. Where the
    run has a predictor that gives probabilities, its posterior decides when to stop, and its answer counts.
    """

    confidence: float = 0.95
    sigma: float = SIGMA
    clairvoyant = False
    _silent: bool = field(default=False, init=False)

    def reset(self, rng: np.random.Generator, geometry: Geometry, t_max: int) -> None:
        """Ask the predictor anew whether it gives probabilities."""
        self._silent = False

    def act(self, view: View) -> Decision:
        """The most informative move, or the answer."""
        weights = posterior(view.canvas, view.geometry, self.sigma)
        classes = weights @ bank()[1]
        sure = self._probabilities(view, classes).max(axis=1).prod() >= self.confidence
        direction = None if sure or view.last else self._move(view, weights)
        if direction:
            return Decision(direction)
        return Decision(answer=None if view.read else "".join(str(digit) for digit in classes.argmax(axis=1)))

    def _probabilities(self, view: View, own: np.ndarray) -> np.ndarray:
        if view.read is None or self._silent:
            return own
        given = view.read().probabilities
        # A predictor without probabilities may be dear: it is not asked again before the answer.
        self._silent = given is None
        return own if given is None else np.asarray(given)

    def _move(self, view: View, weights: np.ndarray) -> str | None:
        geometry, position = view.geometry, view.position
        unseen = in_cells(~view.seen, geometry)
        gain = {
            direction: self._gain(geometry, geometry.move(position, direction)[0], weights, unseen)
            for direction in DIRECTIONS
        }
        best = max(gain, key=gain.__getitem__)
        if gain[best] > _NEGLIGIBLE:
            return best
        way = route(geometry, position, ~view.seen)
        return way[0] if way else None

    def _gain(self, geometry: Geometry, window: Point, weights: np.ndarray, unseen: np.ndarray) -> float:
        fresh = in_cells(geometry.seen([window]), geometry) & unseen
        return sum(expected_change(*panel, self.sigma) for panel in zip(weights, fresh, strict=True))
