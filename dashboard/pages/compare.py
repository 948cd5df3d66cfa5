"""Compare: two to four runs on the same canvas, side by side or two paths over one canvas, one scrubber for all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dash
import dash_mantine_components as dmc
from dash import Input, Output, State, dcc, html

from ...analysis.pairs import shared_worlds
from ..components.parts import notice, toolbar
from ..source import Source

PATH = "/compare"
TITLE = "Compare"

_MARK = {True: "✓", False: "✗", None: "–"}


def layout(source: Source, query: Mapping[str, str]) -> Any:
    """Choice of runs and of a world; the picture is drawn in the browser."""
    if source.sums.height < 2:
        return notice(
            "Two runs are needed", "Bring another one in with `mnistpro-replay ingest PATH`, then reload."
        )
    asked = [query[name] for name in ("run", "run2", "run3", "run4") if query.get(name)]
    bar = toolbar(
        dmc.MultiSelect(
            id="compare-runs",
            label="two to four runs",
            data=source.sums["run"].to_list(),
            value=asked,
            maxValues=4,
            searchable=True,
            limit=50,
            w=520,
            placeholder="runs",
        ),
        dmc.Select(
            id="compare-world", label="canvas", searchable=True, w=220, value=query.get("world"), limit=100
        ),
        dmc.SegmentedControl(
            id="compare-view",
            data=[{"value": "side", "label": "side by side"}, {"value": "over", "label": "over one canvas"}],
            value=query.get("view", "side"),
        ),
        dmc.Text(id="compare-note", size="sm", c="dimmed", className="count"),
    )
    return html.Div(
        [bar, dcc.Store(id="compare-pick"), html.Div(id="compare", className="compare")], className="page"
    )


def register(app: dash.Dash, source: Source) -> None:
    """Add the callbacks."""

    @app.callback(
        Output("compare-runs", "value"),
        Input("chosen", "data"),
        State("compare-runs", "value"),
    )
    def begin(chosen: Any, value: Any) -> Any:
        if value:
            return dash.no_update
        return _first_pair(source, chosen)

    @app.callback(
        Output("compare-world", "data"),
        Output("compare-world", "value"),
        Output("compare-note", "children"),
        Output("compare-pick", "data"),
        Input("compare-runs", "value"),
        Input("compare-world", "value"),
    )
    def worlds(runs: Any, world: Any) -> Any:
        if not runs or len(runs) < 2:
            return [], None, "Choose at least two runs.", None
        rows = shared_worlds(source.database, runs)
        if not rows:
            return [], None, "These runs share no world (same canvas, start and geometry).", None
        options = [{"value": row["world_key"], "label": _name(row)} for row in rows]
        row = next((row for row in rows if row["world_key"] == world), rows[0])
        note = f"{len(rows)} of {row['n_worlds']} worlds shared"
        return options, row["world_key"], note, [[e["run"], e["id"]] for e in row["episodes"]]

    app.clientside_callback(
        dash.ClientsideFunction("mnistpro", "mountCompare"),
        Output("compare", "title"),
        Input("compare-pick", "data"),
        Input("compare-view", "value"),
    )


def _first_pair(source: Source, chosen: list[str] | None) -> list[str]:
    """The chosen runs, or the first two runs that share a world."""
    names = (chosen or source.sums["run"].to_list())[:12]
    if chosen and 2 <= len(names) <= 4:
        return names
    pairs = ([a, b] for i, a in enumerate(names) for b in names[i + 1 :])
    return next((pair for pair in pairs if shared_worlds(source.database, pair)), names[:2])


def _name(row: Mapping[str, Any]) -> str:
    marks = "".join(_MARK[episode["correct"]] for episode in row["episodes"])
    return f"#{row['episodes'][0]['id']}  label {row['label']}  {marks}"
