"""Which model a name means: aliases, `provider/model`, and the user's own servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

ALIASES: dict[str, str] = {
    "gemini": "google/gemini-3.1-pro-preview",
    "claude": "anthropic/claude-opus-5-5",
    "gpt": "openai/gpt-5.6-sol",
    "qwen": "openrouter/qwen/qwen3.8-27b",
    "glm": "zai/glm-4.6v",
}
"""What the built-in aliases stand for, in one place; stored with every prediction as its predictor
version."""

COMPATIBLE = "openai-compatible"
"""Provider of any server that speaks OpenAI's chat completions at `base_url` (vLLM, llama.cpp, Ollama,
...)."""

_KEYS = {"model", "base_url", "api_key_env", "settings", "price"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """A model, and how to reach it.

    Args:
        name: as called.
        provider: a provider that pydantic-ai knows (`openai`, `openai-chat`, `anthropic`, `google`,
            `openrouter`, `ollama`, `vllm`, ...), or `openai-compatible`.
        model: the provider's name for the model.
        base_url: where to send requests; None for the provider's own address or environment variable.
        api_key_env: environment variable that holds the key; None for the provider's usual one.
        settings: model settings of pydantic-ai (`temperature`, `max_tokens`, `thinking`, `timeout`, ...).
        price: USD for a million input and a million output tokens, where the user states them.
    """

    name: str
    provider: str
    model: str
    base_url: str | None = None
    api_key_env: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    price: tuple[float, float] | None = None

    @property
    def id(self) -> str:
        """`provider/model`."""
        return f"{self.provider}/{self.model}"


def is_model(name: str, table: Mapping[str, Any] | None = None) -> bool:
    """Whether `find` knows what to make of a name."""
    return name in (table or {}) or name in ALIASES or "/" in name


def find(name: str, table: Mapping[str, Any] | None = None) -> ModelSpec:
    """The model that a name means.

    Args:
        name: an entry of `table`, an alias, or `provider/model`.
        table: `[predictors.NAME]` tables of the configuration file, with any of `model` (alias or
            `provider/model`), `base_url`, `api_key_env`, `settings`, `price` (a list of two numbers).

    Raises:
        ValueError: for a name that is none of these, or an entry that says something else.
    """
    entry = (table or {}).get(name, {})
    if not isinstance(entry, Mapping) or (unknown := entry.keys() - _KEYS):
        said = ", ".join(sorted(unknown)) if isinstance(entry, Mapping) else repr(entry)
        raise ValueError(f"[predictors.{name}] has {said}; it takes {', '.join(sorted(_KEYS))}")
    wanted = str(entry.get("model", name))
    provider, slash, model = ALIASES.get(wanted, wanted).partition("/")
    if not slash or not provider or not model:
        known = ", ".join([*ALIASES, *(table or {})])
        raise ValueError(f"no model {wanted!r}; write PROVIDER/MODEL or one of {known}")
    price = entry.get("price")
    return ModelSpec(
        name=name,
        provider=provider,
        model=model,
        base_url=entry.get("base_url"),
        api_key_env=entry.get("api_key_env"),
        settings=dict(entry.get("settings", {})),
        price=(float(price[0]), float(price[1])) if price else None,
    )
