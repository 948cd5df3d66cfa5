"""Log formats: one folder each with `detect.py`, `read.py`, `README.md` and, where we export it, `write.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points

from ...schemas import Canvas, Diagnostic, Episode, Image, Run
from ..world.digits import Digits
from .bundle import Bundle, FolderBundle, MemoryBundle, RecordingBundle, file_bundle

Item = Run | Episode | Canvas | Image | Diagnostic
"""What a reader yields: a run, then its episodes; canvases and pictures before the episode that uses them."""

BUILT_IN: tuple[str, ...] = (
    "mnistpro",
    "slots",
    "parquet",
    "minari",
    "jsonl",
    "inspect",
    "atif",
    "claude_code",
    "codex",
    "gemini_cli",
    "otel",
    "arc",
    "anthropic",
    "openai",
)
"""Adapters in the order in which they are asked."""

ENTRY_POINTS = "mnistpro_replay.adapters"


@dataclass(frozen=True)
class Adapter:
    """One format.

    Args:
        name: its folder or entry point.
        description: one line for `formats`.
        version: of the reader; a new one makes old ingests count as changed.
        detect: whether a bundle is of this format, by content.
        read: bytes in, records and diagnostics out; never raises for bad content.
        extra: extra that the reader needs, if any.
    """

    name: str
    description: str
    version: int
    detect: Callable[[Bundle], bool]
    read: Callable[[Bundle, Digits], Iterator[Item]]
    extra: str | None = None


def adapter(name: str) -> Adapter:
    """The adapter of that name.

    Raises:
        KeyError: for an unknown name.
    """
    if name in BUILT_IN:
        return import_module(f".{name}", __name__).ADAPTER
    for point in entry_points(group=ENTRY_POINTS, name=name):
        return point.load()
    raise KeyError(f"no format {name!r}; there are {', '.join(adapter_names())}")


def adapter_names() -> list[str]:
    """Names of all adapters, built-in ones first."""
    return [*BUILT_IN, *sorted({point.name for point in entry_points(group=ENTRY_POINTS)} - set(BUILT_IN))]


def detect(bundle: Bundle, names: Sequence[str] | None = None) -> Adapter | None:
    """The first adapter that knows the bundle, or None."""
    for name in names or adapter_names():
        candidate = adapter(name)
        if candidate.detect(bundle):
            return candidate
    return None


__all__ = [
    "BUILT_IN",
    "Adapter",
    "Bundle",
    "FolderBundle",
    "Item",
    "MemoryBundle",
    "RecordingBundle",
    "adapter",
    "adapter_names",
    "detect",
    "file_bundle",
]
