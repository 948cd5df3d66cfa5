"""Tables on runs of the official runner give what the official runner stored, or what follows from it."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from statistics import mean
from typing import Any

import polars as pl
import pytest

from mnistpro_replay.analysis.database import Database
from mnistpro_replay.analysis.tables import TABLES, Options, plain
from mnistpro_replay.traces.store import Store

OFFICIAL = {
    "official_stroke_coverage": "stroke_coverage",
    "official_stroke_coverage_readable": "stroke_coverage_readable",
    "official_area_coverage": "area_coverage",
    "official_revisit_rate": "revisit_rate",
}
TOPOLOGY = {"strokes": "147", "curves": "235", "loops": "0689"}

Reference = dict[str, list[dict[str, Any]]]


pytestmark = pytest.mark.soak  # all archives of the official runner


@pytest.fixture(scope="module")
def reference(shared: Path) -> Reference:
    """Rows of the official metrics, by run."""
    rows = defaultdict(list)
    for line in (shared / "upstream" / "reference_metrics.jsonl").read_text().splitlines():
        row = json.loads(line)
        rows[row["run"]].append(row)
    return rows


@pytest.fixture(scope="module")
def index(shared: Path) -> dict[str, dict[str, Any]]:
    """The official runner's summary of each run."""
    return {row["run"]: row for row in json.loads((shared / "upstream" / "runs_index.json").read_text())}


@pytest.fixture(scope="module")
def database(upstream_store: Store) -> Database:
    return Database(upstream_store)


def rows_of(database: Database, name: str) -> list[dict[str, Any]]:
    return plain(TABLES[name].rows(database, Options()))


def test_official_columns_equal_every_episode(database: Database, reference: Reference) -> None:
    ours = database.query(f"SELECT run, source_episode_id, {', '.join(OFFICIAL)} FROM episode_metrics")
    ours = {(row["run"], row["source_episode_id"]): row for row in ours.iter_rows(named=True)}
    checked = 0
    for run, rows in reference.items():
        for row in rows:
            mine = ours[run, str(row["episode_id"])]
            for column, official in OFFICIAL.items():
                assert mine[column] == pytest.approx(row[official], abs=1e-6), (
                    run,
                    row["episode_id"],
                    column,
                )
                checked += 1
    assert checked == 4 * 1190


def test_released_runs_give_coverage_but_no_revisit_rate(database: Database, shared: Path) -> None:
    for path in (shared / "upstream" / "released_reference").glob("*.json"):
        reference = {str(row["episode_id"]): row for row in json.loads(path.read_text())}
        rows = database.query("SELECT * FROM episode_metrics WHERE run = $run", {"run": path.stem})
        assert rows.height == len(reference)
        for row in rows.iter_rows(named=True):
            assert row["official_revisit_rate"] is None
            reasons, true = json.loads(row["reasons"]), reference[row["source_episode_id"]]
            if int(row["source_episode_id"]) < 10:
                assert row["official_stroke_coverage"] == pytest.approx(true["stroke_coverage"], abs=1e-6)
                assert row["official_area_coverage"] == pytest.approx(true["area_coverage"], abs=1e-6)
                assert reasons["official_revisit_rate"] == "recovered"
            else:
                assert row["official_stroke_coverage"] is None
                assert reasons["official_stroke_coverage"]


@pytest.mark.parametrize("table", ["2", "8"])
def test_accuracy_steps_and_coverage_equal_the_official_summary(
    database: Database, index: dict[str, dict[str, Any]], table: str
) -> None:
    rows = {row["run"]: row for row in rows_of(database, table) if row["run"]}
    assert set(index) <= set(rows)
    for run, summary in index.items():
        metrics, row = summary["metrics"], rows[run]
        assert row["n"] == metrics["total_episodes"]
        assert row["accuracy_scored_n"] == metrics["scored_episodes"]
        assert row["accuracy_scored"] == pytest.approx(metrics["accuracy"], abs=1e-9)
        assert row["steps"] == pytest.approx(metrics["average_steps"], abs=1e-9)
        assert row["official_stroke_coverage"] == pytest.approx(metrics["average_stroke_coverage"], abs=1e-6)
        assert row["accuracy_scored_low"] < row["accuracy_scored"] < row["accuracy_scored_high"]


def shown_windows(row: dict[str, Any], mcp: bool) -> list[list[int]]:
    """Windows that were put before the agent: without the repeat after a rejected direction, and, where pictures
    come with the next request, without the one after the last allowed move."""
    windows = list(row["windows"])
    moved_last = row["n_moves"] == row["n_steps"]
    if moved_last and (row["termination_reason"] == "invalid_action" or not mcp and is_limit(row)):
        windows.pop()
    return windows


