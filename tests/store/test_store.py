"""The store: whole runs or none, open tables, safe replacement."""

from __future__ import annotations

import multiprocessing
import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from deltalake import write_deltalake

from mnistpro_replay.schemas import SCHEMA_VERSION, Episode, Run, Step, StepText
from mnistpro_replay.traces.arrow import to_arrow
from mnistpro_replay.traces.ingest import NothingFound, ingest
from mnistpro_replay.traces.journal import Journal
from mnistpro_replay.traces.store import RunExists, Store, StoreError, natural
from mnistpro_replay.traces.world import embedded


def a_run(name: str = "r") -> Run:
    return Run(run=name, window=64, stride=32, panel=224, n_panels=1)


def an_episode(episode_id: str = "0", **fields: object) -> Episode:
    steps = [Step(step=0, action_kind="answer", action_raw='{"value": NaN}')]
    texts = [StepText(step=0, thought="lone \ud835 surrogate", spatial_map=[{"coords": [0, 0]}])]
    return Episode(
        episode_id=episode_id,
        source_episode_id=episode_id,
        steps=steps,
        step_texts=texts,
        start=(1, 2),
        windows_source=[(1, 2), (3, 4)],
        reasons={"canvas": "canvas_unknown"},
        **fields,
    )


def write(store: Store, run: Run, *episodes: Episode, replace: bool = False) -> None:
    with store.writer(run, "digest", replace=replace) as writer:
        for episode in episodes:
            writer.add(episode)


def test_episode_round_trips(tmp_path: Path) -> None:
    store = Store(tmp_path, create=True)
    write(store, a_run(), an_episode("0"), an_episode("10"), an_episode("9"))
    episodes = store.episodes("r", texts=True)
    assert [e.episode_id for e in episodes] == ["0", "9", "10"]
    assert episodes[0] == an_episode("0")


def test_polars_alone_opens_the_tables(sample_store: Store) -> None:
    episodes = pl.scan_delta(f"{sample_store.path}/episodes").collect()
    runs = pl.scan_delta(f"{sample_store.path}/runs").collect()
    joined = episodes.join(runs.select("ingest_id", "run"), on="ingest_id")
    assert sorted(joined["run"].unique()) == ["l1", "l2"]
    assert joined.height == 40


def test_a_failing_writer_leaves_no_run(tmp_path: Path) -> None:
    store = Store(tmp_path, create=True)
    write(store, a_run("other"), an_episode())
    with pytest.raises(RuntimeError), store.writer(a_run(), "digest") as writer:
        for number in range(600):
            writer.add(an_episode(str(number)))
        raise RuntimeError("disk full")
    assert store.find("*") == ["other"]
    assert store.scan("episodes").collect().height == 1
    assert store.orphans() == set()


def test_children_of_a_crash_are_invisible_and_swept(tmp_path: Path) -> None:
    store = Store(tmp_path, create=True)
    write(store, a_run("whole"), an_episode())
    store.append("episodes", [an_episode("7")], ingest_id="crashed")
    assert store.scan("episodes").collect()["run"].to_list() == ["whole"]
    assert store.orphans() == {"crashed"}
    store.delete_ingest("crashed")
    assert store.raw("episodes").collect().height == 1


def test_name_is_taken_unless_replaced(tmp_path: Path) -> None:
    store = Store(tmp_path, create=True)
    write(store, a_run(), an_episode("0"))
    with pytest.raises(RunExists):
        write(store, a_run(), an_episode("1"), an_episode("2"))
    assert [e.episode_id for e in store.episodes("r")] == ["0"]
    write(store, a_run(), an_episode("1"), an_episode("2"), replace=True)
    assert [e.episode_id for e in store.episodes("r")] == ["1", "2"]
    assert store.raw("episodes").collect().height == 2


def test_newer_schema_is_refused(tmp_path: Path) -> None:
    store = Store(tmp_path, create=True)
    write(store, a_run(), an_episode())
    row = store.run_row("r")
    stored = {k: row[k] for k in ("ingest_id", "source_digest", "n_episodes", "n_steps", "ingested")}
    newer = to_arrow("runs", [a_run()], **stored, schema_version=SCHEMA_VERSION + 1)
    write_deltalake(store.uri("runs"), newer, mode="overwrite")
    with pytest.raises(StoreError, match="upgrade"):
        Store(tmp_path)


def test_no_store_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="ingest"):
        Store(tmp_path / "nothing")


def test_rename_tag_remove(tmp_path: Path) -> None:
    store = Store(tmp_path, create=True)
    for name in ("a", "b", "it's"):
        write(store, a_run(name), an_episode())
    store.tag("a", ["good", "final"])
    store.rename("a", "c")
    assert store.run("c").tags == ["good", "final"]
    assert store.episodes("c")[0].episode_id == "0"
    with pytest.raises(RunExists):
        store.rename("c", "b")
    store.remove("it's")
    assert store.find("*") == ["b", "c"]
    with pytest.raises(StoreError):
        store.remove("it's")
    assert store.raw("episodes").collect().height == 2


