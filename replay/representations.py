"""Forms in which frozen evidence is given to a predictor. Named and versioned: results depend on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..schemas import Episode, Evidence, Geometry, Point, PredictorInput
from ..traces.world import observe, offline_canvas
from .forms import ascii_canvas, contact_sheet, map_entries, thoughts


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


def _last_frame(frozen: Frozen) -> np.ndarray:
    return observe(frozen.canvas, frozen.windows[-1], frozen.geometry)


def _thoughts(frozen: Frozen, *, last: bool = False) -> str:
    return thoughts(frozen.episode, len(frozen.windows) - 1, last=last)


def _map(frozen: Frozen) -> str:
    return map_entries(frozen.episode, len(frozen.windows) - 1)


def _sheet(frozen: Frozen) -> np.ndarray:
    seen = frozen.geometry.seen(frozen.windows, frozen.evidence)
    return contact_sheet(frozen.canvas, frozen.windows, frozen.geometry, seen)


REPRESENTATIONS: dict[str, Representation] = {
    r.name: r
    for r in (
        Representation("canvas", 1, lambda f: ((_canvas(f),), None)),
        Representation("canvas+glimpse", 1, lambda f: ((_canvas(f), _last_frame(f)), None)),
        Representation("glimpses", 1, lambda f: (_frames(f), None)),
        Representation("textual_state", 1, lambda f: ((_last_frame(f),), _thoughts(f)), needs_texts=True),
        Representation(
            "textual_state+last", 1, lambda f: ((_last_frame(f),), _thoughts(f, last=True)), needs_texts=True
        ),
        Representation("metric_grid_map", 1, lambda f: ((_last_frame(f),), _map(f)), needs_texts=True),
        Representation("contact_sheet", 1, lambda f: ((_sheet(f),), None)),
        Representation("ascii", 1, lambda f: ((), ascii_canvas(_canvas(f), f.geometry.panel))),
        Representation("full", 1, lambda f: ((f.canvas,), None), whole=True),
    )
}
"""`canvas` is the paper's offline canvas; `canvas+glimpse` its online two pictures; `glimpses` the
observations in order; `textual_state` and `metric_grid_map` the frozen thoughts or map entries with the
latest observation (what was written at that observation itself is left out, but in `textual_state+last`);
`contact_sheet` the windows tiled in order of time; `ascii` the canvas as characters; `full` the control
that shows everything."""


def representation(name: str) -> Representation:
    """The representation of that name.

    Raises:
        KeyError: for an unknown name, saying which there are.
    """
    try:
        return REPRESENTATIONS[name]
    except KeyError:
        raise KeyError(f"no representation {name!r}; there are {', '.join(REPRESENTATIONS)}") from None
