"""One way to ask any model: text and pictures in; text, tokens and price out; patient, within limits."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import urlsplit

from ...schemas import StopAsking, Usage
from ...schemas.extras import require
from .limits import Limits
from .providers import build, rehearse, sent_once
from .spec import ModelSpec

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model
    from pydantic_ai.tools import ToolDefinition

ATTEMPTS = 6
"""Requests made for one reply before it counts as failed."""

_FIRST_WAIT, _LONGEST_WAIT = 0.5, 60.0


class Turn(NamedTuple):
    """One message: who speaks, and texts and PNG files in order."""

    role: Literal["user", "assistant"]
    parts: tuple[str | bytes, ...]


@dataclass(slots=True)
class Reply:
    """What came back.

    Args:
        text: the reply as it came, without reasoning.
        usage: tokens and price of the request that was answered.
        latency: its duration in seconds; None in a batch.
        failed: what went wrong with the requests before it.
        message: the reply in pydantic-ai's form, tool calls included.
    """

    text: str
    usage: Usage
    latency: float | None
    failed: list[str] = field(default_factory=list)
    message: ModelResponse | None = None


class RequestFailed(Exception):
    """This request got no reply; others may. `failed` has the attempts before the last."""

    def __init__(self, message: str, failed: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.failed = list(failed)


class Client:
    """Asks one model. Key, provider and settings are checked here, before anything is sent.

    `settings` holds what is stored beside every reply: provider, model, address, and the settings as sent;
    `asked_with` the settings in pydantic-ai's form.

    Args:
        spec: which model.
        limits: shared by everything that one command asks.
        attempts: requests made for one reply; 429, 5xx, timeouts, broken connections and malformed bodies are
            repeated, with growing waits, or the wait that the provider asks for.

    Raises:
        ValueError: for an unknown provider, a missing key, unusable settings, or a cap on money where the
            price of the model is not known.
        MissingExtra: without the extra `llm`.
    """

    def __init__(self, spec: ModelSpec, limits: Limits | None = None, *, attempts: int = ATTEMPTS) -> None:
        require("pydantic_ai", "llm")
        self.spec = spec
        self.limits = limits or Limits()
        self._attempts = attempts
        # Retries are counted here for all providers (see `sent_once`).
        self.asked_with = {name: value for name, value in spec.settings.items() if name != "max_retries"}
        body, self._secrets = asyncio.run(rehearse(spec, self.asked_with))
        self.settings: dict[str, Any] = {"model": spec.id, "sent": body}
        if spec.base_url:
            parts = urlsplit(spec.base_url)
            self.settings["base_url"] = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
        if self.limits.max_cost is not None and self.price(1000, 1000) is None:
            raise ValueError(
                f"{spec.name}: the price of {spec.id} is not known; give price = [input, output] "
                f"in [predictors.{spec.name}], or use --max-calls"
            )
        self._unlisted: set[str | None] = set()
        self._stopped: StopAsking | None = None
        self._model: tuple[Model, dict[str, Any]] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def price(self, tokens_in: int, tokens_out: int) -> float | None:
        """USD for a call of so many input and output tokens, or None where the price is not known."""
        from pydantic_ai.messages import ModelResponse
        from pydantic_ai.usage import RequestUsage

        if self.spec.price:
            return (tokens_in * self.spec.price[0] + tokens_out * self.spec.price[1]) / 1e6
        usage = RequestUsage(input_tokens=tokens_in, output_tokens=tokens_out)
        provider = self.spec.provider.removesuffix("-chat").removesuffix("-responses")
        try:
            response = ModelResponse(
                parts=[], usage=usage, model_name=self.spec.model, provider_name=provider
            )
            return float(response.cost().total_price)
        except LookupError:
            return None

    async def ask(self, turns: Sequence[Turn]) -> Reply:
        """Ask with a conversation that ends with a user's turn.

        Raises:
            StopAsking: where no further request should be made: a cap is reached, the key or the model is
                refused, or the very first request is.
            RequestFailed: where this request got no reply.
        """
        return await self.request([message(turn) for turn in turns])

    async def request(self, messages: Sequence[ModelMessage], tools: Sequence[ToolDefinition] = ()) -> Reply:
        """As `ask`, with messages in pydantic-ai's form, and tools that the model may call."""
        if self._stopped:
            raise self._stopped
        async with self.limits.call():
            failed: list[str] = []
            while True:
                try:
                    reply = await self._once(messages, tools)
                except Exception as error:
                    await self._cope(error, failed)
                else:
                    reply.failed = failed
                    return reply

    async def _once(self, messages: Sequence[ModelMessage], tools: Sequence[ToolDefinition]) -> Reply:
        from pydantic_ai.direct import model_request
        from pydantic_ai.models import ModelRequestParameters

        await self.limits.request()
        began = time.perf_counter()
        model, settings = self._here()
        response = await model_request(
            model,
            messages,
            model_settings=settings,  # type: ignore[arg-type]
            model_request_parameters=ModelRequestParameters(function_tools=list(tools)),
        )
        reply = self.read(response, time.perf_counter() - began)
        total = (reply.usage.tokens_input or 0) + (reply.usage.tokens_output or 0)
        self.limits.replied(total or None, reply.usage.cost)
        return reply

    def read(self, response: ModelResponse, latency: float | None = None) -> Reply:
        """What a response says and took.

        Raises:
            UnexpectedModelBehavior: for one with nothing in it.
        """
        from pydantic_ai.exceptions import UnexpectedModelBehavior

        if not response.parts and response.usage.unmeasured_requests:
            raise UnexpectedModelBehavior("a reply with nothing in it")
        return Reply(response.text or "", self._usage(response), latency, message=response)

    def _here(self) -> tuple[Model, dict[str, Any]]:
        """The model object of the running event loop, to which its connections belong, and its settings."""
        loop = asyncio.get_running_loop()
        if self._model is None or self._loop is not loop:
            model = build(self.spec)
            self._model, self._loop = (model, {**self.asked_with, **sent_once(model)}), loop
        return self._model

    def _usage(self, response: ModelResponse) -> Usage:
        usage = response.usage
        if usage.unmeasured_requests:
            return Usage()
        cached, written = usage.cache_read_tokens, usage.cache_write_tokens
        return Usage(
            tokens_input=usage.input_tokens - cached - written,
            tokens_cache_read=cached,
            tokens_cache_write=written,
            tokens_output=usage.output_tokens,
            tokens_reasoning=usage.output_reasoning_tokens,
            cost=self._cost(response),
        )

    def _cost(self, response: ModelResponse) -> float | None:
        """By the price that the user states, else the provider's own figure, else the price list."""
        usage = response.usage
        if self.spec.price:
            return self.price(usage.input_tokens, usage.output_tokens)
        if usage.cost is not None:
            return float(usage.cost)
        if response.model_name in self._unlisted:
            return None
        # A reply may name a snapshot of the model that the list does not know.
        for named in (response, replace(response, model_name=self.spec.model)):
            with suppress(LookupError):
                return float(named.cost().total_price)
        self._unlisted.add(response.model_name)
        return None

    async def _cope(self, error: Exception, failed: list[str]) -> None:
        """Wait before the next attempt, or raise what the failure means."""
        said = self.one_line(error)
        verdict = judge(error)
        if verdict == "stop" or (verdict == "refused" and not self.limits.calls):
            self._stopped = self.refusal(error)
            raise self._stopped from error
        if verdict == "refused" or len(failed) + 1 >= self._attempts:
            raise RequestFailed(said, failed) from error
        failed.append(said)
        growing = min(_FIRST_WAIT * 2 ** (len(failed) - 1), _LONGEST_WAIT) * random.uniform(0.75, 1.25)
        asked = getattr(error, "retry_after", None)
        await asyncio.sleep(growing if asked is None else min(asked, _LONGEST_WAIT))

    def refusal(self, error: Exception) -> StopAsking:
        """What to raise where the provider will not be asked again, with what to do about it."""
        return StopAsking(f"{self.spec.name} ({self.spec.id}): {self.one_line(error)}; {_remedy(error)}")

    def one_line(self, error: Exception) -> str:
        """An error in one line, without any key in it."""
        text = " ".join(f"{type(error).__name__.lstrip('_')}: {error}".split())[:400]
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text


