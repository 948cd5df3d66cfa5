"""`ingest`: raw logs into the store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .context import (
    OPTIONS,
    NotHeld,
    UsageError,
    digits_from,
    emit,
    open_store,
    progress,
    say,
    show_diagnostics,
    show_table,
)

if TYPE_CHECKING:
    from ..traces.adapters import Adapter


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(ingest)


def ingest(
    paths: Annotated[
        list[Path], typer.Argument(help="Files or folders; several runs below one become several runs")
    ],
    name: Annotated[str | None, typer.Option(help="Name of the run; with several runs, a prefix")] = None,
    format: Annotated[str, typer.Option(help="Format, or auto to find out by content")] = "auto",
    mapping: Annotated[
        Path | None, typer.Option("--map", help="Mapping of a file of your own, see formats --explain")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 where there is a diagnostic")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Replace a run of the same name")] = False,
    digits: Annotated[
        Path | None, typer.Option("--digits-from", help="MNIST files to rebuild canvases from")
    ] = None,
) -> None:
    """Bring any runner's logs into the store."""
    from ..traces.adapters import adapter_names
    from ..traces.ingest import ingest as run_ingest

    for path in paths:
        if not path.exists():
            raise UsageError(f"no file or folder {path}")
    if format != "auto" and format not in adapter_names():
        raise UsageError(f"no format {format!r}; there are {', '.join(adapter_names())}")
    with progress("reading") as bar:
        report = run_ingest(
            open_store(create=True),
            paths,
            digits_from(digits),
            name=name,
            format=_mapped(mapping) if mapping else None if format == "auto" else format,
            replace=replace,
            progress=lambda source: bar.update(bar.task_ids[0], description=f"reading {source[-60:]}"),
        )
    diagnostics = report.all_diagnostics()
    rows = [
        {
            "run": run.run,
            "episodes": run.episodes,
            "steps": run.steps,
            "diagnostics": len(run.diagnostics),
            "state": "unchanged" if run.unchanged else "ingested",
        }
        for run in report.runs
    ]
    if OPTIONS.json:
        emit(
            {
                "runs": [row["run"] for row in rows],
                "episodes": sum(run.episodes for run in report.runs),
                "steps": sum(run.steps for run in report.runs),
                "diagnostics": [_plain(problem) for problem in diagnostics],
            }
        )
    else:
        columns = {
            "run": "run",
            "episodes": "episodes",
            "steps": "steps",
            "diagnostics": "diagnostics",
            "state": "",
        }
        show_table(rows, columns, right=("episodes", "steps", "diagnostics"))
    if diagnostics:
        show_diagnostics(diagnostics)
    if any(problem.code == "all_records_skipped" for problem in diagnostics):
        raise NotHeld("every record of a source was skipped; nothing of it could be read")
    if strict and diagnostics:
        raise NotHeld(f"{len(diagnostics)} diagnostics under --strict")
    if report.runs and not OPTIONS.json:
        say(f"next: mnistpro-replay verify --traces {report.runs[0].run}")


def _plain(problem: object) -> dict[str, object]:
    from dataclasses import asdict

    return asdict(problem)  # type: ignore[call-overload]


def _mapped(path: Path) -> Adapter:
    from ..traces.adapters.mapped import mapped_adapter
    from ..traces.adapters.mapped.mapping import MappingError

    try:
        return mapped_adapter(path)
    except MappingError as error:
        raise UsageError(str(error)) from error
