"""Stopping: when agents end, what their evidence was worth then, and what one more glimpse would have brought."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dash
import dash_mantine_components as dmc
from dash import Input, Output, State, html

from ...analysis import drilldown_figures as plots
from ...analysis import figures
from ...analysis.drilldown import endings, risk_curves, stop_points
from ..components.drill import HINT, behind, episode_links
from ..components.parts import card, graph, notice, toolbar
from ..source import Source

PATH = "/stopping"
TITLE = "Stopping"

_FIGURES = ("endings", "sufficiency", "risk", "worth")
_THRESHOLDS = [{"value": str(value), "label": f"{value} %"} for value in (80, 90, 95)]


def layout(source: Source, query: Mapping[str, str]) -> Any:
    """A run, four figures, and the episodes behind a point."""
    if source.sums.is_empty():
        return notice(
            "This store holds no run", "Bring one in with `mnistpro-replay ingest PATH`, then reload."
        )
    bar = toolbar(
        dmc.Select(
            id="stopping-run",
            label="run",
            data=source.sums["run"].to_list(),
            value=query.get("run"),
            searchable=True,
            limit=50,
            w=480,
            placeholder="the first chosen run",
        ),
        dmc.Select(
            id="stopping-threshold",
            label="evidence suffices at",
            data=_THRESHOLDS,
            value="90",
            allowDeselect=False,
            w=150,
        ),
        dmc.Text(id="stopping-note", size="sm", c="dimmed", className="count"),
    )
    cards = [
        card("How episodes end", graph("stopping-endings", 320), note="competing causes, 95 % band"),
        card(
            "Too early, too late",
            graph("stopping-sufficiency", 320),
            note="below the line: went on although the evidence sufficed",
        ),
        card(
            "Does confidence know when it is right?",
            graph("stopping-risk", 320),
            note="AUGRC in brackets, lower is better",
        ),
        card("One more glimpse", graph("stopping-worth", 320), note="hindsight: knows the canvas"),
    ]
    listed = card(
        "Episodes",
        html.Div(
            html.P(HINT, className="quiet"), id="stopping-list", className="episode-list episode-list-low"
        ),
    )
    return html.Div([bar, html.Div(cards, className="columns"), listed], className="page")


def register(app: dash.Dash, source: Source) -> None:
    """Add the callbacks."""

    @app.callback(
        *(Output(f"stopping-{name}", "figure") for name in _FIGURES[:3]),
        Output("stopping-note", "children"),
        Input("stopping-run", "value"),
        Input("stopping-threshold", "value"),
        Input("chosen", "data"),
        Input("scheme", "data"),
    )
    def show(run: Any, threshold: str, chosen: Any, scheme: Any) -> Any:
        stops = source.stops(source.close([run] if run else None, chosen)[0])
        if not stops:
            empty = figures.themed(
                figures.nothing("No episode with label, canvas and windows"), dark=scheme == "dark"
            )
            return empty, empty, empty, "nothing to measure stopping on in this run"
        drawn = (
            plots.incidence(endings(stops)),
            plots.sufficiency(stop_points(stops), int(threshold)),
            plots.risk_coverage(risk_curves(stops)),
        )
        return *(
            figures.themed(plot, dark=scheme == "dark") for plot in drawn
        ), f"{len(stops):,} episodes of {stops[0].run}"

    @app.callback(
        Output("stopping-worth", "figure"),
        Input("stopping-run", "value"),
        Input("chosen", "data"),
        Input("scheme", "data"),
    )
    def one_more(run: Any, chosen: Any, scheme: Any) -> Any:
        rows = source.worths(source.close([run] if run else None, chosen)[0])
        return figures.themed(plots.worth(rows), dark=scheme == "dark")

    @app.callback(
        Output("stopping-list", "children"),
        *(Input(f"stopping-{name}", "clickData") for name in _FIGURES),
        State("stopping-run", "value"),
        State("chosen", "data"),
        prevent_initial_call=True,
    )
    def listed(*given: Any) -> Any:
        *_, run, chosen = given
        clicked = dash.callback_context.triggered[0]["value"]
        if not clicked:
            return html.P(HINT, className="quiet")
        return episode_links(source.close([run] if run else None, chosen)[0], *behind(clicked))
