"""The dashboard's overview: runs, or groups of them, in one row each; and their episodes a page at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from .audit import CATEGORIES, Verdict
from .database import Database, sql_file
from .measures import measured
from .statistics import Interval, proportion

GROUPINGS: dict[str, tuple[str, ...]] = {
    "run": ("run",),
    "model": ("model",),
    "condition": ("condition",),
    "model and condition": ("model", "condition"),
    "level": ("level",),
}
"""What the rows of an overview may be, and the columns that make them."""

OUTCOMES = ("right", "some", "wrong", "invalid", "no_answer", "error", "unjudged")
"""How an episode can have ended, exclusively (`sql/run_sums.sql`)."""

EPISODE_COLUMNS = (
    "run",
    "source_episode_id",
    "label",
    "answer",
    "correct",
    "stop_reason",
    "n_actions",
    "n_glimpses",
    "coverage_window",
    "min_coverage",
    "revisit_rate_moves",
    "model",
    "condition",
    "level",
)
"""Columns of an episode list; it can be sorted by each."""

_EQUAL = ("label", "stop_reason", "source_episode_id")
_SUMS = (
    *("n", "n_scored", "n_right", *OUTCOMES, "n_stops", "n_over_optimistic"),
    *("moves", "n_moves", "coverage", "n_coverage", "revisits", "n_revisits"),
)


def run_sums(database: Database) -> pl.DataFrame:
    """One row a run: counts and sums that every overview is made of."""
    return database.query("run_sums")


def matching(sums: pl.DataFrame, filters: Mapping[str, Any]) -> pl.DataFrame:
    """Runs that match.

    Args:
        sums: from `run_sums`.
        filters: `model`, `condition`, `level` for equality, `text` for a part of the run's or model's name or a
            tag; null and empty ones are off.
    """
    for name in ("model", "condition", "level"):
        if filters.get(name) not in (None, ""):
            sums = sums.filter(pl.col(name) == filters[name])
    if text := (filters.get("text") or "").strip().lower():
        where = pl.concat_str("run", "model", pl.col("tags").list.join(" "), separator=" ", ignore_nulls=True)
        sums = sums.filter(where.str.to_lowercase().str.contains(text, literal=True))
    return sums


def overview(sums: pl.DataFrame, by: str = "run") -> pl.DataFrame:
    """Runs in groups, a row each, by name.

    Args:
        sums: from `run_sums` or `matching`.
        by: one of `GROUPINGS`.

    Returns:
        `name`, `runs`, what the group has in common (`model`, `condition`, `level`, null where it differs), the
        counts of `OUTCOMES`, `accuracy`, means of `moves`, `coverage` and `revisit_rate` over scored episodes, and
        `over_optimistic`, the share of stops that were.
    """
    keys = GROUPINGS[by]
    common = [
        pl.when(pl.col(name).n_unique() == 1).then(pl.col(name).first()).alias(name)
        for name in ("model", "condition", "level")
        if name not in keys
    ]
    counts = [pl.col(name).sum() for name in _SUMS if name not in keys]
    groups = sums.group_by(keys, maintain_order=True).agg(*common, *counts, pl.col("run").alias("runs"))
    if by == "run":
        groups = groups.with_columns(runs=pl.concat_list("run"))
    return groups.sort(keys, nulls_last=True).with_columns(
        name=pl.concat_str(
            *(pl.col(key).cast(pl.String).fill_null("unknown") for key in keys), separator=", "
        ),
        accuracy=_ratio("n_right", "n_scored"),
        over_optimistic=_ratio("n_over_optimistic", "n_stops"),
        moves=_ratio("moves", "n_moves"),
        coverage=_ratio("coverage", "n_coverage"),
        revisit_rate=_ratio("revisits", "n_revisits"),
    )


def _ratio(total: str, count: str) -> pl.Expr:
    return pl.when(pl.col(count) > 0).then(pl.col(total) / pl.col(count))


def with_intervals(rows: pl.DataFrame) -> list[dict[str, Any]]:
    """Rows of an overview with Wilson 95 % intervals: `accuracy_low`, `over_optimistic_high` and so on."""
    if rows.is_empty():
        return []
    from statsmodels.stats.proportion import proportion_confint  # whole columns: a call a row would be felt

    for name, k, n in (
        ("accuracy", "n_right", "n_scored"),
        ("over_optimistic", "n_over_optimistic", "n_stops"),
    ):
        bounds = proportion_confint(rows[k].to_numpy(), rows[n].clip(1).to_numpy(), method="wilson")
        known = pl.col(n) > 0
        columns = [
            pl.Series(f"{name}_{end}", np.asarray(bound))
            for end, bound in zip(("low", "high"), bounds, strict=True)
        ]
        rows = rows.with_columns(pl.when(known).then(column).alias(column.name) for column in columns)
    return rows.to_dicts()


def gap_levels(database: Database, runs: Sequence[str]) -> list[dict[str, Any]]:
    """From the reference reader on the whole canvas down to the agent, over the episodes of some runs together.

    Definitions: `sql/gaps.sql` (docs/metrics.md 3.2), evidence `window`.

    Returns:
        rows of `figures.gap_waterfall`, losses as fractions with intervals that resample canvases; none where no
        episode has a posterior.
    """
    of_runs = f"SELECT * FROM ({sql_file('gaps')}) WHERE list_contains($runs, run)"
    frame = database.query(of_runs, {"evidence": "window", "runs": list(runs)})
    if frame.is_empty():
        return []
    parts = {
        name: {key: [x for cell in frame[name] for x in cell[key]] for key in ("f", "c")}
        for name in ("reference_error", "acquisition", "interpretation", "no_answer", "agent_error")
    }
    (values,) = measured(pl.DataFrame([parts]))
    error = {name: value.interval for name, value in values.items()}
    whole, agent = error["reference_error"], error["agent_error"]
    seen = 1 - whole.estimate - error["acquisition"].estimate
    return [
        _level("reader on<br>all ink", 1 - whole.estimate, 1 - whole.high, 1 - whole.low, whole.n),
        _loss("did not<br>look", error["acquisition"]),
        _level("reader on<br>ink seen", seen, None, None, whole.n),
        _loss("misread<br>the seen", error["interpretation"]),
        _loss("did not<br>answer", error["no_answer"]),
        _level("agent<br>", 1 - agent.estimate, 1 - agent.high, 1 - agent.low, agent.n),
    ]


def _level(term: str, estimate: float, low: float | None, high: float | None, n: int) -> dict[str, Any]:
    return {"term": term, "estimate": estimate, "low": low, "high": high, "n": n, "total": True}


def _loss(term: str, value: Interval) -> dict[str, Any]:
    return {
        "term": term,
        "estimate": value.estimate,
        "low": value.low,
        "high": value.high,
        "n": value.n,
        "total": False,
    }


def episode_list(database: Database) -> pl.DataFrame:
    """Every episode with the columns of `EPISODE_COLUMNS`, small enough to be kept (about 100 bytes an episode)."""
    rows = database.query("episode_list")
    return rows.with_columns(pl.col(pl.String).cast(pl.Categorical))


def episodes_page(
    episodes: pl.DataFrame,
    runs: Sequence[str] | None,
    filters: Mapping[str, Any],
    order: Sequence[tuple[str, bool]],
    start: int,
    end: int,
) -> tuple[list[dict[str, Any]], int]:
    """Rows `start` to `end` of a list of episodes, and how many there are.

    Args:
        episodes: from `episode_list`.
        runs: only those; None for all.
        filters: `outcome` (right, wrong, none for no verdict), `label`, `stop_reason`, `source_episode_id`; null and
            empty ones are off.
        order: columns of `EPISODE_COLUMNS`, and whether descending.
        start: first row.
        end: row after the last.

    Raises:
        ValueError: for a column that there is not.
    """
    if unknown := {column for column, _ in order} - set(EPISODE_COLUMNS):
        raise ValueError(f"episodes have no column {', '.join(sorted(unknown))}")
    wanted = [pl.col(name) == filters[name] for name in _EQUAL if filters.get(name)]
    if runs is not None:
        wanted.append(pl.col("run").is_in(list(runs)))
    if outcome := filters.get("outcome"):
        verdict = {"right": True, "wrong": False, "none": None}[outcome]
        wanted.append(pl.col("correct").eq_missing(pl.lit(verdict, pl.Boolean)))
    found = episodes.filter(wanted) if wanted else episodes
    if order:
        columns, down = zip(*order, strict=True)
        found = found.sort(columns, descending=list(down), nulls_last=True, maintain_order=True)
    return found.slice(start, end - start).to_dicts(), found.height


def category_shares(verdicts: Sequence[Verdict], *, leads: bool) -> list[dict[str, Any]]:
    """Shares of failed episodes by category of the audit, over all runs together; categories without any left out.

    Args:
        verdicts: of the failed episodes.
        leads: count each episode under the category that leads only.
    """
    rows = []
    for name, *_ in CATEGORIES:
        k = sum(verdict.leads == name if leads else name in verdict.steps for verdict in verdicts)
        share = proportion(k, len(verdicts))
        if k:
            rows.append(
                {
                    "name": name,
                    "estimate": share.estimate,
                    "low": share.low,
                    "high": share.high,
                    "k": k,
                    "n": share.n,
                }
            )
    return rows
