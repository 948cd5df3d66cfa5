"""What reads evidence: the predictor protocol, its input and its reply."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from .enums import ParseStatus
from .records import Usage

UNSEEN = 128
"""Grey level of pixels that the agent was not shown."""


@dataclass(frozen=True, slots=True)
class PredictorInput:
    """Frozen evidence in one representation.

    Args:
        representation: `name@version`.
        images: uint8 arrays, (H, W) greyscale canvases with strokes 0, ground 255, unseen 128, or (H, W, 3)
            RGB observations, oldest first.
        text: textual part, where the representation has one.
        n_panels: number of digits to read.
    """

    representation: str
    images: tuple[np.ndarray, ...]
    n_panels: int
    text: str | None = None

    @property
    def hash(self) -> str:
        """Hash over pixels, text and representation; independent of how pictures are encoded."""
        digest = hashlib.sha256(f"{self.representation}\0{self.n_panels}\0{self.text or ''}".encode())
        for image in self.images:
            digest.update(f"\0{image.shape}".encode())
            digest.update(np.ascontiguousarray(image).tobytes())
        return digest.hexdigest()


@dataclass(slots=True)
class Reading:
    """What a predictor makes of one input.

    Args:
        answer: digits, or None for no answer.
        probabilities: per panel, ten probabilities; None where the predictor gives none.
        raw: the reply as it came.
        answer_strict: the official runner's reading of `raw`, where it may differ.
        usage: tokens and cost, where known.
        parse_status: how `answer` came out of `raw`, where more than answer or none can be told.
    """

    answer: str | None
    probabilities: list[list[float]] | None = None
    raw: str | None = None
    answer_strict: str | None = None
    usage: Usage = field(default_factory=Usage)
    parse_status: ParseStatus | None = None


class StopAsking(Exception):
    """Raised by a predictor that must not be asked any more: a cap is reached, a key refused.

    What was under way is waited for, and everything that was received is kept.
    """


@runtime_checkable
class Predictor(Protocol):
    """Anything that reads a `PredictorInput`.

    `predict` may raise: the input then counts as failed, the others go on. Two optional attributes speed it
    up: `predict_batch(inputs) -> list[Reading]` for models that read many inputs at once, and
    `async predict_async(input) -> Reading` for remote models. `concurrency` bounds threads or open requests.
    """

    name: str
    version: str
    prompt_hash: str
    settings: Mapping[str, Any]
    representations: Sequence[str]
    concurrency: int

    def predict(self, item: PredictorInput) -> Reading:
        """Read one input."""
        ...