def message(turn: Turn) -> ModelMessage:
    """A turn in pydantic-ai's form."""
    from pydantic_ai.messages import BinaryContent, ModelRequest, ModelResponse, TextPart, UserPromptPart

    if turn.role == "assistant":
        return ModelResponse(parts=[TextPart(content=str(part)) for part in turn.parts])
    content = [
        part if isinstance(part, str) else BinaryContent(data=part, media_type="image/png")
        for part in turn.parts
    ]
    return ModelRequest(parts=[UserPromptPart(content=content)])


def judge(error: Exception) -> Literal["again", "refused", "stop"]:
    """Whether to repeat a request, to give it up, or to stop asking altogether."""
    from pydantic_ai import exceptions as kinds

    stop = (kinds.ModelAuthenticationError, kinds.ModelNotFoundError, kinds.ModelQuotaExceededError)
    if isinstance(error, (*stop, kinds.UserError)):
        return "stop"
    if isinstance(error, (kinds.ModelRequestRejectedError, kinds.ContentFilterError)):
        return "refused"
    # Rate limits, server errors, timeouts, broken connections, and bodies that no provider means to send.
    return "again"


def _remedy(error: Exception) -> str:
    from pydantic_ai import exceptions as kinds

    if isinstance(error, kinds.ModelAuthenticationError):
        return "check the key in the provider's environment variable"
    if isinstance(error, kinds.ModelNotFoundError):
        return "check the model's name and the address"
    if isinstance(error, kinds.ModelQuotaExceededError):
        return "the account has no credit left"
    return "the provider does not take this request"
