"""Beliefs: what thoughts state against what the evidence says, when they change, and when they should have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dash
import dash_mantine_components as dmc
from dash import Input, Output, State, html

from ...analysis import drilldown_figures as plots
from ...analysis import figures
from ...analysis.drilldown import belief_view
from ..components.drill import HINT, behind, episode_links
from ..components.parts import card, graph, notice, toolbar
from ..source import Source

PATH = "/beliefs"
TITLE = "Beliefs"

_FIGURES = ("events", "rates", "latency", "lags")


def layout(source: Source, query: Mapping[str, str]) -> Any:
    """A run, four figures, and the episodes behind a bar."""
    if source.sums.is_empty():
        return notice(
            "This store holds no run", "Bring one in with `mnistpro-replay ingest PATH`, then reload."
        )
    bar = toolbar(
        dmc.Select(
            id="beliefs-run",
            label="run",
            data=source.sums["run"].to_list(),
            value=query.get("run"),
            searchable=True,
            limit=50,
            w=480,
            placeholder="the first chosen run",
        ),
        dmc.Text(id="beliefs-note", size="sm", c="dimmed", className="count"),
    )
    cards = [
        card(
            "How beliefs changed",
            graph("beliefs-events", 320),
            note="blue: for the better, orange: for the worse",
        ),
        card("Rates", graph("beliefs-rates", 320), note="95 % interval, count in the bar"),
        card(
            "How long a refuted belief stood", graph("beliefs-latency", 320), note="Kaplan–Meier, 95 % band"
        ),
        card(
            "Belief behind the evidence",
            graph("beliefs-lags", 320),
            note="reference reader on the same evidence",
        ),
    ]
    listed = card(
        "Episodes",
        html.Div(
            html.P(HINT, className="quiet"), id="beliefs-list", className="episode-list episode-list-low"
        ),
    )
    return html.Div([bar, html.Div(cards, className="columns"), listed], className="page")


def register(app: dash.Dash, source: Source) -> None:
    """Add the callbacks."""

    @app.callback(
        *(Output(f"beliefs-{name}", "figure") for name in _FIGURES),
        Output("beliefs-note", "children"),
        Input("beliefs-run", "value"),
        Input("chosen", "data"),
        Input("scheme", "data"),
    )
    def show(run: Any, chosen: Any, scheme: Any) -> Any:
        run = source.close([run] if run else None, chosen)[0]
        source.read_each(run)
        view = belief_view(source.cases(run))
        drawn = (
            plots.belief_events(view["events"]),
            figures.bars(view["rates"], title="share"),
            plots.latency(view["latency"]),
            plots.lags(view["lags"]),
        )
        note = f"{view['n']:,} episodes with thoughts of {run}"
        return *(figures.themed(plot, dark=scheme == "dark") for plot in drawn), note

    @app.callback(
        Output("beliefs-list", "children"),
        *(Input(f"beliefs-{name}", "clickData") for name in ("events", "latency", "lags")),
        State("beliefs-run", "value"),
        State("chosen", "data"),
        prevent_initial_call=True,
    )
    def listed(*given: Any) -> Any:
        *_, run, chosen = given
        clicked = dash.callback_context.triggered[0]["value"]
        if not clicked:
            return html.P(HINT, className="quiet")
        return episode_links(source.close([run] if run else None, chosen)[0], *behind(clicked))