def is_limit(row: dict[str, Any]) -> bool:
    return row["termination_reason"] == "step_limit"


def test_table_5_equals_figures_from_the_official_windows(
    database: Database, reference: Reference, index: dict[str, dict[str, Any]]
) -> None:
    rows = {row["run"]: row for row in rows_of(database, "5")}
    for run, episodes in reference.items():
        mcp = index[run]["harness"] == "mcp"
        scored = [row for row in episodes if row["error"] is None]
        paths = [shown_windows(row, mcp) for row in scored]
        moves = [
            row["n_moves"]
            - (row["termination_reason"] == "invalid_action" and row["n_moves"] == row["n_steps"])
            for row in scored
        ]
        revisits = [len(path) - len({tuple(window) for window in path}) for path in paths]
        moved = [(r, len(path) - 1) for r, path in zip(revisits, paths, strict=True) if len(path) > 1]
        row = rows[run]
        assert row["n"] == len(scored)
        assert row["moves"] == pytest.approx(mean(moves)), run
        assert row["revisit_rate_macro"] == pytest.approx(mean(r / m for r, m in moved)), run
        assert row["revisit_rate_pooled"] == pytest.approx(
            sum(r for r, _ in moved) / sum(m for _, m in moved)
        ), run
        assert row["official_revisit_rate"] == pytest.approx(
            mean(e["revisit_rate"] for e in scored), abs=1e-6
        )
        assert row["official_stroke_coverage"] == pytest.approx(
            mean(e["stroke_coverage"] for e in scored), abs=1e-6
        )


def test_table_6_equals_figures_from_the_official_rows(database: Database, reference: Reference) -> None:
    rows = {(row["run"], row["topology"]): row for row in rows_of(database, "6")}
    checked = 0
    for run, episodes in reference.items():
        if len(episodes[0]["label"]) > 1:
            continue
        for group, digits in TOPOLOGY.items():
            members = [row for row in episodes if row["label"] in digits]
            scored = [row for row in members if row["error"] is None]
            mine = rows[run, group]
            assert (mine["n"], mine["accuracy_scored_n"]) == (len(members), len(scored))
            assert mine["accuracy_scored"] == pytest.approx(mean(row["success"] for row in scored))
            assert mine["accuracy_all"] == pytest.approx(mean(row["success"] for row in members))
            checked += 1
    assert checked >= 24


def test_single_digit_audit_counts_what_the_traces_show(database: Database, reference: Reference) -> None:
    rows = {(row["run"], row["statistic"]): row for row in rows_of(database, "exploration")}
    for run, episodes in reference.items():
        if len(episodes[0]["label"]) == 1:
            continue
        scored = [row for row in episodes if row["error"] is None]
        single = [row for row in scored if row["answer"] in list("0123456789")]
        assert rows[run, "single_digit"]["value"] == pytest.approx(len(single) / len(scored))
        assert rows[run, "single_digit_other_never_seen"]["n"] == len(single)
        if single:
            actions = rows[run, "single_digit_actions"]["value"]
            assert actions == pytest.approx(mean(row["n_steps"] for row in single))
    assert rows["all runs", "single_digit"]["n"] > 300


def test_agreement_joins_worlds_and_says_how_much(database: Database) -> None:
    rows = rows_of(database, "agreement")
    assert rows
    for row in rows:
        assert 0 < row["n"] <= min(row["n_a"], row["n_b"])
        assert row["difference"] == pytest.approx(row["accuracy_a"] - row["accuracy_b"])
        assert row["difference_p"] <= row["p_holm"] <= 1


def test_curves_of_step_metrics_are_monotone_and_end_at_the_episode(database: Database) -> None:
    steps = database.query(
        "SELECT s.*, e.coverage_window AS final, e.coverage_visible_exact AS final_exact FROM step_metrics s "
        "JOIN episode_metrics e USING (ingest_id, episode_id)"
    ).sort("run", "episode_id", "glimpse")
    for mode, final in (("coverage_window", "final"), ("coverage_visible_exact", "final_exact")):
        grown = steps.select((pl.col(mode).diff().over("run", "episode_id") >= 0).alias("grown"))[
            "grown"
        ].drop_nulls()
        assert grown.len() > 20_000 and grown.all()
        last = steps.group_by("run", "episode_id", maintain_order=True).last()
        assert (last[mode] == last[final]).all()
    assert (steps["coverage_visible_exact"] <= steps["coverage_window"]).all()
