"""Points that lead to their episodes: a list beside the figures, filled by a click."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from dash import dcc, html

LISTED = 60
HINT = "Click a point or a bar: the episodes behind it are listed here."


def behind(clicked: Mapping[str, Any]) -> tuple[str, Any]:
    """Name of a clicked point and its episodes: source ids, or source ids with the step to open them at."""
    data = clicked["points"][0].get("customdata") or ["", []]
    return str(data[0]), data[1] if len(data) > 1 else []


def episode_links(run: str, name: str, episodes: Sequence[str] | Mapping[str, int]) -> Any:
    """Links to episodes of a run, at the step that matters where it is known."""
    if not episodes:
        return html.P("No episode behind this point.", className="quiet")
    steps = episodes if isinstance(episodes, Mapping) else dict.fromkeys(episodes)
    more = f", the first {LISTED}" if len(steps) > LISTED else ""
    lines: list[Any] = [html.P(f"{name.replace('_', ' ')}: {len(steps)} episodes{more}", className="quiet")]
    for source_id, step in list(steps.items())[:LISTED]:
        where = {"run": run, "episode": source_id, **({} if step is None else {"step": step})}
        told = [html.B(f"#{source_id}"), html.Span("" if step is None else f"step {step}"), html.Span("open")]
        lines.append(dcc.Link(told, href=f"/episode?{urlencode(where)}"))
    return lines
