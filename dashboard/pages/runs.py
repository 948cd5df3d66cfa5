"""Runs: the overview. Filter, group, and choose what the other pages are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dash
import dash_mantine_components as dmc
from dash import Input, Output, State, html

from ...analysis import figures
from ...analysis.overview import GROUPINGS, gap_levels, matching, overview
from ..components.parts import card, column, graph, grid, notice, toolbar
from ..source import Source

PATH = "/"
TITLE = "Runs"

_GAP_RUNS = 50
"""Runs that a waterfall takes together at most: its intervals are bootstrapped while somebody waits."""

_COLUMNS = (
    column("name", "run or group", flex=3, minWidth=220, tooltipField="name"),
    column("model", "model", flex=1, minWidth=110, tooltipField="model"),
    column("condition", "condition", flex=1, minWidth=120, tooltipField="condition"),
    column("level", "digits", width=76, type="rightAligned"),
    column("n", "n", number=",d", width=86, hint="episodes"),
    column(
        "accuracy",
        "accuracy % [95 %]",
        width=155,
        type="rightAligned",
        hint="over scored episodes, Wilson interval",
        valueFormatter={"function": "mnistproInterval(params.data, 'accuracy')"},
    ),
    column("moves", "moves", number=".1f", width=82, hint="mean moves"),
    column("coverage", "ink seen", number=".0%", width=92, hint="mean share of stroke pixels seen"),
    column("revisit_rate", "revisits", number=".0%", width=92, hint="mean revisits per move"),
    column(
        "over_optimistic",
        "hasty % [95 %]",
        width=145,
        type="rightAligned",
        hint="stop quality: answered wrong with less than half of the budget used and half of a panel seen",
        valueFormatter={"function": "mnistproInterval(params.data, 'over_optimistic')"},
    ),
    column("error", "errors", number=",d", width=82, hint="episodes whose runner failed"),
)


def layout(source: Source, query: Mapping[str, str]) -> Any:
    """Filters, the table, and three figures about the rows in it."""
    if source.sums.is_empty():
        return notice(
            "This store holds no run", "Bring one in with `mnistpro-replay ingest PATH`, then reload."
        )
    values = {
        name: source.sums[name].drop_nulls().unique().sort().to_list()
        for name in ("model", "condition", "level")
    }
    filters = toolbar(
        dmc.TextInput(
            id="runs-text",
            label="search",
            placeholder="run, model or tag",
            w=180,
            debounce=250,
            value=query.get("text"),
        ),
        _select("runs-model", "model", values["model"], 160),
        _select("runs-condition", "condition", values["condition"], 160),
        _select("runs-level", "digits", [str(level) for level in values["level"]], 90),
        dmc.Select(
            id="runs-by", label="rows are", data=list(GROUPINGS), value="run", w=150, allowDeselect=False
        ),
        dmc.Button("Use selected rows", id="runs-choose", variant="light", disabled=True),
        dmc.Button("Use all", id="runs-clear", variant="subtle"),
        dmc.Text(id="runs-count", size="sm", c="dimmed", className="count"),
    )
    selection = {"rowSelection": {"mode": "multiRow", "enableClickSelection": True, "selectAll": "filtered"}}
    first = _shown(source, {}, "run", dark=False)
    table = grid(
        "runs",
        _COLUMNS,
        rowData=first[0],
        getRowId="params.data.name",
        settings={**selection, "pagination": len(first[0]) > 100, "paginationPageSize": 100},
    )
    plots = html.Div(
        [
            card("Accuracy and ink seen", graph("runs-scatter", 320), note="a point a row, 95 % interval"),
            card("Where accuracy is lost", graph("runs-gaps", 320), note=html.Span(id="runs-gaps-note")),
        ],
        className="columns",
    )
    outcomes = card(
        "How episodes ended", graph("runs-outcomes", 360), note="share of all episodes, first 24 rows"
    )
    block = html.Div(table, className="table-block", style={"height": min(len(first[0]), 10) * 32 + 38})
    return html.Div([filters, block, plots, outcomes], className="page")


def _select(id_: str, label: str, values: Sequence[str], width: int) -> Any:
    return dmc.Select(
        id=id_, label=label, data=list(values), w=width, clearable=True, searchable=True, placeholder="any"
    )


def _shown(source: Source, filters: Mapping[str, Any], by: str, *, dark: bool) -> tuple[Any, ...]:
    rows = overview(matching(source.sums, filters), by)
    plots = figures.accuracy_coverage(rows), figures.outcome_stacks(rows)
    episodes = sum(row["n"] for row in rows)
    return (
        rows,
        *(figures.themed(plot, dark=dark) for plot in plots),
        f"{len(rows):,} rows, {episodes:,} episodes",
    )


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
        filters = {
            "text": text,
            "model": model,
            "condition": condition,
            "level": int(level) if level else None,
        }
        return _shown(source, filters, by or "run", dark=scheme == "dark")

    @app.callback(
        Output("runs-gaps", "figure"),
        Output("runs-gaps-note", "children"),
        Input("runs", "selectedRows"),
        Input("runs", "rowData"),
        Input("scheme", "data"),
    )
    def gaps(selected: Any, rows: Any, scheme: Any) -> Any:
        picked = (selected or rows or [])[: None if selected else 1]
        runs = sorted({run for row in picked for run in row["runs"]})
        plot = figures.gap_waterfall(gap_levels(source.database, runs[:_GAP_RUNS]))
        what = f"{len(runs)} runs together" if len(runs) > 1 else figures.short(runs[0], 30) if runs else ""
        hint = " (first row; select others)" if not selected else ""
        return figures.themed(plot, dark=scheme == "dark"), what + hint

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
