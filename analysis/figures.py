"""Figures: rows in, `plotly` figure out. The dashboard, the report and the command line share them.

Nothing is computed here. A figure has both themes in it: `themed` gives it the light or the dark template. Colours are
Okabe and Ito's for kinds of things, cividis for order; a kind is never told by colour alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

Row = Mapping[str, Any]

CATEGORIES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C8C8C", "#B8A900")
"""Okabe and Ito's palette, black and yellow replaced by tones that both themes can carry."""
SYMBOLS = ("circle", "square", "diamond", "cross", "triangle-up", "x", "star", "hexagon")
PATTERNS = ("", "/", ".", "x", "\\", "-", "|", "+")
OUTCOMES = {
    "right": ("right", "#0072B2", ""),
    "some": ("some digits right", "#56B4E9", "/"),
    "wrong": ("no digit right", "#D55E00", ""),
    "invalid": ("invalid answer", "#E69F00", "x"),
    "no_answer": ("no answer", "#CC79A7", "."),
    "error": ("runner failed", "#8C8C8C", "\\"),
    "unjudged": ("label unknown", "#B8B8B8", "|"),
}
_FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'


def template(*, dark: bool = False) -> go.layout.Template:
    """The one look of all figures."""
    text, line, paper = ("#e7eaef", "#39414d", "#1c2027") if dark else ("#1c2430", "#e3e6eb", "#ffffff")
    axis = {
        "gridcolor": line,
        "zerolinecolor": line,
        "linecolor": line,
        "title": {"standoff": 8, "font": {"size": 12}},
        "automargin": True,
    }
    return go.layout.Template(
        layout={
            "font": {"family": _FONT, "size": 12, "color": text},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "colorway": CATEGORIES,
            "xaxis": axis,
            "yaxis": axis,
            "margin": {"l": 56, "r": 16, "t": 44, "b": 44},
            "legend": {"orientation": "h", "y": 1, "yref": "container", "yanchor": "top", "x": 0},
            "hoverlabel": {"bgcolor": paper, "bordercolor": line, "font": {"color": text}},
            "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": "#8a94a3", "activecolor": text},
        }
    )


def themed(figure: go.Figure, *, dark: bool = False) -> go.Figure:
    """The same figure in the light or dark theme."""
    return figure.update_layout(template=template(dark=dark))


def nothing(text: str) -> go.Figure:
    """A figure that says why it is empty."""
    figure = go.Figure()
    figure.add_annotation(
        text=text, x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False, font={"size": 13}
    )
    return figure.update_layout(xaxis={"visible": False}, yaxis={"visible": False})


def accuracy_coverage(rows: Sequence[Row]) -> go.Figure:
    """Accuracy against ink seen, a point a row (the paper's Figure 4).

    Args:
        rows: `name`, `condition`, `coverage`, `accuracy`, `accuracy_low`, `accuracy_high`, `n_scored`; a row without
            coverage or accuracy is left out.
    """
    rows = [row for row in rows if row["coverage"] is not None and row["accuracy"] is not None]
    if not rows:
        return nothing("No run here has both accuracy and coverage")
    figure = go.Figure()
    for i, condition in enumerate(dict.fromkeys(row["condition"] for row in rows)):
        part = [row for row in rows if row["condition"] == condition]
        figure.add_scatter(
            x=[row["coverage"] for row in part],
            y=[row["accuracy"] for row in part],
            error_y=_whiskers(part, "accuracy"),
            mode="markers",
            name=words(condition or "several"),
            marker={
                "size": 10,
                "symbol": SYMBOLS[i % len(SYMBOLS)],
                "color": CATEGORIES[i % len(CATEGORIES)],
            },
            customdata=[[short(row["name"], 60), row["n_scored"]] for row in part],
            hovertemplate="%{customdata[0]}<br>ink seen %{x:.1%}, accuracy %{y:.1%}, "
            "n = %{customdata[1]}<extra></extra>",
        )
    figure.update_xaxes(title="mean share of ink seen", tickformat=".0%", range=[0, 1.03])
    return figure.update_yaxes(title="accuracy, 95 % interval", tickformat=".0%", range=[-0.02, 1.03])


def outcome_stacks(rows: Sequence[Row], limit: int = 24) -> go.Figure:
    """How episodes ended, a bar a row (the paper's Figure 3b): shares, with n at the name.

    Args:
        rows: `name`, `n` and the counts of `OUTCOMES`.
        limit: rows drawn at most.
    """
    rows = [row for row in rows if row["n"]][:limit]
    if not rows:
        return nothing("No episodes to show")
    names = _unique([short(row["name"], 34) for row in rows])
    labels = [f"{name}  n={row['n']:,}" for name, row in zip(names, rows, strict=True)]
    figure = go.Figure()
    for key, (title, color, pattern) in OUTCOMES.items():
        if not any(row[key] for row in rows):
            continue
        shares = [row[key] / row["n"] for row in rows]
        figure.add_bar(
            y=labels,
            x=shares,
            orientation="h",
            name=title,
            marker={
                "color": color,
                "pattern": {
                    "shape": pattern,
                    "size": 6,
                    "fillmode": "overlay",
                    "fgcolor": "#ffffff",
                    "fgopacity": 0.45,
                },
            },
            text=[f"{share:.0%}" if share >= 0.06 else "" for share in shares],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            customdata=[row[key] for row in rows],
            hovertemplate="%{y}<br>" + title + ": %{customdata} (%{x:.1%})<extra></extra>",
        )
    figure.update_layout(barmode="stack", bargap=0.25, legend={"traceorder": "normal"})
    figure.update_xaxes(tickformat=".0%", range=[0, 1], title="share of episodes")
    return figure.update_yaxes(autorange="reversed")


