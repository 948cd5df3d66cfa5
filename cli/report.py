"""`figure` and `report`: figures and a page, from traces."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .analyze import open_database
from .context import OPTIONS, UsageError, emit, open_store_for, say, select
from .replay import Traces

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from ..analysis.database import Database
    from ..schemas.metrics import Posterior


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(figure)
    app.command()(report)


def figure(
    name: Annotated[str, typer.Argument(help="3a, 3b, 3c, 4a, 4b or gaps")],
    traces: Traces = None,
    out: Annotated[Path | None, typer.Option(help="HTML; PNG or SVG need the extra images")] = None,
    form: Annotated[str, typer.Option("--format", help="html, or json for the numbers")] = "html",
) -> None:
    """Draw a figure of the paper from traces."""
    from ..analysis.paper_figures import FIGURES, plain

    if name not in FIGURES:
        raise UsageError(f"no figure {name!r}; there are {', '.join(FIGURES)}")
    if form not in ("html", "json"):
        raise UsageError(f"no format {form!r}; there are html, json")
    chosen = FIGURES[name]
    rows = chosen.rows(_database(traces, "last" if name == "gaps" else "none"))
    if OPTIONS.json or form == "json":
        emit({"rows": plain(rows)})
    if OPTIONS.json or form == "json":
        return
    path = out or Path(f"figure-{name}.html")
    _write(path, chosen.draw(rows), f"{chosen.title}. {chosen.definition}")
    say(f"wrote {path}")


def _write(path: Path, drawn: go.Figure, caption: str) -> None:
    from ..analysis.figures import themed

    drawn = themed(drawn)
    drawn.update_layout(title={"text": caption, "font": {"size": 12}}, margin={"t": 90})
    if path.suffix == ".html":
        path.write_text(drawn.to_html(include_plotlyjs=True, config={"displaylogo": False}), encoding="utf-8")
    elif path.suffix in (".png", ".svg"):
        from ..schemas.extras import require

        require("kaleido", "images")
        drawn.write_image(path, width=1000, height=600, scale=2)
    else:
        raise UsageError(f"{path.name}: the ending must be .html, .png or .svg")


def report(
    traces: Traces = None,
    out: Annotated[Path, typer.Option(help="HTML file to write")] = Path("report.html"),
    title: Annotated[str, typer.Option(help="Heading of the page")] = "Trajectory report",
) -> None:
    """Write one self-contained HTML page about runs."""
    from ..analysis.report import report as build

    database = _database(traces, "each")
    out.write_text(build(database, title), encoding="utf-8")
    if OPTIONS.json:
        emit({"out": str(out), "runs": [run for run, _ in database.selected]})
    say(f"wrote {out}")


def _database(traces: list[str] | None, posterior: Posterior) -> Database:
    store = open_store_for(traces or [])
    selections = select(store, traces or [])
    return open_database(store, [(chosen.run, chosen.ids) for chosen in selections], posterior)
