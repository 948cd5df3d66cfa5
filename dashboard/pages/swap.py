"""Swap: other predictors read the same frozen evidence. Who was right, and what each one was given and replied."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import dash
import dash_mantine_components as dmc
from dash import Input, Output, State, dcc, html

from ...analysis import figures
from ...analysis.swaps import AGENT, flips, forms, given, matrix, replies
from ...traces.store import StoreError
from ..components.parts import card, column, graph, grid, notice, toolbar
from ..source import Source

PATH = "/swap"
TITLE = "Swap"

_RUNS = 40
"""Trajectories that the matrix shows at most."""
_REPLY = 4000
_PICTURES = 6
_WHO = [
    {"value": "all", "label": "all flips"},
    {"value": "predictor", "label": "only the predictor right"},
    {"value": "agent", "label": "only the agent right"},
    {"value": "neither", "label": "both wrong"},
]
_COLUMNS = (
    column("run", "run", flex=1, minWidth=130, tooltipField="run"),
    column("source_episode_id", "#", width=62),
    column("label", "label", width=66),
    column(
        "own_answer",
        "agent",
        width=80,
        valueFormatter={"function": "mnistproAnswer(params.value, params.data.correct)"},
    ),
    column(
        "answer",
        "predictor",
        width=96,
        valueFormatter={"function": "mnistproAnswer(params.value, params.data.read_right)"},
    ),
    column("min_coverage", "least panel", number=".0%", width=100, hint="ink seen of the panel seen least"),
)


def layout(source: Source, query: Mapping[str, str]) -> Any:
    """The matrix, the list of flips, and the chosen one in detail."""
    known = forms(source.database)
    if not known:
        return notice(
            "No predictor has read anything in this store",
            "Let one read: `mnistpro-replay swap --predictor reference`, then start the dashboard again.",
        )
    options = [
        {
            "value": f"{row['representation']}|{row['evidence']}",
            "label": f"{row['representation']}, {row['evidence']}",
        }
        for row in known
    ]
    predictors = source.database.query("SELECT DISTINCT predictor FROM readings ORDER BY 1")[
        "predictor"
    ].to_list()
    bar = toolbar(
        dmc.Select(
            id="swap-form",
            label="representation, evidence",
            data=options,
            value=options[0]["value"],
            allowDeselect=False,
            w=240,
        ),
        dmc.Select(
            id="swap-predictor",
            label="flips against",
            data=predictors,
            value=predictors[0],
            allowDeselect=False,
            w=200,
        ),
        dmc.SegmentedControl(id="swap-who", data=_WHO, value="all", size="sm"),
        dmc.Text(id="swap-count", size="sm", c="dimmed", className="count"),
    )
    table = grid(
        "flips",
        _COLUMNS,
        rowData=[],
        settings={"rowSelection": {"mode": "singleRow", "checkboxes": False, "enableClickSelection": True}},
    )
    left = card(
        "Who reads whose trajectory how well",
        graph("swap-matrix", 440),
        note="accuracy, 95 % interval; outlined: the one that acted",
    )
    right = card("Flips", html.Div(table, style={"height": 440}), note="select a row to see what was read")
    return html.Div(
        [bar, html.Div([left, right], className="columns"), html.Div(id="swap-detail", className="detail")],
        className="page",
    )


def register(app: dash.Dash, source: Source) -> None:
    """Add the callbacks."""

    @app.callback(
        Output("swap-matrix", "figure"),
        Input("swap-form", "value"),
        Input("chosen", "data"),
        Input("scheme", "data"),
    )
    def draw(form: str, chosen: Any, scheme: Any) -> Any:
        cells = matrix(source.database, *form.split("|"), chosen)  # type: ignore[arg-type]
        runs = list(dict.fromkeys(cell["trajectory"] for cell in cells))[:_RUNS]
        plot = figures.swap_matrix([cell for cell in cells if cell["trajectory"] in runs])
        return figures.themed(plot, dark=scheme == "dark")

    @app.callback(
        Output("flips", "rowData"),
        Output("flips", "selectedRows"),
        Output("swap-count", "children"),
        Input("swap-form", "value"),
        Input("swap-predictor", "value"),
        Input("swap-who", "value"),
        Input("chosen", "data"),
        Input("swap-matrix", "clickData"),
    )
    def listed(form: str, predictor: str, who: str, chosen: Any, clicked: Any) -> Any:
        rows = flips(source.database, chosen, predictor, *form.split("|"), None if who == "all" else who)  # type: ignore[arg-type]
        first = rows[:1]
        return rows, first, f"{len(rows):,} flips"

    @app.callback(
        Output("swap-predictor", "value"), Input("swap-matrix", "clickData"), prevent_initial_call=True
    )
    def pick(clicked: Any) -> Any:
        name = clicked["points"][0]["x"] if clicked else AGENT
        return dash.no_update if name == AGENT else name

    @app.callback(
        Output("swap-detail", "children"), Input("flips", "selectedRows"), State("swap-form", "value")
    )
    def detail(rows: Any, form: str) -> Any:
        if not rows:
            return notice(
                "No flip to show", "Under this choice the agent and the predictor gave the same answers."
            )
        return _detail(source, rows[0], *form.split("|"))


def _detail(source: Source, row: Mapping[str, Any], form: str, evidence: str) -> Any:
    address = {"run": row["run"], "episode": row["source_episode_id"], "form": form, "evidence": evidence}
    try:
        item = given(source.store, row["run"], row["source_episode_id"], form, evidence)  # type: ignore[arg-type]
    except StoreError as error:
        return notice("What was read cannot be built again", str(error))
    pictures = [
        html.Img(
            src=f"/input.png?{urlencode({**address, 'image': i})}",
            alt=f"picture {i + 1} of {len(item.images)} that predictors read",
        )
        for i in range(min(len(item.images), _PICTURES))
    ]
    where = {"run": row["run"], "episode": row["source_episode_id"]}
    title = f"{figures.short(row['run'], 60)} #{row['source_episode_id']}, label {row['label']}"
    told = [_reply("the agent", row["own_answer"], row["correct"], None)]
    for reply in replies(source.database, row["run"], row["source_episode_id"], form, evidence):  # type: ignore[arg-type]
        right = None if row["label"] is None else reply["answer"] == row["label"]
        told.append(_reply(reply["predictor"], reply["answer"], right, reply))
    more = f"first {_PICTURES} of {len(item.images)} pictures" if len(item.images) > _PICTURES else ""
    text = html.Pre(item.text[:_REPLY], className="reply") if item.text else None
    return html.Div(
        [
            card("What was read", html.Div(pictures, className="pictures"), text, note=more or form),
            card(
                title,
                html.Div(told, className="replies"),
                dcc.Link("open the episode", href=f"/episode?{urlencode(where)}"),
            ),
        ],
        className="columns",
    )


def _reply(name: str, answer: str | None, right: bool | None, reply: Mapping[str, Any] | None) -> Any:
    mark = {True: "✓ right", False: "✗ wrong", None: "not judged"}[right]
    head = [
        html.B(name),
        html.Span(f"answered {answer or 'nothing'}"),
        html.Span(mark, className="told-right" if right else "told-wrong"),
    ]
    raw = None if reply is None else reply["raw_reply"] or _probabilities(reply["probabilities"])
    body = html.Pre(raw[:_REPLY] + ("…" if len(raw) > _REPLY else ""), className="reply") if raw else None
    return html.Div([html.Div(head, className="reply-head"), body])


def _probabilities(panels: Any) -> str:
    """The three most probable digits of each panel."""
    lines = []
    for i, panel in enumerate(panels or []):
        best = sorted(range(10), key=lambda digit: -panel[digit])[:3]
        lines.append(f"panel {i + 1}: " + ", ".join(f"{digit} {panel[digit]:.1%}" for digit in best))
    return "\n".join(lines)