def gap_waterfall(rows: Sequence[Row]) -> go.Figure:
    """From a reference reader on the whole canvas down to the agent: where accuracy is lost.

    Args:
        rows: in order, `term`, `estimate`, `low`, `high`, `n`, and `total`: true for a level, false for a loss
            (positive where accuracy is lost).
    """
    if not rows:
        return nothing("No gaps: they need the reference reader's posterior")
    level, bases, labels = 0.0, [], []
    for row in rows:
        bases.append(0.0 if row["total"] else level)
        level = row["estimate"] if row["total"] else level - row["estimate"]
        told = f"{row['estimate']:.1%}" if row["total"] else f"{0.0 - row['estimate']:+.1%}"
        labels.append(f"{row['term']}<br><b>{told}</b>")
    losses = [
        {**row, "estimate": -row["estimate"], "low": _minus(row["high"]), "high": _minus(row["low"])}
        for row in rows
    ]
    drawn = [row if row["total"] else loss for row, loss in zip(rows, losses, strict=True)]
    colors = ["#0072B2" if row["total"] else "#D55E00" if row["estimate"] >= 0 else "#009E73" for row in rows]
    stripes = ["" if row["total"] else "/" for row in rows]
    figure = go.Figure()
    figure.add_bar(
        x=labels,
        y=[row["estimate"] for row in drawn],
        base=bases,
        marker={
            "color": colors,
            "pattern": {"shape": stripes, "fillmode": "overlay", "fgcolor": "#ffffff", "fgopacity": 0.35},
        },
        error_y={**_whiskers(drawn, "estimate", "low", "high"), "color": "#8a94a3"},
        customdata=[_interval(row) for row in rows],
        hovertemplate="%{x}<br>%{customdata}<extra></extra>",
    )
    figure.update_xaxes(tickangle=0, tickfont={"size": 11}, showgrid=False)
    return figure.update_yaxes(title="accuracy", tickformat=".0%", range=[0, 1.03])


def heatmap(counts: np.ndarray, *, diverging: bool = False, title: str = "visits") -> go.Figure:
    """A picture of numbers per pixel: visits, or a difference of them centred on 0.

    Args:
        counts: float (height, width), NaN where there is nothing to say.
        diverging: whether 0 is the middle of the scale.
        title: of the colour bar.
    """
    top = float(np.nanmax(np.abs(counts))) if np.isfinite(counts).any() else 0.0
    scale = (
        {"colorscale": "RdBu", "zmid": 0, "zmin": -top, "zmax": top}
        if diverging
        else {"colorscale": "Cividis", "zmin": 0}
    )
    figure = go.Figure(
        go.Heatmap(
            z=counts,
            colorbar={
                "title": {"text": title, "side": "right", "font": {"size": 12}},
                "thickness": 12,
                "outlinewidth": 0,
            },
            hovertemplate="x %{x}, y %{y}: %{z:.3g}<extra></extra>",
            **scale,
        )
    )
    figure.update_layout(margin={"t": 12})
    figure.update_xaxes(showgrid=False, constrain="domain", range=[0, counts.shape[1]], title="x in px")
    return figure.update_yaxes(
        showgrid=False, scaleanchor="x", constrain="domain", range=[counts.shape[0], 0], title="y in px"
    )


def swap_matrix(rows: Sequence[Row]) -> go.Figure:
    """Who reads whose trajectory how well: trajectory down, predictor across; n and interval in the cell.

    Args:
        rows: `trajectory`, `predictor`, `accuracy`, `low`, `high`, `n`, and `own`, true where the predictor is
            the one that acted (outlined).
    """
    if not rows:
        return nothing("No swap in this store: run `mnistpro-replay swap`")
    down = list(dict.fromkeys(row["trajectory"] for row in rows))
    across = list(dict.fromkeys(row["predictor"] for row in rows))
    values = np.full((len(down), len(across)), np.nan)
    texts = np.full(values.shape, "", dtype=object)
    figure = go.Figure()
    for row in rows:
        i, j = down.index(row["trajectory"]), across.index(row["predictor"])
        if row["accuracy"] is None:
            continue
        values[i, j] = row["accuracy"]
        texts[i, j] = f"<b>{row['accuracy']:.1%}</b><br>{row['low']:.0%}–{row['high']:.0%}<br>n={row['n']:,}"
        if row["own"]:
            figure.add_shape(
                type="rect",
                x0=j - 0.48,
                x1=j + 0.48,
                y0=i - 0.48,
                y1=i + 0.48,
                line={"width": 3, "color": "#D55E00"},
            )
    names = _unique([short(name, 38) for name in down])
    figure.add_heatmap(
        z=values,
        x=across,
        y=names,
        text=texts,
        texttemplate="%{text}",
        colorscale="Cividis",
        zmin=0,
        zmax=1,
        xgap=2,
        ygap=2,
        colorbar={"tickformat": ".0%", "thickness": 12, "title": {"text": "accuracy", "side": "right"}},
        hovertemplate="%{y} read by %{x}<br>%{text}<extra></extra>",
    )
    figure.update_xaxes(side="top", showgrid=False, type="category")
    return figure.update_yaxes(autorange="reversed", showgrid=False, type="category")


