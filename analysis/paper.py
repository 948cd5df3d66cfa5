"""The paper's printed numbers, and ours beside them."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from . import data
from .measures import Row, Value
from .statistics import Interval, proportion, unpaired_difference

N_EPISODES = 100
"""Episodes behind every published accuracy; of Table 6 only some."""
_N_TOPOLOGY = {"accuracy_strokes": 30, "accuracy_curves": 30, "accuracy_loops": 40}
_TAG = "paper:"


class Cell(NamedTuple):
    """Where a published number stands: table, model, condition, horizon (`inf` or a number), window, level, metric."""

    table: int
    model: str
    condition: str
    horizon: str
    window: int
    level: int
    metric: str


def read_csv(name: str) -> list[dict[str, str]]:
    """Rows of a CSV file of the paper's facts."""
    return list(csv.DictReader(io.StringIO((files(data) / f"{name}.csv").read_text())))


@cache
def published_results() -> dict[Cell, float]:
    """Tables 1-8 of the paper: percent, steps or moves by cell."""
    return {
        Cell(
            int(r["table"]),
            r["model"],
            r["condition"],
            r["horizon"],
            int(r["window_px"]),
            int(r["level"]),
            r["metric"],
        ): float(r["value"])
        for r in read_csv("published_results")
    }


def model_key(name: str) -> str:
    """A model's name without provider, case and punctuation."""
    return re.sub(r"[^a-z0-9]", "", name.rsplit("/", 1)[-1].lower())


@cache
def _names() -> dict[str, str]:
    return {model_key(cell.model): cell.model for cell in published_results()}


def model_of(model: str | None, tags: Sequence[str] | None = None) -> str | None:
    """The paper's name of a run's model: what a tag `paper:NAME` says, else by the model's own name."""
    tagged = [tag.removeprefix(_TAG) for tag in tags or () if tag.startswith(_TAG)]
    return _names().get(model_key(tagged[0] if tagged else model or ""))


class Metric(NamedTuple):
    """Which published metric a column of a table is; `condition` where it stands under one of its own."""

    name: str
    condition: str | None = None


METRICS: dict[str, Metric] = {
    "control": Metric("accuracy", "control"),
    "accuracy_all": Metric("accuracy"),
    "accuracy_with": Metric("accuracy"),
    "steps": Metric("average_steps"),
    "moves": Metric("moves"),
    "revisit_rate_macro": Metric("revisit_rate"),
    "coverage_window": Metric("stroke_coverage"),
}
"""Columns that the paper prints too: it divides by all episodes, so that ours is `accuracy_all`."""

DIAGNOSTICS: dict[str, tuple[str, str, int | None]] = {
    "single_digit": ("audit", "single_digit_answers", 1600),
    "single_digit_other_never_seen": ("audit", "single_digit_other_digit_never_seen", 323),
    "single_digit_other_below_25": ("audit", "single_digit_other_digit_below_25_coverage", 323),
    "single_digit_actions": ("audit", "single_digit_average_steps", None),
    "positional_first": ("harness", "positional_accuracy_first", 100),
    "positional_last": ("harness", "positional_accuracy_second", 100),
    "all_digits_ge_75": ("harness", "both_digits_ge_75_coverage", 100),
    "all_digits_ge_75_wrong": ("harness", "both_digits_ge_75_coverage_wrong", 92),
    "all_digits_ge_90": ("harness", "both_digits_ge_90_coverage", 100),
    "all_digits_ge_90_wrong": ("harness", "both_digits_ge_90_coverage_wrong", 67),
    "second_digit_observation": ("harness", "first_second_digit_evidence_median_observation", None),
    "first_digit_percent_then": ("harness", "first_digit_coverage_at_that_time_median", None),
    "crossed_once": ("harness", "midpoint_crossed_once", 100),
    "crossed_twice": ("harness", "midpoint_crossed_twice", 100),
    "reversals": ("harness", "immediate_reversals", None),
}
"""Statistics of `exploration` that the paper prints: group, name, and the n of a count (None for other numbers)."""


def compared(table: int, rows: Iterable[Row]) -> list[Row]:
    """Ours, the published value with its own interval, and the difference of the two: a row for each that has both."""
    result = []
    for row in rows:
        for column, metric in METRICS.items():
            cell, ours = _cell(table, row, column, metric), row.get(column)
            if ours is not None and cell is not None and cell in published_results():
                keys = {
                    key: row.get(key)
                    for key in ("run", "model", "condition", "level", "topology")
                    if key in row
                }
                paper = _published(cell, published_results()[cell])
                result.append({**keys, "metric": column, "paper_model": cell.model, **_beside(ours, paper)})
    return result


def _cell(table: int, row: Row, column: str, metric: Metric) -> Cell | None:
    model = model_of(row.get("model"), row.get("tags"))
    if model is None or not isinstance(row.get("level"), int):
        return None
    horizon = row.get("horizon")
    told = "" if table == 4 or metric.condition else "inf" if horizon == -1 else str(horizon)
    name = f"accuracy_{row['topology']}" if "topology" in row else metric.name
    return Cell(
        table, model, metric.condition or row["condition"], told, row["window_px"], row["level"], name
    )


def _published(cell: Cell, value: float) -> Value:
    if cell.metric in ("revisit_rate", "stroke_coverage"):
        return Value(Interval(value / 100, None, None, N_EPISODES, "as printed"), True)
    if not cell.metric.startswith("accuracy"):
        return Value(Interval(value, None, None, N_EPISODES, "as printed"))
    n = _N_TOPOLOGY.get(cell.metric, N_EPISODES)
    return Value(proportion(round(value * n / 100), n), True)


def _beside(ours: Value, paper: Value) -> dict[str, Any]:
    return {"n": ours.interval.n, "ours": ours, "paper": paper, "difference": _difference(ours, paper)}


def _difference(ours: Value, paper: Value) -> Value | None:
    """Ours minus the paper's; with an interval where both are proportions."""
    a, b = ours.interval, paper.interval
    if a.estimate is None or b.estimate is None:
        return None
    if a.method == b.method == "wilson":
        counts = round(a.estimate * a.n), a.n, round(b.estimate * b.n), b.n
        return Value(unpaired_difference(*counts), True)
    return Value(Interval(a.estimate - b.estimate, None, None, a.n, "no published interval"), ours.percent)


def compared_diagnostics(rows: Iterable[Row]) -> Iterator[Row]:
    """The same for the statistics of `exploration`, given one row a statistic."""
    printed = {
        (r["group"], r["statistic"]): (float(r["value"]), r["unit"])
        for r in read_csv("published_diagnostics")
    }
    for row in rows:
        group, name, n = DIAGNOSTICS.get(row["statistic"], ("", "", None))
        if (group, name) in printed:
            value, unit = printed[group, name]
            if n is not None:
                paper = Value(proportion(round(value), n), True)
            else:
                percent = row["value"].percent
                paper = Value(
                    Interval(value / 100 if percent else value, None, None, 0, "as printed"), percent
                )
            keys = {key: row.get(key) for key in ("run", "model", "condition", "statistic")}
            yield {**keys, "paper_statistic": f"{name} ({unit})", **_beside(row["value"], paper)}
