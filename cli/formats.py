"""`formats`: which log formats are read and written, and what a file looks like to us."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .context import OPTIONS, NotHeld, UsageError, emit, say, show_table

if TYPE_CHECKING:
    from ..traces.adapters.mapped.explain import Explanation

EXPORTS = ("jsonl", "parquet", "inspect", "atif", "minari")


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(formats)


def formats(
    explain: Annotated[
        Path | None, typer.Option(help="Say what this file or folder looks like to us")
    ] = None,
    write_map: Annotated[
        Path | None, typer.Option("--write-map", help="With --explain: write a first mapping to edit")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Write over a mapping that is there")] = False,
) -> None:
    """List the log formats, or explain a file."""
    if explain is None:
        if write_map is not None:
            raise UsageError("--write-map needs --explain FILE")
        _list()
        return
    if not explain.exists():
        raise UsageError(f"no file or folder {explain}")
    _explain(explain, write_map, replace)


def _list() -> None:
    from ..traces.adapters import adapter, adapter_names

    rows = []
    for name in adapter_names():
        known = adapter(name)
        rows.append(
            {
                "format": name,
                "description": known.description,
                "ingest": True,
                "export": name in EXPORTS,
                "extra": known.extra,
            }
        )
    if OPTIONS.json:
        emit(rows)
        return
    show_table(rows, {"format": "format", "description": "what", "export": "export", "extra": "extra"})
    say(
        "Anything else: mnistpro-replay formats --explain FILE --write-map MAP.toml, then ingest FILE --map MAP.toml"
    )


def _explain(path: Path, write_map: Path | None, replace: bool) -> None:
    from ..traces.adapters.mapped.explain import explain

    told = explain(path)
    if write_map is not None:
        _write(told, write_map, replace)
    if OPTIONS.json:
        emit(_payload(told))
    elif told.adapter is not None:
        _show_known(told)
    else:
        _show_rows(told)
    if told.adapter is None and told.mapping is None:
        raise NotHeld(f"nothing is known of {path}: neither a known format nor rows of JSON, CSV or Parquet")


def _write(told: Explanation, path: Path, replace: bool) -> None:
    if told.mapping is None:
        why = f"it is known already ({told.adapter.name})" if told.adapter else "it has no rows"
        raise UsageError(f"no mapping for {told.path}: {why}")
    if path.exists() and not replace:
        raise UsageError(f"there is a file {path} already; --replace writes over it")
    path.write_text(told.mapping, encoding="utf-8")
    say(f"wrote {path}; edit it, then: mnistpro-replay ingest {told.path} --map {path}")


def _payload(told: Explanation) -> Mapping[str, Any]:
    return {
        "path": told.path,
        "format": told.adapter.name if told.adapter else None,
        "kind": told.kind,
        "runs": [run.run for run in told.runs],
        "episodes": len(told.episodes),
        "diagnostics": dict(told.codes),
        "fields": told.fields,
        "missed": told.missed,
        "unused": told.unused,
        "mapping": told.mapping,
    }


def _show_known(told: Explanation) -> None:
    assert told.adapter is not None
    say(f"{told.path}: {told.adapter.name}, {told.adapter.description}")
    if told.adapter.extra and told.codes.get("not_supported"):
        say(f"it may need the extra {told.adapter.extra!r}")
    for run in told.runs:
        geometry = run.geometry()
        where = f"{geometry}" if geometry else "geometry unknown"
        say(f"  run {run.run}: model {run.model or 'unknown'}, {where}")
    steps = sum(len(episode.steps) for episode in told.episodes)
    known = sum(episode.windows() is not None for episode in told.episodes)
    labels = sum(episode.label is not None for episode in told.episodes)
    n = len(told.episodes)
    say(f"  first {n} episodes: {steps} steps, windows known in {known}, labels in {labels}")
    for code, count in told.codes.most_common():
        say(f"  {count} x {code}")


def _show_rows(told: Explanation) -> None:
    if told.kind is None:
        return
    say(f"{told.path}: no known format, but rows of {told.kind}")
    rows = [{"field": name, "path": path} for name, path in told.fields.items()]
    show_table(rows, {"field": "our field", "path": "where"}, title="recognised")
    missed = [{"field": name, "then": then} for name, then in told.missed.items()]
    if missed:
        show_table(missed, {"field": "our field", "then": "without it"}, title="missed")
    if told.unused:
        say(f"not used: {', '.join(told.unused[:20])}")
    say("--write-map FILE.toml writes this as a mapping to edit")
