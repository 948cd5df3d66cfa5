"""A language model as a predictor."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ....schemas import PredictorInput, Reading
from ....traces.models import Limits, ModelSpec, Prompts
from ....traces.models.client import Client, Reply, Turn
from ....traces.models.questions import reading_prompts, reading_question
from ....traces.models.replies import robust_answer, strict_answer
from ...representations import REPRESENTATIONS

_REPLY_TOKENS = 60


class ModelPredictor:
    """What predictors that ask a model have in common; they add `predict_async`.

    Args:
        spec: which model.
        limits: shared by everything that one command asks.
        prompts: prompt files.
        concurrency: inputs under way at once.

    Raises:
        ValueError: for a model that cannot be asked (see `Client`).
        MissingExtra: without the extra `llm`.
    """

    settings: Mapping[str, Any]
    representations: Sequence[str]
    prompt_names: Iterable[str]
    """Prompt files that a reply depends on."""

    def __init__(
        self,
        spec: ModelSpec,
        limits: Limits | None = None,
        prompts: Prompts | None = None,
        concurrency: int = 8,
    ) -> None:
        self.name, self.version, self.concurrency = spec.name, spec.id, concurrency
        self.client, self.prompts = Client(spec, limits), prompts or Prompts()
        self.settings = self.client.settings
        self.prompt_hash = self.prompts.hash(*self.prompt_names)

    def predict(self, item: PredictorInput) -> Reading:
        """Read one input."""
        return asyncio.run(self.predict_async(item))

    async def predict_async(self, item: PredictorInput) -> Reading:
        """Read one input.

        Raises:
            StopAsking: where the model should not be asked any more.
            RequestFailed: where this input got no reply.
        """
        raise NotImplementedError


class LLM(ModelPredictor):
    """Shows evidence to a model and reads its reply, as the official runner would and robustly."""

    representations: Sequence[str] = tuple(REPRESENTATIONS)
    prompt_names = frozenset(name for form in REPRESENTATIONS for name in reading_prompts(form))

    async def predict_async(self, item: PredictorInput) -> Reading:
        """Read one input (see `ModelPredictor`)."""
        return self.reading(await self.client.ask([self.turn(item)]), item.n_panels)

    @staticmethod
    def reading(reply: Reply, n_panels: int) -> Reading:
        """What a reply says about an input of so many panels."""
        answer, status = robust_answer(reply.text, n_panels)
        return Reading(
            answer=answer,
            raw=reply.text,
            answer_strict=strict_answer(reply.text, n_panels),
            usage=reply.usage,
            parse_status=status,
        )

    def price(self, item: PredictorInput) -> float | None:
        """About what reading one input costs in USD, where the model's price is known.

        A picture is taken for one token in 750 pixels, a text for one in four characters, the reply for 60
        without reasoning.
        """
        text = next(part for part in self.turn(item).parts if isinstance(part, str))
        pixels = sum(image.shape[0] * image.shape[1] for image in item.images)
        return self.client.price(len(text) // 4 + pixels // 750, _REPLY_TOKENS)

    def turn(self, item: PredictorInput) -> Turn:
        """The message for one input: the text, then the pictures in order."""
        form = item.representation.partition("@")[0]
        return reading_question(self.prompts, form, item.n_panels, item.images, item.text)