def bars(rows: Sequence[Row], *, title: str = "share of episodes") -> go.Figure:
    """Shares with intervals, a bar a row.

    Args:
        rows: `name`, `estimate`, `low`, `high`, `k`, `n`.
        title: of the axis.
    """
    rows = [row for row in rows if row["estimate"] is not None]
    if not rows:
        return nothing("Nothing to count here")
    figure = go.Figure(
        go.Bar(
            y=[words(row["name"]) for row in rows],
            x=[row["estimate"] for row in rows],
            orientation="h",
            marker={"color": "#0072B2"},
            error_x={**_whiskers(rows, "estimate", "low", "high"), "color": "#8a94a3"},
            customdata=[[row["k"], row["n"], row["name"]] for row in rows],
            text=[f"{row['k']:,}" for row in rows],
            textposition="inside",
            insidetextanchor="start",
            textangle=0,
            hovertemplate="%{y}: %{customdata[0]} of %{customdata[1]} (%{x:.1%})<extra></extra>",
        )
    )
    figure.update_layout(margin={"t": 12}, bargap=0.35 if len(rows) > 4 else 0.7)
    figure.update_xaxes(title=title, tickformat=".0%", range=[0, 1.02])
    return figure.update_yaxes(autorange="reversed")


def grouped_shares(series: Mapping[str, Sequence[Row]], *, x_title: str) -> go.Figure:
    """Shares with intervals, bars side by side for each series; n stands in every bar.

    Args:
        series: by name, rows of `name`, `n`, `estimate`, `estimate_low`, `estimate_high`.
        x_title: of the axis of names.
    """
    series = {name: [row for row in rows if row["estimate"] is not None] for name, rows in series.items()}
    if not any(series.values()):
        return nothing("No labelled episodes to show")
    figure = go.Figure()
    for i, (name, rows) in enumerate(series.items()):
        figure.add_bar(
            x=[row["name"] for row in rows],
            y=[row["estimate"] for row in rows],
            name=name,
            error_y={**_whiskers(rows, "estimate"), "color": "#8a94a3"},
            marker={
                "color": CATEGORIES[i],
                "pattern": {
                    "shape": PATTERNS[i],
                    "fillmode": "overlay",
                    "fgcolor": "#ffffff",
                    "fgopacity": 0.35,
                },
            },
            text=[f"n={row['n']:,}" for row in rows],
            textposition="inside",
            insidetextanchor="start",
            textangle=0,
            hovertemplate="%{x}: %{y:.1%}, %{text}<extra>" + name + "</extra>",
        )
    figure.update_layout(barmode="group", bargap=0.3, showlegend=True)
    figure.update_xaxes(title=x_title)
    return figure.update_yaxes(title="accuracy, 95 % interval", tickformat=".0%", range=[0, 1.03])


def short(name: str, width: int) -> str:
    """A long name with its middle left out, its markup harmless."""
    if len(name) > width:
        head = (width - 1) * 2 // 3
        name = f"{name[:head]}…{name[head + 1 - width :]}"
    return name.replace("&", "&amp;").replace("<", "&lt;")


def _unique(names: Sequence[str]) -> list[str]:
    """Names, those alike told apart by a number: an axis would draw them over one another."""
    seen: dict[str, int] = {}
    made = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        made.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return made


def _interval(row: Row) -> str:
    known = row["low"] is not None
    return (f"95 % interval {row['low']:.1%} to {row['high']:.1%}, " if known else "") + f"n = {row['n']:,}"


def _minus(value: float | None) -> float | None:
    return None if value is None else -value


def words(name: str) -> str:
    """A name as words."""
    return name.replace("_", " ")


def _whiskers(
    rows: Sequence[Row], name: str, low: str | None = None, high: str | None = None
) -> dict[str, Any]:
    """Error bars from an estimate and its interval; none where there is no interval."""
    low, high = low or f"{name}_low", high or f"{name}_high"
    known = [row[name] is not None and row[low] is not None for row in rows]
    return {
        "type": "data",
        "symmetric": False,
        "array": [row[high] - row[name] if k else 0 for row, k in zip(rows, known, strict=True)],
        "arrayminus": [row[name] - row[low] if k else 0 for row, k in zip(rows, known, strict=True)],
        "thickness": 1.2,
        "width": 3,
    }
