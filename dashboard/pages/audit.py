"""Audit: why episodes failed. Each category opens its episodes at the step that shows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import dash
import dash_mantine_components as dmc
from dash import Input, Output, dcc, html

from ...analysis import figures
from ...analysis.audit import CATEGORIES
from ..components.parts import card, graph, notice, toolbar
from ..source import Source

PATH = "/audit"
TITLE = "Audit"

_LISTED = 60
_DEFINITIONS = {category.name: category.definition for category in CATEGORIES}


def layout(source: Source, query: Mapping[str, str]) -> Any:
    """Which runs, the categories, and the episodes of one of them."""
    if source.sums.is_empty():
        return notice(
            "This store holds no run", "Bring one in with `mnistpro-replay ingest PATH`, then reload."
        )
    bar = toolbar(
        dmc.MultiSelect(
            id="audit-runs",
            label=f"runs (up to {Source.CLOSE})",
            data=source.sums["run"].to_list(),
            maxValues=Source.CLOSE,
            searchable=True,
            limit=50,
            w=620,
            value=[query["run"]] if query.get("run") else [],
            placeholder="chosen runs, else the first",
        ),
        dmc.SegmentedControl(
            id="audit-count",
            value="any",
            data=[
                {"value": "any", "label": "every category that applies"},
                {"value": "leads", "label": "the one that leads"},
            ],
        ),
        dmc.Select(
            id="audit-category",
            label="episodes of",
            data=list(_DEFINITIONS),
            value=query.get("category"),
            w=250,
            placeholder="the most frequent",
            clearable=True,
        ),
    )
    plot = card("Why episodes failed", graph("audit-bars", 470), note=html.Span(id="audit-note"))
    listed = card(
        "Episodes", html.Div(id="audit-list", className="episode-list"), note=html.Span(id="audit-definition")
    )
    return html.Div([bar, html.Div([plot, listed], className="columns")], className="page")


def register(app: dash.Dash, source: Source) -> None:
    """Add the callbacks."""

    @app.callback(
        Output("audit-bars", "figure"),
        Output("audit-note", "children"),
        Output("audit-list", "children"),
        Output("audit-definition", "children"),
        Input("audit-runs", "value"),
        Input("audit-count", "value"),
        Input("audit-category", "value"),
        Input("chosen", "data"),
        Input("scheme", "data"),
    )
    def show(runs: Any, count: str, category: Any, chosen: Any, scheme: Any) -> Any:
        rows, verdicts, looked_at = source.audit(source.close(runs, chosen), leads=count == "leads")
        plot = figures.bars(rows, title="share of failed episodes, 95 % interval")
        note = f"{len(verdicts):,} of {looked_at:,} episodes failed"
        category = category or next((row["name"] for row in sorted(rows, key=lambda row: -row["k"])), None)
        found = [v for v in verdicts if category in v.steps and (count == "any" or v.leads == category)]
        return (
            figures.themed(plot, dark=scheme == "dark"),
            note,
            _listed(found, category),
            _DEFINITIONS.get(category or "", ""),
        )

    @app.callback(
        Output("audit-category", "value"), Input("audit-bars", "clickData"), prevent_initial_call=True
    )
    def pick(clicked: Any) -> Any:
        return clicked["points"][0]["customdata"][2] if clicked else dash.no_update


def _listed(found: list[Any], category: str | None) -> Any:
    if not found:
        return html.P("No episode of this kind.", className="quiet")
    lines: list[Any] = [
        html.P(
            f"{category}: {len(found):,} episodes"
            + (f", the first {_LISTED}" if len(found) > _LISTED else ""),
            className="quiet",
        )
    ]
    for verdict in found[:_LISTED]:
        steps = verdict.steps[category]
        where = {
            "run": verdict.run,
            "episode": verdict.source_episode_id,
            **({"step": steps[0]} if steps else {}),
        }
        told = f"label {verdict.label}, answered {verdict.answer or 'nothing'}"
        at = f"step {steps[0]}" + (f" and {len(steps) - 1} more" if len(steps) > 1 else "") if steps else ""
        link = dcc.Link(
            [html.B(f"#{verdict.source_episode_id}"), html.Span(told), html.Span(at)],
            href=f"/episode?{urlencode(where)}",
            title=verdict.run,
        )
        lines.append(link)
    return lines
