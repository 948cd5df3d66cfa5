"""Figures of stopping and beliefs, each point with the episodes behind it in its `customdata`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from .figures import CATEGORIES, SYMBOLS, Row, nothing, words


def incidence(view: Row) -> go.Figure:
    """Competing ways to end, cumulated over the actions taken, with bands and the number at risk below.

    Args:
        view: from `drilldown.endings`.
    """
    figure, time = go.Figure(), view["time"]
    for i, (cause, values) in enumerate(view["curves"].items()):
        color, (low, high) = ("#0072B2", "#D55E00", "#E69F00")[i % 3], view["bands"][cause]
        _band(figure, time, low, high, color)
        figure.add_scatter(
            x=time,
            y=values,
            name=f"answered {cause}" if cause != "invalid" else "invalid",
            mode="lines+markers",
            marker={"size": 5, "symbol": SYMBOLS[i]},
            line={"color": color, "shape": "hv", "width": 2.2, "dash": ("solid", "dash", "dot")[i % 3]},
            customdata=[[cause, ids] for ids in view["episodes"][cause]],
            hovertemplate="%{y:.1%} after %{x} actions<extra>%{fullData.name}</extra>",
        )
    shown = np.unique(np.searchsorted(time, np.linspace(0, time[-1], 9)))
    for i in shown:
        figure.add_annotation(
            x=time[i], y=-0.3, yref="paper", text=f"{view['at_risk'][i]}", showarrow=False, font={"size": 11}
        )
    figure.add_annotation(
        x=0,
        y=-0.3,
        xref="paper",
        yref="paper",
        text="at risk",
        xanchor="right",
        xshift=-8,
        showarrow=False,
        font={"size": 11},
    )
    figure.update_layout(margin={"b": 78})
    figure.update_xaxes(title="actions taken", rangemode="tozero")
    return figure.update_yaxes(title=f"share of episodes, n = {view['n']}", tickformat=".0%", range=[0, 1.02])


def _band(
    figure: go.Figure, time: Sequence[float], low: Sequence[float], high: Sequence[float], color: str
) -> None:
    """A shaded band between two step lines."""
    edge = {
        "x": list(time),
        "mode": "lines",
        "line": {"width": 0, "shape": "hv"},
        "hoverinfo": "skip",
        "showlegend": False,
    }
    figure.add_scatter(y=list(high), **edge)
    figure.add_scatter(y=list(low), fill="tonexty", fillcolor=_faint(color), **edge)


def risk_coverage(curves: Mapping[str, Row]) -> go.Figure:
    """Risk when only the most confident are answered, a line a score.

    Args:
        curves: from `drilldown.risk_curves`.
    """
    if not curves:
        return nothing("No answered episodes with a confidence")
    figure = go.Figure()
    for i, (name, row) in enumerate(curves.items()):
        figure.add_scatter(
            x=row["coverage"],
            y=row["risk"],
            mode="lines",
            name=f"{words(name)} ({row['augrc']:.3f})",
            line={
                "color": CATEGORIES[i % 8],
                "width": 2.2,
                "dash": ("solid", "dash", "dot", "dashdot")[i % 4],
            },
            customdata=[[name, [episode]] for episode in row["episodes"]],
            hovertemplate="%{x:.0%} answered: %{y:.1%} wrong<extra>" + words(name) + "</extra>",
        )
    n = next(iter(curves.values()))["n"]
    figure.update_xaxes(
        title=f"share answered, most confident first (n = {n})", tickformat=".0%", range=[0, 1.02]
    )
    return figure.update_yaxes(title="share of them wrong", tickformat=".0%", rangemode="tozero")


def sufficiency(rows: Sequence[Row], threshold: int = 90) -> go.Figure:
    """Where each episode stopped against where its evidence first sufficed: below the line is overshoot.

    Args:
        rows: from `drilldown.stop_points`.
        threshold: confidence that suffices, in percent: one of those in the rows.
    """
    if not rows:
        return nothing("No episode was read after each glimpse")
    figure, top = go.Figure(), max(row["tau"] for row in rows) + 1
    never = top * 1.12 + 1
    figure.add_scatter(
        x=[0, top],
        y=[0, top],
        mode="lines",
        line={"color": "#8a94a3", "dash": "dot"},
        hoverinfo="skip",
        showlegend=False,
    )
    for right, name, color, symbol in (
        (True, "answered right", "#0072B2", "circle"),
        (False, "not right", "#D55E00", "x"),
    ):
        part = [row for row in rows if row["correct"] is right]
        figure.add_scatter(
            x=[row["tau"] for row in part],
            y=[
                never if row[f"sufficient_{threshold}"] is None else row[f"sufficient_{threshold}"]
                for row in part
            ],
            mode="markers",
            name=f"{name} ({len(part)})",
            marker={"color": color, "symbol": symbol, "size": 8, "opacity": 0.7},
            customdata=[[row["source_episode_id"], [row["source_episode_id"]]] for row in part],
            hovertemplate="#%{customdata[0]}: stopped at glimpse %{x}<extra></extra>",
        )
    ticks = [tick for tick in (0, 5, 10, 20, 30, 40, 50, 60, 70) if tick <= top]
    figure.update_xaxes(title="glimpse at which the agent stopped", rangemode="tozero")
    return figure.update_yaxes(
        title="first glimpse that sufficed",
        tickvals=[*ticks, never],
        ticktext=[*map(str, ticks), "never"],
        rangemode="tozero",
    )


def worth(rows: Sequence[Row]) -> go.Figure:
    """Value of one more glimpse (hindsight) against confidence at the stop, an episode a point.

    Args:
        rows: `episode`, `confidence`, `voi_max`, `flip`.
    """
    rows = [row for row in rows if row["voi_max"] is not None]
    if not rows:
        return nothing("No episode with a move left open")
    figure = go.Figure()
    for flip, name, color, symbol in (
        (True, "would have put the reader right", "#009E73", "triangle-up"),
        (False, "would not", "#8C8C8C", "circle"),
    ):
        part = [row for row in rows if bool(row["flip"]) is flip]
        figure.add_scatter(
            x=[row["confidence"] for row in part],
            y=[row["voi_max"] for row in part],
            mode="markers",
            name=f"{name} ({len(part)})",
            marker={"color": color, "symbol": symbol, "size": 8, "opacity": 0.75},
            customdata=[[row["episode"], [row["episode"]]] for row in part],
            hovertemplate="#%{customdata[0]}: %{y:+.1%} at confidence %{x:.0%}<extra></extra>",
        )
    figure.update_xaxes(
        title="reader's confidence where the agent stopped", tickformat=".0%", range=[0, 1.03]
    )
    gains = [row["voi_max"] for row in rows]
    # At least two percent high: smaller gains would all stand at ticks of the same name.
    height = [min(0.0, *gains) - 0.005, max(0.02, 1.1 * max(gains))]
    return figure.update_yaxes(title="best gain of one more glimpse", tickformat="+.1%", range=height)


def belief_events(rows: Sequence[Row]) -> go.Figure:
    """How often beliefs were adopted, kept, revised and lost.

    Args:
        rows: `name`, `direction`, `count`, `episodes`, from `drilldown.belief_view`.
    """
    if not rows:
        return nothing("No thought here states a belief")
    colors = {"to_right": "#0072B2", "wrong_lost": "#56B4E9", "to_wrong": "#D55E00", "right_lost": "#E69F00"}
    rows = sorted(rows, key=lambda row: -row["count"])
    figure = go.Figure(
        go.Bar(
            y=[words(row["name"] + (f", {row['direction']}" if row["direction"] else "")) for row in rows],
            x=[row["count"] for row in rows],
            orientation="h",
            marker={"color": [colors.get(row["direction"], "#8C8C8C") for row in rows]},
            text=[f"{row['count']:,}" for row in rows],
            textangle=0,
            customdata=[[row["name"], row["episodes"]] for row in rows],
            hovertemplate="%{y}: %{x}<extra></extra>",
        )
    )
    figure.update_layout(margin={"t": 12})
    figure.update_xaxes(title="events")
    return figure.update_yaxes(autorange="reversed")


def latency(view: Row | None) -> go.Figure:
    """Share of contradicted beliefs still held, by steps since the evidence first spoke against them.

    Args:
        view: `latency` of `drilldown.belief_view`.
    """
    if view is None:
        return nothing("No stated belief was ever contradicted by new ink")
    figure = go.Figure()
    _band(figure, view["time"], view["band"][0], view["band"][1], "#0072B2")
    figure.add_scatter(
        x=view["time"],
        y=view["survival"],
        mode="lines+markers",
        line={"color": "#0072B2", "shape": "hv", "width": 2.2},
        customdata=[["contradicted", steps] for steps in view["episodes"]],
        showlegend=False,
        hovertemplate="%{y:.1%} still held after %{x} steps<extra></extra>",
    )
    figure.update_layout(margin={"t": 12})
    figure.update_xaxes(title="steps since the evidence spoke against it", rangemode="tozero")
    return figure.update_yaxes(
        title=f"still held, n = {view['n']} ({view['kept']} to the end)", tickformat=".0%", range=[0, 1.03]
    )


def lags(rows: Sequence[Row]) -> go.Figure:
    """How many glimpses the right belief came after the evidence was right for good.

    Args:
        rows: `episode`, `lag`.
    """
    if not rows:
        return nothing("No episode in which both evidence and belief became right")
    values = sorted({row["lag"] for row in rows})
    figure = go.Figure(
        go.Bar(
            x=values,
            y=[sum(row["lag"] == value for row in rows) for value in values],
            marker={"color": "#0072B2"},
            customdata=[[value, [row["episode"] for row in rows if row["lag"] == value]] for value in values],
            hovertemplate="%{y} beliefs %{x} glimpses after the evidence<extra></extra>",
        )
    )
    figure.update_layout(margin={"t": 12})
    figure.update_xaxes(title="belief right less evidence right, in glimpses (below 0: before it)")
    return figure.update_yaxes(title=f"beliefs, n = {len(rows)}")


def _faint(color: str) -> str:
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.15)"
