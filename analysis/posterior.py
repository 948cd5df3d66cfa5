"""The reference reader's posterior on frozen evidence, and how well calibrated it is there (docs/metrics.md 3.1)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Protocol

import numpy as np

from ..schemas import Evidence, Geometry, Point
from ..traces.world import reveal
from .statistics import Calibration, Interval, calibration, proportion

_BATCH = 256


class PosteriorReader(Protocol):
    """What gives probabilities of the digits on partly seen canvases."""

    version: str

    def posterior(self, canvases: np.ndarray) -> np.ndarray:
        """Canvases, uint8 (B, H, W) with unseen 128, to probabilities (B, n_panels, 10)."""
        ...


class EvidenceReader:
    """Reads canvases in batches, each distinct one once.

    Args:
        predictor: the reader; the bundled `reference` by default.
    """

    def __init__(self, predictor: PosteriorReader | None = None) -> None:
        if predictor is None:
            from ..replay.predictors.reference.predictor import Reference

            predictor = Reference()
        self.version = predictor.version
        self._predictor = predictor
        self._known: dict[bytes, np.ndarray] = {}

    def read(self, canvases: Iterable[np.ndarray]) -> list[np.ndarray]:
        """Posterior of each canvas, float32 (n_panels, 10), in the order given; canvases are of one shape."""
        order: list[bytes] = []
        stream = iter(canvases)
        while chunk := list(islice(stream, _BATCH)):
            keys = [hashlib.blake2b(canvas.tobytes(), digest_size=16).digest() for canvas in chunk]
            new = {key: canvas for key, canvas in zip(keys, chunk, strict=True) if key not in self._known}
            if new:
                posteriors = self._predictor.posterior(np.stack(list(new.values())))
                self._known.update(zip(new, posteriors, strict=True))
            order += keys
        return [self._known[key] for key in order]


def evidence_canvases(
    canvas: np.ndarray, windows: Sequence[Point], geometry: Geometry, evidence: Evidence, *, each: bool
) -> Iterator[np.ndarray]:
    """The consolidated canvas after the last glimpse, or after each in turn: uint8, unseen pixels 128."""
    seen = np.zeros(canvas.shape, dtype=bool)
    for glimpse, window in enumerate(windows):
        x0, y0, x1, y1 = geometry.box(window, evidence)
        seen[y0:y1, x0:x1] = True
        if each or glimpse == len(windows) - 1:
            yield reveal(canvas, seen)


def panel_calibration(posteriors: np.ndarray, labels: np.ndarray) -> tuple[Interval, Calibration]:
    """Accuracy and calibration of panel posteriors, printed beside whatever leans on them (docs/metrics.md 3.1).

    Args:
        posteriors: float (M, 10), one row a panel read.
        labels: int (M,), the true digits; a tied posterior is no answer and counts as wrong.
    """
    from ..replay.predictors.reference.predictor import best

    right = best(posteriors) == labels
    return proportion(int(right.sum()), len(right)), calibration(posteriors.max(axis=1, initial=0), right)
