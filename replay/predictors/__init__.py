"""Predictors: what reads evidence. Built-in ones by name, others through the entry points."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from typing import NamedTuple

from ...schemas import Predictor

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


def load(name: str) -> Predictor:
    """The predictor of that name, ready to read.

    Raises:
        KeyError: for an unknown name.
        MissingExtra: where its extra is not installed.
    """
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].target.partition(":")
        return getattr(import_module(module, __name__), attribute)()
    for point in entry_points(group=ENTRY_POINTS, name=name):
        loaded = point.load()
        return loaded() if isinstance(loaded, type) else loaded
    raise KeyError(f"no predictor {name!r}; there are {', '.join(names())}")


def names() -> list[str]:
    """Names of all predictors, built-in ones first."""
    return [*BUILT_IN, *sorted({point.name for point in entry_points(group=ENTRY_POINTS)} - set(BUILT_IN))]