def _append(path: str, name: str) -> None:
    store = Store(path)
    for number in range(3):
        write(store, a_run(f"{name}-{number}"), an_episode())


def test_concurrent_writers_lose_nothing(tmp_path: Path) -> None:
    write(Store(tmp_path, create=True), a_run("first"), an_episode())
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        pool.starmap(_append, [(str(tmp_path), name) for name in "abc"])
    store = Store(tmp_path)
    assert len(store.find("*")) == 10
    assert store.scan("episodes").collect().height == 10


def test_compaction_keeps_rows_and_order(tmp_path: Path) -> None:
    store = Store(tmp_path, create=True)
    for number in range(5):
        write(store, a_run(f"r{number}"), an_episode(str(number)))
    before = store.raw("episodes").sort("episode_id").collect()
    assert store.compact()["episodes"] > 0
    assert store.raw("episodes").sort("episode_id").collect().equals(before)


def test_a_run_that_grew_is_ingested_again(sample_folders: dict[int, Path], tmp_path: Path) -> None:
    folder = tmp_path / sample_folders[1].name
    shutil.copytree(sample_folders[1], folder)
    (folder / "results_summary.json").unlink()
    late = [shutil.move(folder / f"episode_{n}", tmp_path / f"episode_{n}") for n in (18, 19)]
    store = Store(tmp_path / "store", create=True)
    assert ingest(store, [folder], embedded(), name="r").runs[0].episodes == 18
    for path in late:
        shutil.move(path, folder)
    (run,) = ingest(store, [folder], embedded(), name="r").runs
    assert (run.episodes, run.unchanged) == (20, False)
    assert store.raw("episodes").collect().height == 20


def test_another_source_under_the_same_name_is_refused(
    sample_folders: dict[int, Path], tmp_path: Path
) -> None:
    store = Store(tmp_path / "store", create=True)
    ingest(store, [sample_folders[1]], embedded(), name="r")
    with pytest.raises(RunExists, match="--replace"):
        ingest(store, [sample_folders[2]], embedded(), name="r")
    assert store.run("r").n_panels == 1
    ingest(store, [sample_folders[2]], embedded(), name="r", replace=True)
    assert store.run("r").n_panels == 2


def test_several_runs_under_one_path_become_several_runs(
    sample_folders: dict[int, Path], tmp_path: Path
) -> None:
    store = Store(tmp_path, create=True)
    report = ingest(store, [sample_folders[1].parent], embedded(), name="both")
    assert sorted(run.run for run in report.runs) == sorted(f"both/{f.name}" for f in sample_folders.values())


def test_nothing_known_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "step_0.pkl.gz").write_bytes(b"\x1f\x8b")
    with pytest.raises(NothingFound, match="pickle"):
        ingest(Store(tmp_path / "store", create=True), [tmp_path], embedded())


def test_non_ascii_folder_names(sample_folders: dict[int, Path], tmp_path: Path) -> None:
    folder = tmp_path / "丽爱说" / "é" / sample_folders[1].name
    shutil.copytree(sample_folders[1], folder)
    store = Store(tmp_path / "store", create=True)
    (run,) = ingest(store, [tmp_path / "丽爱说"], embedded()).runs
    assert run.episodes == 20


def test_journal_survives_a_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    with Journal(path) as journal:
        journal.append({"n": 1})
        journal.append({"n": 2})
    with path.open("ab") as file:
        file.write(b'{"n": 3, "te')
    with Journal(path) as journal:
        journal.append({"n": 4})
        assert [record["n"] for record in journal.records()] == [1, 2, 4]
        with pytest.raises(BlockingIOError, match="another process"):
            Journal(path)
        journal.clear()
    assert not path.exists()


def test_natural_order() -> None:
    assert sorted(["10", "9", "a2", "a10", "9~2"], key=natural) == ["9", "9~2", "10", "a2", "a10"]


def test_run_id_depends_on_the_condition_alone() -> None:
    from mnistpro_replay.traces.episodes import run_id

    run = a_run()
    assert run_id(run) == run_id(replace(run, run="other", repeat=3, tags=["x"]))
    changes = [
        {"window": 32},
        {"turn_mode": "natural"},
        {"seed": 7},
        {"draw_border": False},
        {"memory": "image_only"},
    ]
    assert len({run_id(replace(run, **change)) for change in changes} | {run_id(run)}) == 6


@pytest.mark.parametrize("name", ["with space", "丽爱说 ünï", "a#b", "it's", "a*b"])
def test_store_paths_that_people_have(tmp_path: Path, name: str) -> None:
    from mnistpro_replay.analysis.database import Database

    store = Store(tmp_path / name, create=True)
    write(store, a_run("gone"), an_episode())
    write(store, a_run(), an_episode())
    store.remove("gone")
    assert [e.episode_id for e in Store(tmp_path / name).episodes("r", texts=True)] == ["0"]
    assert Database(store, posterior=None).query("SELECT run FROM episodes")["run"].to_list() == ["r"]


def test_store_paths_that_delta_cannot_hold_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot contain"):
        Store(tmp_path / "we[ird]", create=True)
