"""The reference reader: calibrated probabilities of the digits on a partly seen canvas."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from ....schemas import PredictorInput, Reading
from . import features

REPRESENTATION = "canvas@1"
WEIGHTS = Path(__file__).with_name("reference.onnx")
CLASSES = 10
_CHUNK = 64


class Reference:
    """A small CNN over what was seen and what of it is ink (MODEL_CARD.md).

    Args:
        weights: the ONNX file.
        threads: cores that one call may use.
    """

    name = "reference"
    prompt_hash = ""
    settings: Mapping[str, Any] = {}
    representations: Sequence[str] = ("canvas", "full")
    concurrency = 1

    def __init__(self, weights: Path = WEIGHTS, threads: int = 1) -> None:
        self._weights = weights.read_bytes()
        self._threads = threads
        self.version = f"{hashlib.sha256(self._weights).hexdigest()[:12]}+{REPRESENTATION}"

    @cached_property
    def _session(self) -> onnxruntime.InferenceSession:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._threads
        return onnxruntime.InferenceSession(self._weights, options, providers=["CPUExecutionProvider"])

    def posterior(self, canvases: np.ndarray) -> np.ndarray:
        """Probabilities of the ten digits in every panel.

        Args:
            canvases: uint8 (B, H, H * N), strokes 0, ground 255, unseen 128. The reader was trained at
                H = 224; other heights from 28 up are brought there by the nearest pixel.

        Returns:
            float32 (B, N, 10), rows summing to 1; 0.1 each for a panel without visible ink (docs/metrics.md
            §3.1).

        Raises:
            ValueError: for another dtype or shape.
        """
        squares = features.panels(canvases)
        n = canvases.shape[2] // canvases.shape[1]
        probabilities = np.empty((len(squares), CLASSES), dtype=np.float32)
        for i in range(0, len(squares), _CHUNK):
            probabilities[i : i + _CHUNK] = self.read_cells(features.cells(squares[i : i + _CHUNK]))
        return probabilities.reshape(len(canvases), n, CLASSES)

    def read_cells(self, cells: np.ndarray) -> np.ndarray:
        """Probabilities, float32 (M, 10), of panels given as `features.cells`, uint8 (M, 8, 28, 28)."""
        probabilities = np.asarray(self._session.run(["probabilities"], {"cells": cells})[0])
        blank = ~np.any(cells[:, :4], axis=(1, 2, 3))
        return np.where(blank[:, None], np.float32(1 / CLASSES), probabilities)

    def predict(self, item: PredictorInput) -> Reading:
        """Read one canvas; see `predict_batch`."""
        return self.predict_batch([item])[0]

    def predict_batch(self, items: Sequence[PredictorInput]) -> list[Reading]:
        """Read canvases, of one size or several.

        The answer is the most probable digit of every panel, left to right; None where one of them is tied.

        Raises:
            ValueError: for an input that is not one canvas of `n_panels` square panels.
        """
        by_shape: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for i, item in enumerate(items):
            by_shape[_canvas(item).shape].append(i)
        readings: dict[int, Reading] = {}
        for positions in by_shape.values():
            posterior = self.posterior(np.stack([items[i].images[0] for i in positions]))
            for i, panels, digits in zip(positions, posterior, best(posterior), strict=True):
                answer = None if (digits < 0).any() else "".join(map(str, digits))
                readings[i] = Reading(answer, panels.astype(float).tolist(), raw=answer)
        return [readings[i] for i in range(len(items))]


def _canvas(item: PredictorInput) -> np.ndarray:
    """The canvas of an input."""
    form = item.representation.partition("@")[0]
    if form not in Reference.representations:
        raise ValueError(f"reference reads {' or '.join(Reference.representations)}, not {form}")
    if len(item.images) != 1 or item.images[0].ndim != 2:
        raise ValueError("reference reads one greyscale canvas at a time")
    height, width = item.images[0].shape
    if width != height * item.n_panels:
        raise ValueError(f"{item.n_panels} panels do not fit a canvas of {width} x {height} pixels")
    return item.images[0]


def best(posterior: np.ndarray) -> np.ndarray:
    """The most probable digit along the last axis, -1 where two or more are equally so.

    >>> best(np.array([[0.1, 0.9], [0.5, 0.5]]))
    array([ 1, -1])
    """
    tied = (posterior == posterior.max(axis=-1, keepdims=True)).sum(axis=-1) > 1
    return np.where(tied, -1, posterior.argmax(axis=-1))
