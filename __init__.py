"""Trajectory analysis and replay for glimpse-based perception."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_EXPORTS = {
    "Episode": "schemas",
    "Geometry": "schemas",
    "Predictor": "schemas",
    "PredictorInput": "schemas",
    "Reading": "schemas",
    "Run": "schemas",
}
__all__ = ["Episode", "Geometry", "Predictor", "PredictorInput", "Reading", "Run"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name in _EXPORTS:
        return getattr(import_module(f".{_EXPORTS[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
