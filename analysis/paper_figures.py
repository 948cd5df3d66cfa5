"""The paper's figures from traces, by name: `figure 3a | 3b | 3c | 4a | 4b`, and the gap waterfall."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .database import Database
from .measures import Row, Value, flat, measured
from .overview import gap_levels

if TYPE_CHECKING:
    import plotly.graph_objects as go

POOLED = "all selected runs"


@dataclass(frozen=True)
class Figure:
    """A figure that can be asked for by name.

    Attributes:
        title: what it shows, in a line.
        definition: how its numbers are made, in a sentence or two.
        rows: its numbers, each row with its n.
        draw: rows to a Plotly figure.
    """

    title: str
    definition: str
    rows: Callable[[Database], list[Row]]
    draw: Callable[[Sequence[Row]], go.Figure]


def _query(name: str) -> Callable[[Database], list[Row]]:
    def rows(database: Database) -> list[Row]:
        found = measured(database.query(name))
        for row in found:
            row["run"] = row["run"] or POOLED
        return found

    return rows


def _levels(rows: Sequence[Row]) -> dict[int, list[Row]]:
    """Rows over all selected runs, by number of digits."""
    pooled = [row for row in rows if row["run"] == POOLED]
    return {
        level: [r for r in pooled if r["level"] == level] for level in sorted({r["level"] for r in pooled})
    }


def _grouped(rows: Sequence[Row], x: str, title: str) -> go.Figure:
    from . import figures

    series = {
        f"{level} digit{'s' if level > 1 else ''}": [
            {"name": row[x], "n": row["n"], **flat({"estimate": row["accuracy"]})} for row in part
        ]
        for level, part in _levels(rows).items()
    }
    return figures.grouped_shares(series, x_title=title)


def _draw_3a(rows: Sequence[Row]) -> go.Figure:
    return _grouped(rows, "position", "which digits must be right")


def _draw_3c(rows: Sequence[Row]) -> go.Figure:
    return _grouped(rows, "least_seen", "share of its strokes shown of the least seen digit")


def _draw_3b(rows: Sequence[Row]) -> go.Figure:
    from . import figures

    made = []
    for row in rows:
        counts = {key: _count(row[key]) for key in ("exact", "some_right", "none_right", "invalid")}
        name = f"{row['run']}, {row['level']} digit{'s' if row['level'] > 1 else ''}"
        made.append(
            {key: 0 for key in figures.OUTCOMES}
            | {"name": name, "n": row["n"], "right": counts["exact"], "some": counts["some_right"]}
            | {"wrong": counts["none_right"], "invalid": counts["invalid"]}
        )
    return figures.outcome_stacks(made)


def _count(value: Value) -> int:
    return round((value.interval.estimate or 0) * value.interval.n)


def _scatter(rows: Sequence[Row]) -> go.Figure:
    from . import figures

    points = [
        {
            "name": " · ".join(filter(None, (row["run"], row.get("predictor")))),
            "condition": row["condition"],
            "coverage": row["coverage"].interval.estimate,
            "n_scored": row["n"],
            **flat({"accuracy": row["accuracy"]}),
        }
        for row in rows
    ]
    return figures.accuracy_coverage(points)


def _draw_gaps(rows: Sequence[Row]) -> go.Figure:
    from . import figures

    return figures.gap_waterfall(rows)


def _gap_rows(database: Database) -> list[Row]:
    return gap_levels(database, [run for run, _ in database.selected])


FIGURES: dict[str, Figure] = {
    "3a": Figure(
        "Accuracy by position",
        "Share of episodes whose k-th digit is right; an answer of another length is wrong at every position.",
        _query("figure_3a"),
        _draw_3a,
    ),
    "3b": Figure(
        "What kinds of answers there are",
        "Invalid: not one digit a panel after the official runner's normalisation. Runner failures are left out.",
        _query("figure_3b"),
        _draw_3b,
    ),
    "3c": Figure(
        "Accuracy by the coverage of the least seen digit",
        "Coverage: share of a digit's stroke pixels inside a shown window; bins closed at the right.",
        _query("figure_3c"),
        _draw_3c,
    ),
    "4a": Figure(
        "Accuracy against stroke coverage",
        "A point a run: mean share of stroke pixels shown, and accuracy over scored episodes.",
        _query("figure_4a"),
        _scatter,
    ),
    "4b": Figure(
        "The same where a predictor read the consolidated canvas",
        "A point a run and predictor: representation canvas, evidence window, after the last shown glimpse.",
        _query("figure_4b"),
        _scatter,
    ),
    "gaps": Figure(
        "Where accuracy is lost, from the whole canvas to the agent",
        "f is the reference reader. Did not look: f(whole) - f(shown). Misread: f(shown) - agent where it answered.",
        _gap_rows,
        _draw_gaps,
    ),
}


def plain(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Rows for machines."""
    return [flat(row) for row in rows]
