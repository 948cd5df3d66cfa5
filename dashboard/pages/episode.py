"""Episode: one screen, everything synced to one step. The player steps in the browser; this page only mounts it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dash
import dash_mantine_components as dmc
from dash import Input, Output, State, dcc, html

from ...analysis.overview import episodes_page
from ..components.parts import column, grid, notice, toolbar
from ..source import Source

PATH = "/episode"
TITLE = "Episode"

_COLUMNS = (
    column("run", "run", flex=3, minWidth=180, tooltipField="run"),
    column("source_episode_id", "#", width=80),
    column("label", "label", width=80),
    column("answer", "answer", width=90),
    column("correct", "verdict", width=100, valueFormatter={"function": "mnistproVerdict(params.value)"}),
    column("stop_reason", "ended", width=120),
    column("n_actions", "steps", number="d", width=80, hint="actions, the answer included"),
    column("n_glimpses", "glimpses", number="d", width=90, hint="observations shown to the agent"),
    column("coverage_window", "ink seen", number=".0%", width=90),
    column("min_coverage", "least panel", number=".0%", width=105, hint="ink seen of the panel seen least"),
    column("revisit_rate_moves", "revisits", number=".0%", width=90, hint="revisits per move"),
    column("model", "model", flex=1, minWidth=120),
)


def layout(source: Source, query: Mapping[str, str]) -> Any:
    """The player for `?run=&episode=&glimpse=` (or `&step=`), or the list of episodes without an episode."""
    if query.get("run") and query.get("episode"):
        asked = {name: query.get(name) for name in ("run", "episode", "glimpse", "step")}
        return html.Div(
            [dcc.Store(id="asked", data=asked), html.Div(id="player-head"), html.Div(id="player")],
            className="page page-player",
        )
    if source.sums.is_empty():
        return notice(
            "This store holds no run", "Bring one in with `mnistpro-replay ingest PATH`, then reload."
        )
    filters = toolbar(
        dmc.Select(
            id="list-run",
            label="run",
            data=source.sums["run"].to_list(),
            value=query.get("run"),
            w=340,
            searchable=True,
            clearable=True,
            limit=50,
            placeholder="chosen runs, else all",
        ),
        dmc.Select(
            id="list-outcome",
            label="verdict",
            data=["right", "wrong", "none"],
            w=120,
            clearable=True,
            placeholder="any",
        ),
        dmc.Select(
            id="list-stop",
            label="ended",
            w=150,
            clearable=True,
            placeholder="any",
            data=["answered", "step_limit", "invalid_action", "no_answer", "error", "running", "unknown"],
        ),
        dmc.TextInput(id="list-label", label="label", w=90, debounce=300, placeholder="any"),
        dmc.TextInput(id="list-episode", label="episode #", w=110, debounce=300, placeholder="any"),
        dmc.Text(id="list-count", size="sm", c="dimmed", className="count"),
    )
    table = grid("episodes", _COLUMNS, infinite=True)
    return html.Div([filters, html.Div(table, className="fill")], className="page page-fill")


def register(app: dash.Dash, source: Source) -> None:
    """Add the callbacks."""
    app.clientside_callback(
        dash.ClientsideFunction("mnistpro", "mountPlayer"), Output("player", "title"), Input("asked", "data")
    )
    app.clientside_callback(
        dash.ClientsideFunction("mnistpro", "openEpisode"),
        Output("location", "href"),
        Input("episodes", "cellClicked"),
        prevent_initial_call=True,
    )

    app.clientside_callback(
        dash.ClientsideFunction("mnistpro", "refillEpisodes"),
        Output("list-count", "title"),
        *(Input(f"list-{name}", "value") for name in ("run", "outcome", "stop", "label", "episode")),
        prevent_initial_call=True,
    )

    @app.callback(
        Output("episodes", "getRowsResponse"),
        Output("list-count", "children"),
        Input("episodes", "getRowsRequest"),
        State("list-run", "value"),
        State("list-outcome", "value"),
        State("list-stop", "value"),
        State("list-label", "value"),
        State("list-episode", "value"),
        State("chosen", "data"),
        prevent_initial_call=True,
    )
    def rows(asked: Any, run: Any, outcome: Any, stop: Any, label: Any, episode: Any, chosen: Any) -> Any:
        asked = asked or {"startRow": 0, "endRow": 100, "sortModel": []}
        order = [(part["colId"], part["sort"] == "desc") for part in asked.get("sortModel") or []]
        filters = {"outcome": outcome, "stop_reason": stop, "label": label, "source_episode_id": episode}
        runs = [run] if run else chosen or None
        page, total = episodes_page(source.episodes, runs, filters, order, asked["startRow"], asked["endRow"])
        return {"rowData": page, "rowCount": total}, f"{total:,} episodes"
