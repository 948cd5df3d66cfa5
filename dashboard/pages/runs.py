"""Runs: the overview. Filter, group, and choose what the other pages are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dash
import dash_mantine_components as dmc
from dash import Input, Output, State, html

from ...analysis import figures
from ...analysis.overview import GROUPINGS, matching, overview
from ..components.parts import card, column, graph, grid, notice, toolbar
from ..source import Source

PATH = "/"
TITLE = "Runs"

_COLUMNS = (
    column("name", "run or group", flex=3, minWidth=220, tooltipField="name", checkboxSelection=False),
    column("model", "model", flex=1, minWidth=110, tooltipField="model"),
    column("condition", "condition", flex=1, minWidth=120, tooltipField="condition"),
    column("level", "digits", width=76, type="rightAligned"),
    column("n", "n", number=",d", width=86, hint="episodes"),
    column("accuracy", "accuracy [95 %]", width=160, type="rightAligned", hint="over scored episodes, Wilson interval",
           valueFormatter={"function": "mnistproInterval(params.data, 'accuracy')"}),
    column("moves", "moves", number=".1f", width=82, hint="mean moves"),
    column("coverage", "ink seen", number=".0%", width=92, hint="mean share of stroke pixels seen"),
    column("revisit_rate", "revisits", number=".0%", width=92, hint="mean revisits per move"),
    column("over_optimistic", "hasty [95 %]", width=150, type="rightAligned",
           hint="stop quality: answered wrong with less than half of the budget used and half of a panel seen",
           valueFormatter={"function": "mnistproInterval(params.data, 'over_optimistic')"}),
    column("error", "errors", number=",d", width=82, hint="episodes whose runner failed"),
)


def layout(source: Source, query: Mapping[str, str]) -> Any:
    """Filters, the table, and three figures about the rows in it."""
    if source.sums.is_empty():
        return notice("This store holds no run", "Bring one in with `mnistpro-replay ingest PATH`, then reload.")
    values = {name: source.sums[name].drop_nulls().unique().sort().to_list() for name in ("model", "condition", "level")}
    filters = toolbar(
        dmc.TextInput(id="runs-text", label="search", placeholder="run, model or tag", w=200, debounce=250, value=query.get("text")),
        _select("runs-model", "model", values["model"], 190),
        _select("runs-condition", "condition", values["condition"], 190),
        _select("runs-level", "digits", [str(level) for level in values["level"]], 90),
        dmc.Select(id="runs-by", label="rows are", data=list(GROUPINGS), value="run", w=170, allowDeselect=False),
        dmc.Button("All pages: use selected rows", id="runs-choose", variant="light", disabled=True),
        dmc.Button("use all runs", id="runs-clear", variant="subtle"),
        dmc.Text(id="runs-count", size="sm", c="dimmed", className="count"),
    )
    selection = {"rowSelection": {"mode": "multiRow", "enableClickSelection": True, "selectAll": "filtered"}}
    first = _shown(source, {}, "run", dark=False)
    table = grid("runs", _COLUMNS, rowData=first[0], getRowId="params.data.name", settings={**selection, "pagination": True, "paginationPageSize": 100})
    plots = html.Div(
        [
            card("Accuracy and ink seen", graph("runs-scatter", 300), note="a point a row, 95 % interval"),
            card("How episodes ended", graph("runs-outcomes", 300), note="share of all episodes"),
        ],
        className="columns",
    )
    return html.Div([filters, html.Div(table, className="table-block"), plots], className="page")


def _select(id_: str, label: str, values: Sequence[str], width: int) -> Any:
    return dmc.Select(id=id_, label=label, data=list(values), w=width, clearable=True, searchable=True, placeholder="any")


def _shown(source: Source, filters: Mapping[str, Any], by: str, *, dark: bool) -> tuple[Any, ...]:
    rows = overview(matching(source.sums, filters), by)
    plots = figures.accuracy_coverage(rows), figures.outcome_stacks(rows)
    episodes = sum(row["n"] for row in rows)
    return rows, *(figures.themed(plot, dark=dark) for plot in plots), f"{len(rows):,} rows, {episodes:,} episodes"


def register(app: dash.Dash, source: Source) -> None:
    """Add the callbacks."""

    @app.callback(
        Output("runs", "rowData"),
        Output("runs-scatter", "figure"),
        Output("runs-outcomes", "figure"),
        Output("runs-count", "children"),
        Input("runs-text", "value"),
        Input("runs-model", "value"),
        Input("runs-condition", "value"),
        Input("runs-level", "value"),
        Input("runs-by", "value"),
        Input("scheme", "data"),
    )
    def show(text: Any, model: Any, condition: Any, level: Any, by: Any, scheme: Any) -> Any:
        filters = {"text": text, "model": model, "condition": condition, "level": int(level) if level else None}
        return _shown(source, filters, by or "run", dark=scheme == "dark")

    app.clientside_callback(
        dash.ClientsideFunction("mnistpro", "chooseRuns"),
        Output("chosen", "data"),
        Input("runs-choose", "n_clicks"),
        Input("runs-clear", "n_clicks"),
        State("runs", "selectedRows"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        "rows => !(rows && rows.length)", Output("runs-choose", "disabled"), Input("runs", "selectedRows")
    )
