"""Canonical episodes as JSON lines: one object an episode, with everything that belongs to it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from ....schemas import Canvas, Episode, Image
from ..export import Export, Part, redacted
from .records import to_plain

_CHILDREN = ("steps", "step_texts", "attempts", "tool_calls", "notes")


def write(export: Export, out: Path) -> int:
    """Write `<out>/<run>.jsonl`; returns the number of episodes.

    Columns that the caller hands in (official and our metrics) stand beside the episode's own. Values that are not
    finite become null, lone surrogates are escaped: every line is strict JSON.
    """
    out.mkdir(parents=True, exist_ok=True)
    written = 0
    with (out / f"{export.run.run.replace('/', '_')}.jsonl").open("w", encoding="ascii") as file:
        for part in export.parts():
            for episode in part.episodes:
                file.write(json.dumps(_record(part, episode), default=str) + "\n")
                written += 1
    return written


def _record(part: Part, episode: Episode) -> dict[str, Any]:
    export = part.export
    columns = export.columns(episode.episode_id) if export.columns else {}
    record = {"run": export.run.run, **to_plain(episode), **columns}
    record |= {name: [to_plain(item) for item in getattr(episode, name)] for name in _CHILDREN}
    record["condition"] = to_plain(export.run)
    record = finite(redacted(record) if export.redact else record)
    if episode.canvas:
        record["canvas_png"] = next(_canvases(part, episode.canvas), None)
    record["images"] = [to_plain(Image(image=k, data=d)) for k, d in _pictures(part, episode)]
    return record


def _canvases(part: Part, digest: str) -> Iterator[dict[str, Any]]:
    rows = part.export.store.raw("canvases").filter(pl.col("canvas") == digest).collect()
    for row in rows.to_dicts():
        yield to_plain(Canvas(**row))


def _pictures(part: Part, episode: Episode) -> Iterator[tuple[str, bytes]]:
    for digest in dict.fromkeys(glimpse.image for glimpse in episode.reached()):
        if digest in part.images:
            yield digest, part.images[digest]


def finite(value: Any) -> Any:
    """The value with NaN and infinities as null."""
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, dict):
        return {name: finite(item) for name, item in value.items()}
    return [finite(item) for item in value] if isinstance(value, (list, tuple)) else value
