"""Predictors: what reads evidence. Built-in ones by name, others through the entry points."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, NamedTuple

from ...schemas import Predictor
from ...traces.models import ALIASES, Limits, Prompts, find
from ...traces.models.spec import is_model

ENTRY_POINTS = "mnistpro_replay.predictors"


class Known(NamedTuple):
    """A predictor that can be loaded by name."""

    target: str
    description: str
    extra: str | None


BUILT_IN: dict[str, Known] = {
    "reference": Known(".reference.predictor:Reference", "calibrated reader of partial canvases", None),
    "ocr": Known(".ocr.predictor:Ocr", "RapidOCR's bundled recogniser; nobody here trained it", "ocr"),
}


def load(
    name: str,
    models: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
    prompts: Prompts | None = None,
) -> Predictor:
    """The predictor of that name, ready to read.

    Args:
        name: a built-in or plugged-in predictor, a model's alias, an entry of `models`, or `provider/model`.
        models: `[predictors.NAME]` tables of the configuration file.
        limits: of what language models may be asked.
        prompts: prompt files of language models.

    Raises:
        KeyError: for an unknown name.
        ValueError: for a model that cannot be asked: no key, no such provider, settings that make no request.
        MissingExtra: where its extra is not installed.
    """
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].target.partition(":")
        return getattr(import_module(module, __name__), attribute)()
    for point in entry_points(group=ENTRY_POINTS, name=name):
        loaded = point.load()
        return loaded() if isinstance(loaded, type) else loaded
    if is_model(name, models):
        from .llm.predictor import LLM

        return LLM(find(name, models), limits, prompts)  # pyright: ignore[reportReturnType]
    known = ", ".join([*names(), *ALIASES, *(models or {})])
    raise KeyError(f"no predictor {name!r}; there are {known} and PROVIDER/MODEL")


def names() -> list[str]:
    """Names of all predictors, built-in ones first."""
    return [*BUILT_IN, *sorted({point.name for point in entry_points(group=ENTRY_POINTS)} - set(BUILT_IN))]
