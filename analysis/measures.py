"""From rows of a query to values with intervals: a struct column says which interval belongs to it.

The macros of `sql/views.sql` make these structs: `share` a proportion (Wilson), `average` a mean and `fraction` a mean
in [0, 1] (bootstrap over canvases), `pooled` a ratio of sums (the same), `middle` a median (order statistics), `versus`
a paired difference of proportions (Newcombe, with McNemar's exact p).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from .statistics import (
    Interval,
    PairedCounts,
    cluster_bootstrap,
    macro_average,
    mcnemar,
    paired_difference,
    proportion,
)

Row = dict[str, Any]
"""A row of a table: plain values and `Value`s by column."""

_DRAWS = 100_000_000
"""Numbers drawn for one bootstrap at most: beyond 50,000 clusters there are fewer resamples, but 200."""


class Value(NamedTuple):
    """A number of a table.

    Attributes:
        interval: estimate, bounds and the n that they rest on.
        percent: whether it is a fraction, printed as percent.
        p: of the test that belongs to it, where there is one.
        values: what the estimate is the mean of, where averages over levels need them.
    """

    interval: Interval
    percent: bool = False
    p: float | None = None
    values: np.ndarray | None = None


def measured(frame: pl.DataFrame) -> list[Row]:
    """Rows with every struct column made a `Value`."""
    return [
        {name: _value(cell) if isinstance(cell, dict) else cell for name, cell in row.items()}
        for row in frame.to_dicts()
    ]


def _value(parts: dict[str, Any]) -> Value:
    match parts:
        case {"k": k, "n": n}:
            return Value(proportion(k, n), True, values=np.repeat([1.0, 0.0], [k, n - k]))
        case {"v": values, "c": canvases}:
            return _mean(values or [], canvases or [], percent=False)
        case {"f": values, "c": canvases}:
            return _mean(values or [], canvases or [], percent=True)
        case {"x": values, "y": weights, "c": canvases}:
            known = [
                pair
                for pair in zip(values or (), weights or (), canvases or (), strict=True)
                if None not in pair[:2]
            ]
            values, weights, canvases = zip(*known, strict=True) if known else ((), (), ())
            return _mean(values, canvases, percent=True, weights=weights)
        case {"q": values}:
            return Value(_median([value for value in values or [] if value is not None]))
        case {"both_right": _}:
            return difference(PairedCounts(*parts.values()))
    raise TypeError(f"no measure of {', '.join(parts)}")


def difference(counts: PairedCounts) -> Value:
    """A paired difference with its test."""
    return Value(paired_difference(counts), True, mcnemar(counts.only_a, counts.only_b).p)


def _mean(
    values: Sequence[float | None],
    canvases: Sequence[str | None],
    *,
    percent: bool,
    weights: Sequence[float] | None = None,
) -> Value:
    array = np.array(values, float)
    _, clusters = np.unique([canvas or f"?{i}" for i, canvas in enumerate(canvases)], return_inverse=True)
    resamples = int(np.clip(_DRAWS // max(len(array), 1), 200, 2000))
    divisor = None if weights is None else np.array(weights, float)
    interval = cluster_bootstrap(array, clusters, divisor, resamples=resamples)
    return Value(interval, percent, values=array[~np.isnan(array)] if weights is None else None)


def _median(values: Sequence[float]) -> Interval:
    """Median with the exact interval of order statistics."""
    from scipy.stats import quantile_test

    if not values:
        return Interval(None, None, None, 0, "order statistics")
    bounds = quantile_test(values, q=0, p=0.5).confidence_interval()
    low, high = (None if np.isnan(bound) else float(bound) for bound in (bounds.low, bounds.high))
    return Interval(float(np.median(values)), low, high, len(values), "order statistics")


def with_averages(rows: Iterable[Row], keys: Sequence[str]) -> list[Row]:
    """After the rows of a condition that has two or more levels, one run each, their unweighted average.

    Levels are resampled independently (docs/metrics.md, section 5).
    """
    result = []
    for _, group in groupby(rows, key=lambda row: [row.get(key) for key in keys]):
        members = list(group)
        result += members
        levels = {row["level"] for row in members}
        if len(levels) > 1 and len(levels) == len(members) and None not in levels:
            result.append({**{key: members[0].get(key) for key in keys}, **_average(members)})
    return result


def _average(members: Sequence[Row]) -> Row:
    row: Row = {"run": None, "level": "avg", "n": sum(member["n"] for member in members)}
    for name, value in members[0].items():
        levels = [member[name].values for member in members] if isinstance(value, Value) else []
        known = [values for values in levels if values is not None and len(values)]
        if isinstance(value, Value) and len(known) == len(members):
            row[name] = Value(macro_average(known), value.percent)
    return row


def long(rows: Iterable[Row]) -> list[Row]:
    """One row a measure: its name in `statistic`, the measure in `value`, its own n."""
    return [
        {
            **{k: v for k, v in row.items() if not isinstance(v, Value)},
            "statistic": name,
            "n": value.interval.n,
            "value": value,
        }
        for row in rows
        for name, value in row.items()
        if isinstance(value, Value)
    ]


def flat(row: Row) -> Row:
    """Plain values only: a measure becomes name, name_low, name_high, name_n, and name_p where it has a test."""
    result: Row = {}
    for name, value in row.items():
        if not isinstance(value, Value):
            result[name] = value
            continue
        estimate, low, high, n, _ = value.interval
        result |= {name: estimate, f"{name}_low": low, f"{name}_high": high, f"{name}_n": n}
        if value.p is not None:
            result[f"{name}_p"] = value.p
    return result
