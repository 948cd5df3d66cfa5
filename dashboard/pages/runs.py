"""Runs: the overview. Filter, group, and choose what the other pages are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dash
import dash_mantine_components as dmc
import polars as pl
from dash import Input, Output, State, dcc, html

from ...analysis import figures
from ...analysis.overview import GROUPINGS, gap_levels, matching, overview, with_intervals
from ..components.parts import card, column, graph, grid, notice, toolbar
from ..source import Source

PATH = "/"
TITLE = "Runs"

_GAP_RUNS = 50
"""Runs that a waterfall takes together at most: its intervals are bootstrapped while somebody waits."""

_POINTS = 400
"""Points that the scatter shows at most, spread evenly over the rows."""
_WHISKERS = 60
"""Rows up to which the scatter has whiskers: with more they cover one another."""

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
            debounce=200,
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
    table = grid(
        "runs",
        _COLUMNS,
        infinite=True,
        getRowId="params.data.name",
        settings={
            "rowSelection": {"mode": "multiRow", "enableClickSelection": True, "headerCheckbox": False}
        },
    )
    block = html.Div(table, className="table-block", style={"height": min(source.sums.height, 10) * 32 + 40})
    return html.Div(
        [
            dcc.Store(id="runs-shown"),
            dcc.Store(id="runs-settled"),
            filters,
            block,
            html.Div(id="runs-figures"),
        ],
        className="page",
    )


def _figures() -> list[Any]:
    """Cards of the figures; they come after the table, for Plotly's script takes longer than its rows."""
    note = html.Span("a point a row, 95 % interval", id="runs-scatter-note")
    pair = [
        card("Accuracy and ink seen", graph("runs-scatter", 320), note=note),
        card("Where accuracy is lost", graph("runs-gaps", 320), note=html.Span(id="runs-gaps-note")),
    ]
    outcomes = card(
        "How episodes ended", graph("runs-outcomes", 360), note="share of all episodes, first 24 rows"
    )
    return [html.Div(pair, className="columns"), outcomes]


def _select(id_: str, label: str, values: Sequence[str], width: int) -> Any:
    return dmc.Select(
        id=id_, label=label, data=list(values), w=width, clearable=True, searchable=True, placeholder="any"
    )


def _rows(source: Source, text: Any, model: Any, condition: Any, level: Any, by: Any) -> pl.DataFrame:
    filters = {"text": text, "model": model, "condition": condition, "level": int(level) if level else None}
    return overview(matching(source.sums, filters), by or "run")


def register(app: dash.Dash, source: Source) -> None:
    """Add the callbacks."""
    _register_table(app, source)
    _register_figures(app, source)
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


def _register_table(app: dash.Dash, source: Source) -> None:
    names = ("text", "model", "condition", "level", "by")
    filters = [Input(f"runs-{name}", "value") for name in names]

    app.clientside_callback(
        dash.ClientsideFunction("mnistpro", "refillRuns"),
        Output("runs-count", "title"),
        *filters,
        prevent_initial_call=True,
    )

    @app.callback(
        Output("runs", "getRowsResponse"),
        Output("runs-count", "children"),
        Output("runs-shown", "data"),
        Input("runs", "getRowsRequest"),
        *(State(f"runs-{name}", "value") for name in names),
        prevent_initial_call=True,
    )
    def page(asked: Any, *given: Any) -> Any:
        rows = _rows(source, *given)
        for part in reversed(asked.get("sortModel") or []):
            down = part["sort"] == "desc"
            rows = rows.sort(part["colId"], descending=down, nulls_last=True, maintain_order=True)
        shown = with_intervals(rows.slice(asked["startRow"], asked["endRow"] - asked["startRow"]))
        count = f"{rows.height:,} rows, {rows['n'].sum():,} episodes"
        # Figures wait for the table, and are not drawn again when it scrolls.
        first = given if asked["startRow"] == 0 and not asked.get("sortModel") else dash.no_update
        return {"rowData": shown, "rowCount": rows.height}, count, first

    app.clientside_callback(  # the table is painted before the figures take the browser's time
        "shown => new Promise(done => setTimeout(() => done(shown), 400))",
        Output("runs-settled", "data"),
        Input("runs-shown", "data"),
        prevent_initial_call=True,
    )


def _register_figures(app: dash.Dash, source: Source) -> None:
    @app.callback(
        Output("runs-figures", "children"),
        Input("runs-settled", "data"),
        State("runs-figures", "children"),
        prevent_initial_call=True,
    )
    def begin(given: Any, there: Any) -> Any:
        return dash.no_update if there else _figures()

    @app.callback(
        Output("runs-scatter", "figure"),
        Output("runs-scatter-note", "children"),
        Output("runs-outcomes", "figure"),
        Input("runs-settled", "data"),
        Input("scheme", "data"),
    )
    def draw(given: Any, scheme: Any) -> Any:
        if given is None:
            raise dash.exceptions.PreventUpdate
        rows = _rows(source, *given)
        every = max(1, -(-rows.height // _POINTS))
        some = with_intervals(rows.gather_every(every))
        if len(some) > _WHISKERS:
            some = [{**row, "accuracy_low": None, "accuracy_high": None} for row in some]
        note = f"a point a row, {'95 % interval' if len(some) <= _WHISKERS else 'n where the pointer is'}"
        note = note if every == 1 else f"every {every}th row"
        stacks = figures.outcome_stacks(rows.head(24).to_dicts())
        dark = scheme == "dark"
        return (
            figures.themed(figures.accuracy_coverage(some), dark=dark),
            note,
            figures.themed(stacks, dark=dark),
        )

    @app.callback(
        Output("runs-gaps", "figure"),
        Output("runs-gaps-note", "children"),
        Input("runs", "selectedRows"),
        Input("runs-settled", "data"),
        Input("scheme", "data"),
    )
    def gaps(selected: Any, given: Any, scheme: Any) -> Any:
        if given is None:
            raise dash.exceptions.PreventUpdate
        picked = selected or _rows(source, *given).head(1).to_dicts()
        runs = sorted({run for row in picked for run in row["runs"]})
        plot = figures.gap_waterfall(gap_levels(source.database, runs[:_GAP_RUNS]))
        what = f"{len(runs)} runs together" if len(runs) > 1 else figures.short(runs[0], 30) if runs else ""
        hint = " (first row; select others)" if not selected else ""
        return figures.themed(plot, dark=scheme == "dark"), what + hint
