"""From a model's spec to pydantic-ai's model object: all that is particular to that library's providers."""

from __future__ import annotations

import inspect
import json
import os
import re
import warnings
from typing import TYPE_CHECKING, Any

from ...schemas.extras import require
from .spec import COMPATIBLE, ModelSpec

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai.models import Model

_MESSAGES = ("messages", "input", "contents")
_SECRET_HEADERS = ("authorization", "x-api-key", "x-goog-api-key", "api-key")


def build(spec: ModelSpec, transport: httpx2.AsyncBaseTransport | None = None) -> Model:
    """The model object; no request is made.

    Args:
        spec: which model.
        transport: takes the place of the network.

    Raises:
        ValueError: for an unknown provider, a missing key, or a base URL where the provider takes none.
        MissingExtra: where a provider's package is not installed.
    """
    require("pydantic_ai", "llm")
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.models import create_async_httpx2_client, infer_model

    http_client = create_async_httpx2_client(transport=transport)
    try:
        provider = _provider(spec, http_client)
        kind = "openai-chat" if spec.provider == COMPATIBLE else spec.provider
        return infer_model(f"{kind}:{spec.model}", provider_factory=lambda _: provider)
    except UserError as error:
        raise ValueError(f"{spec.name}: {_first_sentence(error)}") from error
    except ImportError as error:
        raise ValueError(f"{spec.name}: {' '.join(str(error).split())}") from error


def sent_once(model: Model) -> dict[str, Any]:
    """Keep the provider's SDK from repeating requests: on its client where it can be, else by these settings.

    As a setting, it would make pydantic-ai copy the OpenAI, Anthropic or Groq client for each request (1 ms).
    """
    client = getattr(model, "client", None)
    if not isinstance(getattr(client, "max_retries", None), int):
        return {"max_retries": 0}
    client.max_retries = 0  # type: ignore[union-attr]
    return {}


def _provider(spec: ModelSpec, http_client: httpx2.AsyncClient) -> Any:
    from pydantic_ai.providers import infer_provider_class
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    key = _key(spec)
    if spec.provider == COMPATIBLE:
        if not spec.base_url:
            raise ValueError(f"{spec.name}: {COMPATIBLE} needs a base_url in [predictors.{spec.name}]")
        return OpenAICompatibleProvider(
            COMPATIBLE, base_url=spec.base_url, api_key=key, http_client=http_client
        )
    try:
        factory: Any = infer_provider_class(spec.provider)
    except ValueError as error:
        raise ValueError(f"{spec.name}: no provider {spec.provider!r}") from error
    takes = inspect.signature(factory).parameters
    given = {"api_key": key, "base_url": spec.base_url}
    if spec.base_url and "base_url" not in takes:
        raise ValueError(f"{spec.name}: {spec.provider} has a fixed address; use {COMPATIBLE} for your own")
    chosen = {name: value for name, value in given.items() if value and name in takes}
    return factory(**chosen, http_client=http_client)


def _key(spec: ModelSpec) -> str | None:
    if spec.api_key_env is None:
        return None
    key = os.environ.get(spec.api_key_env)
    if not key:
        raise ValueError(f"{spec.name}: the environment variable {spec.api_key_env} holds no key")
    return key


def _first_sentence(error: Exception) -> str:
    text = " ".join(str(error).split())
    return re.sub(r" or pass it via `[^`]*`", "", text).replace("`", "").split(". ")[0]


async def rehearse(spec: ModelSpec, settings: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """What a request will carry, found out without sending one.

    Returns:
        the settings as they go out: the request's body without its messages; and the secrets in its headers.

    Raises:
        ValueError: as `build`, or where no request can be made of the settings.
    """
    require("pydantic_ai", "llm")
    import httpx2
    from pydantic_ai.direct import model_request
    from pydantic_ai.exceptions import AgentRunError
    from pydantic_ai.messages import ModelRequest

    caught: list[httpx2.Request] = []

    def catch(request: httpx2.Request) -> httpx2.Response:
        caught.append(request)
        return httpx2.Response(400, json={})

    model = build(spec, httpx2.MockTransport(catch))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            question = [ModelRequest.user_text_prompt("?")]
            await model_request(model, question, model_settings=settings)  # type: ignore[arg-type]
    except AgentRunError as error:
        if not caught:
            raise ValueError(f"{spec.name}: {_first_sentence(error)}") from error
    except (TypeError, ValueError) as error:
        raise ValueError(f"{spec.name}: settings {settings}: {_first_sentence(error)}") from error
    body = json.loads(caught[0].content)
    headers = caught[0].headers
    secrets = [headers[name].removeprefix("Bearer ") for name in _SECRET_HEADERS if headers.get(name)]
    return {name: value for name, value in body.items() if name not in _MESSAGES}, secrets
