"""The tables by name: rows with intervals (`measures`). How they are printed is the command line's affair."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from ..schemas import Evidence
from ..schemas.metrics import Posterior
from . import belief_tables, claims, harness, loops
from .database import Database
from .measures import Row, Value, difference, flat, long, measured, with_averages
from .paper import compared, compared_diagnostics
from .posterior import panel_calibration
from .statistics import Interval, holm, paired_counts, power_paired, proportion, sample_size_paired
from .stopping import load_stops
from .stopping_tables import risk_coverage_rows, stopping, survival_rows

COVERAGE_BINS = ((-1.0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1.0))
"""Bins of the smallest coverage of a panel, open at the left (docs/metrics.md 2.1, F3c)."""
_GROUP = ("model", "condition", "horizon", "window_px", "stride")


@dataclass(frozen=True)
class Options:
    """What a table may be asked for.

    Attributes:
        evidence: which pixels of a glimpse count as seen, where a predictor reads.
        compare_paper: set the published values beside ours.
        published: evaluate the claims on the paper's own numbers.
    """

    evidence: Evidence = "window"
    compare_paper: bool = False
    published: bool = False


@dataclass(frozen=True)
class Table:
    """A table that can be asked for by name.

    Attributes:
        title: what it says, in a line.
        rows: makes it.
        posterior: which readings of the reference reader it needs.
        paper: whether the paper has numbers to compare it with.
    """

    title: str
    rows: Callable[[Database, Options], list[Row]]
    posterior: Posterior = "none"
    paper: bool = False


def _numbered(number: int, title: str, *, averages: bool = True) -> Table:
    """A table of the paper from `sql/table_N.sql`, with averages over levels where it has them."""

    def rows(database: Database, options: Options) -> list[Row]:
        result = measured(database.query(f"table_{number}"))
        if options.compare_paper:
            return compared(number, result)
        keys = [key for key in (*_GROUP, "predictor", "evidence") if result and key in result[0]]
        return with_averages(result, keys) if averages else result

    return Table(title, rows, paper=True)


def _from_sql(name: str, title: str) -> Table:
    return Table(title, lambda database, options: measured(database.query(name)))


def exploration(database: Database, options: Options) -> list[Row]:
    """How episodes with several digits explore: one row a statistic (`sql/exploration.sql`)."""
    rows = long(measured(database.query("exploration")))
    return list(compared_diagnostics(rows)) if options.compare_paper else rows


def gaps(database: Database, options: Options) -> list[Row]:
    """Where the error comes from: one row a term, and the calibration of the reader that the terms lean on."""
    parameters = {"evidence": options.evidence}
    rows = long(measured(database.query("gaps", parameters)))
    rows += long(measured(database.query("gaps_canvas", parameters)))
    return sorted(rows + calibration(database, options.evidence), key=lambda row: row["run"])


def calibration(database: Database, evidence: Evidence) -> list[Row]:
    """Accuracy and calibration of the reference reader on the evidence of each run, panel by panel."""
    frame = database.query(
        f"SELECT run, model, condition, level, label, posterior_{evidence} AS posterior FROM trials "
        f"WHERE posterior_{evidence} IS NOT NULL AND length(label) = n_panels ORDER BY run"
    )
    rows = []
    for (run,), part in frame.group_by("run", maintain_order=True):
        labels = np.array([int(digit) for label in part["label"] for digit in label])
        posteriors = np.array([panel for panels in part["posterior"].to_list() for panel in panels])
        accuracy, found = panel_calibration(posteriors, labels)
        keys = {
            **part.select("model", "condition", "level").row(0, named=True),
            "run": run,
            "evidence": evidence,
        }
        ece = Interval(found.ece, None, None, found.n, "equal-mass bins")
        rows += [
            {
                **keys,
                "statistic": "reference: panels read right",
                "n": found.n,
                "value": Value(accuracy, True),
            },
            {**keys, "statistic": "reference: calibration error", "n": found.n, "value": Value(ece, True)},
        ]
    return rows


def agreement(database: Database, options: Options) -> list[Row]:
    """Pairs of runs over the same worlds; p adjusted after Holm over the pairs."""
    rows = measured(database.query("agreement"))
    return _with_holm(rows, "difference")


def _with_holm(rows: list[Row], column: str) -> list[Row]:
    tested = [row for row in rows if row.get(column) is not None]
    for row, p in zip(tested, holm([row[column].p for row in tested]), strict=True):
        row["p_holm"] = p
    return rows


def power(database: Database, options: Options) -> list[Row]:
    """Could these runs have shown their difference, and how many episodes would (80 % power, 5 %, two-sided)?"""
    rows = []
    for row in database.query("agreement").iter_rows(named=True):
        n, counts = row["n"], row["difference"]
        only = [proportion(counts[name], n) for name in ("only_a", "only_b")]
        a, b = (interval.estimate or 0.0 for interval in only)
        rows.append(
            {
                **{key: row[key] for key in ("run_a", "run_b", "n")},
                "only_a": Value(only[0], True),
                "only_b": Value(only[1], True),
                "power": power_paired(n, a, b),
                "episodes_needed": None if a == b else sample_size_paired(a, b),
            }
        )
    return rows


def interpretation(database: Database, options: Options) -> list[Row]:
    """Predictors on the same frozen canvases: all, by coverage and by digit, then every pair (McNemar, Holm)."""
    readings = database.query("interpretation", {"evidence": options.evidence})
    names = readings["predictor"].unique().sort().to_list()
    wide = readings.pivot(
        "predictor", index=["ingest_id", "episode_id", "label", "min_coverage"], values="read_right"
    ).drop_nulls(names)
    parts = [("all", wide), *_by_coverage(wide), *_by_digit(wide)]
    rows = [
        {"part": part, "predictor": name, "n": frame.height, "accuracy": _accuracy(frame[name])}
        for part, frame in parts
        if frame.height
        for name in sorted(names, key=lambda name: -frame[name].sum())
    ]
    pairs: list[Row] = []
    for a, b in combinations(names, 2):
        counts = paired_counts(wide[a].to_numpy(), wide[b].to_numpy())
        pairs.append(
            {"part": "pairs", "predictor": f"{a} - {b}", "n": wide.height, "difference": difference(counts)}
        )
    return rows + _with_holm(pairs, "difference")


def _accuracy(right: pl.Series) -> Value:
    return Value(proportion(int(right.sum()), len(right)), True)


def _by_coverage(frame: pl.DataFrame) -> Iterable[tuple[str, pl.DataFrame]]:
    for low, high in COVERAGE_BINS:
        inside = frame.filter((pl.col("min_coverage") > low) & (pl.col("min_coverage") <= high))
        yield f"least seen digit {max(low, 0):.0%}-{high:.0%}", inside


def _by_digit(frame: pl.DataFrame) -> Iterable[tuple[str, pl.DataFrame]]:
    return ((f"digit {digit}", frame.filter(pl.col("label").str.contains(digit))) for digit in "0123456789")


def the_claims(database: Database, options: Options) -> list[Row]:
    """The paper's claims on the selected runs, or on its own numbers."""
    return claims.evaluate(claims.published() if options.published else claims.of_runs(database))


