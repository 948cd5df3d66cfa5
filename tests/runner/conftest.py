"""Predictors and policies for runner tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from mnistpro_replay.schemas import PredictorInput, Reading, Usage


@dataclass
class Echo:
    """Answers with a fixed reply and remembers what it was asked."""

    reply: str | None = "3"
    confidence: float | None = None
    fails: bool = False
    name: str = "echo"
    version: str = "1"
    prompt_hash: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    representations: Sequence[str] = ("canvas",)
    concurrency: int = 1
    asked: list[PredictorInput] = field(default_factory=list)

    def predict(self, item: PredictorInput) -> Reading:
        """The fixed reply."""
        self.asked.append(item)
        if self.fails:
            raise RuntimeError("no connection")
        probabilities = None
        if self.confidence is not None:
            row = np.full(10, (1 - self.confidence) / 9)
            row[3] = self.confidence
            probabilities = [row.tolist()] * item.n_panels
        usage = Usage(tokens_input=10, tokens_output=2, cost=0.5)
        return Reading(self.reply, probabilities, raw=f"I read {self.reply}", usage=usage)


@pytest.fixture
def echo() -> type[Echo]:
    """The predictor's class."""
    return Echo
