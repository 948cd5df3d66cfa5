"""Building blocks of pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dash_ag_grid as dag
import dash_mantine_components as dmc
from dash import dcc, html

_THEME = (
    "themeQuartz.withParams({accentColor: '#0b7285', fontFamily: 'inherit', fontSize: 13, "
    "headerFontWeight: 600, cellHorizontalPadding: 10, wrapperBorderRadius: 8, "
    "backgroundColor: 'var(--mp-card)', foregroundColor: 'var(--mp-text)', borderColor: 'var(--mp-edge)', "
    "headerBackgroundColor: 'var(--mp-card)', oddRowBackgroundColor: 'var(--mp-card)'})"
)


def notice(title: str, hint: str, *, tone: str = "gray") -> Any:
    """What stands where there is nothing to show: what is the case, and what to do."""
    return dmc.Alert(
        dmc.Text(hint, size="sm"), title=title, color=tone, variant="light", m="md", className="notice"
    )


def aria(label: str) -> Any:
    """The attribute that names an element for those who do not see it."""
    return {"aria-label": label}


def card(title: str, *children: Any, note: Any = None, grow: bool = False) -> Any:
    """A titled panel; `note` stands small beside the title."""
    head = html.Div([html.H3(title), html.Span(note, className="card-note")], className="card-head")
    return html.Section([head, *children], className="card card-grow" if grow else "card", **aria(title))


def graph(id_: Any, height: int | str = 320) -> Any:
    """A Plotly graph that fills its card, with a loading mark."""
    config: Any = {
        "displaylogo": False,
        "modeBarButtonsToRemove": ["lasso2d", "select2d", "autoScale2d"],
        "responsive": True,
    }
    return dcc.Loading(
        dcc.Graph(id=id_, config=config, style={"height": height}),
        type="dot",
        color="#0b7285",
        delay_show=300,
    )


def toolbar(*children: Any) -> Any:
    """A line of inputs above a page."""
    return dmc.Group(list(children), gap="sm", align="end", className="toolbar")


def grid(
    id_: Any,
    columns: Sequence[dict[str, Any]],
    *,
    infinite: bool = False,
    height: str = "100%",
    **options: Any,
) -> Any:
    """A table; with `infinite` its rows come from the server a page at a time."""
    settings = {
        "theme": {"function": _THEME},
        "rowHeight": 32,
        "headerHeight": 34,
        "enableCellTextSelection": True,
        "tooltipShowDelay": 400,
        "animateRows": False,
        **options.pop("settings", {}),
    }
    if infinite:
        settings |= {"cacheBlockSize": 100, "maxBlocksInCache": 20, "infiniteInitialRowCount": 1}
        options["rowModelType"] = "infinite"
    return dag.AgGrid(
        id=id_,
        columnDefs=list(columns),
        defaultColDef={"sortable": True, "resizable": True, "suppressHeaderMenuButton": True},
        dashGridOptions=settings,
        style={"height": height, "width": "100%"},
        **options,
    )


def column(field: str, title: str, *, number: str | None = None, **options: Any) -> dict[str, Any]:
    """A column of a table; `number` is a d3 format for its values."""
    made: dict[str, Any] = {
        "field": field,
        "headerName": title,
        "headerTooltip": options.pop("hint", title),
        **options,
    }
    if number is not None:
        made |= {
            "type": "rightAligned",
            "valueFormatter": {
                "function": f"params.value == null ? '–' : d3.format('{number}')(params.value)"
            },
        }
    return made