TABLES: dict[str, Table] = {
    "1": _numbered(1, "Native multi-turn: accuracy and steps"),
    "2": _numbered(2, "Accuracy and steps by memory condition"),
    "3": _numbered(3, "The same trajectories with and without a canvas"),
    "4": _numbered(4, "A coding agent over tools against the model in the loop"),
    "5": _numbered(5, "Moves, revisits, stroke coverage", averages=False),
    "6": _numbered(6, "Accuracy by topology of the label", averages=False),
    "7": _numbered(7, "Accuracy and steps by length of the visual history"),
    "8": _numbered(8, "Accuracy and steps by window"),
    "exploration": Table(
        "How episodes with several digits explore; the single-digit audit", exploration, paper=True
    ),
    "swap-matrix": _from_sql("swap_matrix", "Trajectory by representation by predictor"),
    "gaps": Table("Where the error comes from; terms add up", gaps, posterior="last"),
    "topology": _from_sql("topology", "Accuracy by topology of the label and of the digit as drawn"),
    "agreement": Table("Runs over the same worlds, in pairs", agreement),
    "interpretation": Table("Predictors on the same frozen canvases", interpretation),
    "usage": _from_sql("usage", "Tokens, cost, time"),
    "stopping": Table(
        "Stopping against the evidence",
        lambda database, options: stopping(database, options.evidence),
        posterior="each",
    ),
    "survival": Table(
        "When agents commit, and how it ends",
        lambda database, options: survival_rows(load_stops(database, options.evidence)),
        posterior="each",
    ),
    "risk-coverage": Table(
        "Which scores tell right answers from wrong ones",
        lambda database, options: risk_coverage_rows(load_stops(database, options.evidence)),
        posterior="each",
    ),
    "beliefs": Table(
        "Stated beliefs against the evidence",
        belief_tables.table(belief_tables.belief_table),
        posterior="each",
    ),
    "revision": Table(
        "How beliefs change, and how long wrong ones live",
        belief_tables.table(belief_tables.revision_table),
        posterior="each",
    ),
    "harness": Table(
        "What tool-using agents did: canvases built and reopened, stored procedures executed",
        lambda database, options: harness.table(database),
    ),
    "loops": Table(
        "Moves that led back: by the agent's own plan, or against it",
        lambda database, options: loops.table(database),
    ),
    "power": Table("Could the difference of two runs have been found", power),
    "claims": Table("The paper's 24 claims", the_claims, paper=True),
}
"""Every table; other modules of this room add theirs here."""


def plain(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Rows for machines: every measure as name, name_low, name_high, name_n."""
    return [flat({key: value for key, value in row.items() if key != "tags"}) for row in rows]
