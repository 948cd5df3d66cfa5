"""`export`: the store in another tool's format."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .context import OPTIONS, UsageError, emit, open_store, progress, say, select
from .formats import EXPORTS

if TYPE_CHECKING:
    from ..traces.adapters.export import Export
    from ..traces.store import Store


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(export)


def export(
    out: Annotated[Path, typer.Option(help="Folder to write to")],
    traces: Annotated[list[str], typer.Option(help="Runs, globs, RUN#ids or paths")] = [],  # noqa: B006
    format: Annotated[str, typer.Option(help="|".join(EXPORTS))] = "jsonl",
    redact: Annotated[
        bool, typer.Option("--redact", help="Take paths and secrets out of every text")
    ] = False,
) -> None:
    """Write runs in another tool's format."""
    from ..traces.adapters.export import Export

    if format not in EXPORTS:
        raise UsageError(f"no export format {format!r}; there are {', '.join(EXPORTS)}")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} is there already; give a new or an empty folder")
    store = open_store()
    chosen = select(store, traces)
    columns = _columns(store, [selection.run for selection in chosen]) if format == "jsonl" else {}
    exports = [Export(store, store.run(s.run), s.ids, redact, columns.get(s.run)) for s in chosen]
    with progress("writing"):
        written = _write(format, exports, out)
    if OPTIONS.json:
        emit(
            {
                "runs": [item.run.run for item in exports],
                "episodes": written,
                "format": format,
                "out": str(out),
            }
        )
    else:
        say(f"{written} episodes of {len(exports)} run(s) in {out}")


def _write(format: str, exports: list[Export], out: Path) -> int:
    write = import_module(f"..traces.adapters.{format}.write", __package__).write
    # The tables of all runs are one set of files; the other formats have files of their own a run.
    if format == "parquet":
        return write(exports, out)
    several = len(exports) > 1 and format == "atif"
    return sum(write(item, out / item.run.run.replace("/", "_") if several else out) for item in exports)


def _columns(store: Store, runs: list[str]) -> dict[str, Callable[[str], dict[str, Any]]]:
    """Official and our metrics by run: a look-up by episode id."""
    import polars as pl

    from ..analysis.metrics import ensure

    ensure(store, runs)
    rows = store.scan("episode_metrics").filter(pl.col("run").is_in(runs)).collect()
    found: dict[str, dict[str, dict[str, Any]]] = {run: {} for run in runs}
    for row in rows.to_dicts():
        row["metric_reasons"] = json.loads(row.pop("reasons") or "{}")  # `reasons` are the episode's own
        keys = ("run", "episode_id", "ingest_id")
        found[row["run"]][row["episode_id"]] = {k: v for k, v in row.items() if k not in keys}
    return {run: lambda episode, of=by_id: of.get(episode, {}) for run, by_id in found.items()}
