"""The views: what they hold, and what a query may not do."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest
from deltalake import DeltaTable

from mnistpro_replay.analysis.database import Database, QueryError
from mnistpro_replay.analysis.metrics import ensure
from mnistpro_replay.schemas import TABLES
from mnistpro_replay.traces.store import Store


@pytest.fixture
def store(sample_store: Store, tmp_path: Path) -> Store:
    """A copy of the bundled runs, free to be changed, under a path with a quote."""
    return Store(shutil.copytree(sample_store.path, tmp_path / "it's"))


@pytest.fixture
def database(store: Store) -> Database:
    return Database(store)


def test_views_hold_the_live_rows_of_every_table(database: Database, store: Store) -> None:
    for name in TABLES:
        expected = store.scan(name).select(pl.len()).collect().item()
        assert database.query(f"SELECT count(*) AS n FROM {name}")["n"][0] == expected, name
    assert database.query("SELECT count(*) AS n FROM trials")["n"][0] == store.runs()["n_episodes"].sum()
    assert database.query("SELECT count(*) AS n FROM trials WHERE version IS NULL")["n"][0] == 0


def test_selection_by_run_and_by_episode(store: Store) -> None:
    ids = [episode.source_episode_id for episode in store.episodes("l2")[:2]]
    database = Database(store, [("l1", None), ("l2", ids)])
    counts = dict(database.query("SELECT run, count(*) FROM episodes GROUP BY run").iter_rows())
    assert counts == {"l1": len(store.episodes("l1")), "l2": 2}
    steps = database.query("SELECT count(*) AS n FROM steps WHERE run = 'l2'")["n"][0]
    assert steps == sum(len(episode.steps) for episode in store.episodes("l2", ids))
    assert Database(store, [("l1", None)]).query("SELECT DISTINCT run FROM step_metrics")[
        "run"
    ].to_list() == ["l1"]
    assert Database(store, []).query("SELECT * FROM trials").is_empty()


def test_orphaned_rows_are_not_seen(store: Store) -> None:
    before = Database(store).query("SELECT count(*) AS n FROM episodes")["n"][0]
    rows = store.raw("episodes").collect().with_columns(ingest_id=pl.lit("crashed")).to_arrow()
    store.append_arrow("episodes", rows.cast(DeltaTable(store.uri("episodes")).to_pyarrow_dataset().schema))
    assert Database(store).query("SELECT count(*) AS n FROM episodes")["n"][0] == before


@pytest.mark.parametrize(
    "statement",
    [
        "COPY (SELECT 1) TO '{out}'",
        "COPY episodes TO '{store}/x.csv'",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM glob('/etc/*')",
        "SELECT * FROM read_parquet('{store}/images/*.parquet')",
        "ATTACH '{out}'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET threads = 1",
        "RESET lock_configuration",
        "SET enable_external_access = true",
        "PRAGMA enable_profiling",
        "CREATE TABLE mine AS SELECT 1",
        "DROP VIEW runs",
        "DELETE FROM selected_runs",
        "EXPORT DATABASE '{out}'",
        "SELECT 1; SELECT 2",
        "SELECT * FROM database",
        "nonsense",
        "",
    ],
)
def test_locked_down(database: Database, store: Store, tmp_path: Path, statement: str) -> None:
    before = sorted(path for path in Path(store.path).rglob("*"))
    out = tmp_path / "out"
    text = statement.format(out=out, store=store.path.replace("'", "''"))
    with pytest.raises(QueryError) as refused:
        database.query(text)
    assert str(refused.value)
    assert not out.exists()
    assert sorted(path for path in Path(store.path).rglob("*")) == before
    assert database.query("SELECT count(*) AS n FROM runs")["n"][0] == 2


def test_reading_statements_are_served(database: Database) -> None:
    assert "trials" in database.query("SHOW TABLES")["name"].to_list()
    assert database.query("DESCRIBE runs").height > 10
    assert database.query("FROM runs SELECT run ORDER BY run")["run"].to_list() == ["l1", "l2"]
    assert database.query("WITH a AS (SELECT $x AS x) SELECT x FROM a", {"x": 3})["x"].to_list() == [3]
    assert database.query("table_2").height == 2


def test_threads_ask_at_once(database: Database) -> None:
    def ask(i: int) -> int:
        return database.query("SELECT count(*) + $i AS n FROM trials", {"i": i})["n"][0]

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(64)))
    assert [answer - i for i, answer in enumerate(answers)] == [answers[0]] * 64


def test_a_relative_path_and_a_url_work(
    store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ensure(store, ["l1", "l2"])
    expected = Database(store).query("SELECT count(*) AS n, sum(n_glimpses) AS g FROM trials").row(0)
    monkeypatch.chdir(Path(store.path).parent)
    relative = Database(Store(os.path.relpath(store.path)))
    assert relative.query("SELECT count(*) AS n, sum(n_glimpses) AS g FROM trials").row(0) == expected
    plain = shutil.copytree(store.path, tmp_path / "plain")
    remote = Database(Store(f"file://{plain}"), posterior=None)
    assert remote.query("SELECT count(*) AS n, sum(n_glimpses) AS g FROM trials").row(0) == expected


def test_a_picture_of_the_store_does_not_change(store: Store) -> None:
    database = Database(store)
    store.rename("l1", "other")
    assert database.query("FROM runs SELECT run ORDER BY run")["run"].to_list() == ["l1", "l2"]
    assert Database(store).query("FROM runs SELECT run ORDER BY run")["run"].to_list() == ["l2", "other"]
