"""Forms in which frozen evidence is given to a predictor. Named and versioned: results depend on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..schemas import Episode, Evidence, Geometry, Point, PredictorInput
from ..traces.world import observe, offline_canvas


@dataclass(frozen=True)
class Frozen:
    """The evidence of one episode up to and including one shown glimpse.

    Args:
        episode: with its steps, and texts where the representation uses them.
        canvas: the hidden canvas, uint8 (H, W).
        geometry: the run's.
        windows: windows of the shown glimpses, the last one included.
        evidence: which pixels of a glimpse count as seen.
    """

    episode: Episode
    canvas: np.ndarray
    geometry: Geometry
    windows: list[Point]
    evidence: Evidence


@dataclass(frozen=True)
class Representation:
    """One form of evidence.

    Args:
        name: as used in commands.
        version: part of the cache key; raised whenever an input could change.
        build: evidence to the pictures and the text of the input.
        needs_texts: whether it reads thoughts and map entries.
        whole: whether it shows the whole canvas, whatever was seen (a control).
    """

    name: str
    version: int
    build: Callable[[Frozen], tuple[tuple[np.ndarray, ...], str | None]]
    needs_texts: bool = False
    whole: bool = False

    @property
    def key(self) -> str:
        """Name and version, as stored with predictions."""
        return f"{self.name}@{self.version}"

    def input(self, frozen: Frozen) -> PredictorInput:
        """The predictor input that the evidence gives."""
        images, text = self.build(frozen)
        return PredictorInput(self.key, images, frozen.geometry.n_panels, text)


def _canvas(frozen: Frozen) -> np.ndarray:
    return offline_canvas(frozen.canvas, frozen.windows, frozen.geometry, frozen.evidence)


def _frames(frozen: Frozen) -> tuple[np.ndarray, ...]:
    return tuple(observe(frozen.canvas, window, frozen.geometry) for window in frozen.windows)


REPRESENTATIONS: dict[str, Representation] = {
    r.name: r
    for r in (
        Representation("canvas", 1, lambda f: ((_canvas(f),), None)),
        Representation("canvas+glimpse", 1, lambda f: ((_canvas(f), _frames(f)[-1]), None)),
        Representation("glimpses", 1, lambda f: (_frames(f), None)),
        Representation("full", 1, lambda f: ((f.canvas,), None), whole=True),
    )
}
"""`canvas` is the paper's offline canvas; `canvas+glimpse` its online two pictures; `glimpses` the observations in
order; `full` the control that shows everything."""


def representation(name: str) -> Representation:
    """The representation of that name.

    Raises:
        KeyError: for an unknown name, saying which there are.
    """
    try:
        return REPRESENTATIONS[name]
    except KeyError:
        raise KeyError(f"no representation {name!r}; there are {', '.join(REPRESENTATIONS)}") from None
