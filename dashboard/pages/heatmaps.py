"""Heatmaps: where agents looked, by digit, run or outcome, and the difference of two groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dash
import dash_mantine_components as dmc
from dash import Input, Output, html

from ...analysis import figures
from ...analysis.visits import difference, geometries, visits
from ...schemas import Geometry
from ..components.parts import card, graph, notice, toolbar
from ..source import Source

PATH = "/heatmaps"
TITLE = "Heatmaps"

_OUTCOMES = [{"value": "right", "label": "right"}, {"value": "wrong", "label": "wrong"}]


def layout(source: Source, query: Mapping[str, str]) -> Any:
    """Two groups of episodes, A and B, their maps and the difference."""
    known = geometries(source.database)
    if not known:
        return notice(
            "No run here has a geometry",
            "Visits need window, stride and panel size; the logs of these runs do not say.",
        )
    sizes = [
        {
            "value": _text(g),
            "label": f"{g.n_panels} digit{'s' * (g.n_panels > 1)}, window {g.window}, stride {g.stride}",
        }
        for g in known
    ]
    bar = toolbar(
        dmc.Select(
            id="heat-geometry", label="world", data=sizes, value=sizes[0]["value"], allowDeselect=False, w=250
        ),
        *_group(source, "a", "wrong", query),
        *_group(source, "b", "right", query),
    )
    maps = [
        card(
            f"{name}: visits of each pixel", graph(f"heat-{key}", 300), note=html.Span(id=f"heat-{key}-note")
        )
        for key, name in (("a", "A"), ("b", "B"))
    ]
    delta = card(
        "A less B", graph("heat-difference", 340), note="red: more in B, blue: more in A; 0 in the middle"
    )
    return html.Div([bar, html.Div(maps, className="columns"), delta], className="page")


def _group(source: Source, key: str, outcome: str, query: Mapping[str, str]) -> list[Any]:
    name = key.upper()
    digits = [str(digit) for digit in range(10)]
    return [
        dmc.Select(
            id=f"heat-run-{key}",
            label=f"{name}: run",
            data=source.sums["run"].to_list(),
            value=query.get(f"run{key}"),
            clearable=True,
            searchable=True,
            limit=50,
            w=190,
            placeholder="all, or chosen",
        ),
        dmc.Select(
            id=f"heat-outcome-{key}",
            label=f"{name}: outcome",
            data=_OUTCOMES,
            value=outcome,
            clearable=True,
            w=145,
            placeholder="any",
        ),
        dmc.Select(
            id=f"heat-digit-{key}",
            label=f"{name}: digit",
            data=digits,
            clearable=True,
            w=80,
            placeholder="any",
        ),
    ]


def _text(geometry: Geometry) -> str:
    return f"{geometry.window},{geometry.stride},{geometry.panel},{geometry.n_panels}"


def register(app: dash.Dash, source: Source) -> None:
    """Add the callbacks."""

    @app.callback(
        *(Output(f"heat-{name}", "figure") for name in ("a", "b", "difference")),
        *(Output(f"heat-{key}-note", "children") for key in ("a", "b")),
        Input("heat-geometry", "value"),
        *(
            Input(f"heat-{field}-{key}", "value")
            for key in ("a", "b")
            for field in ("run", "outcome", "digit")
        ),
        Input("chosen", "data"),
        Input("scheme", "data"),
    )
    def draw(size: str, *given: Any) -> Any:
        window, stride, panel, n_panels = map(int, size.split(","))
        geometry = Geometry(window, stride, panel, n_panels)
        *fields, chosen, scheme = given
        groups = []
        for run, outcome, digit in (fields[:3], fields[3:]):
            runs = [run] if run else chosen
            groups.append(
                visits(source.database, geometry, {"runs": runs, "outcome": outcome, "label": digit})
            )
        title = "visits per<br>episode"
        plots = [
            figures.heatmap(g.per_episode, title=title)
            if g.n
            else figures.nothing("No such episode: widen the filters")
            for g in groups
        ]
        a, b = groups
        both = figures.heatmap(difference(a, b), diverging=True, title="more visits<br>per episode")
        plots.append(both if a.n and b.n else figures.nothing("A difference needs episodes in A and in B"))
        notes = [f"mean over {g.n:,} episodes" for g in groups]
        return *(figures.themed(plot, dark=scheme == "dark") for plot in plots), *notes
