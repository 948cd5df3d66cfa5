"""Broken run folders: each gives its diagnostics and loses nothing else."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from mnistpro_replay.schemas import Diagnostic, Episode
from mnistpro_replay.traces.adapters import FolderBundle, detect
from mnistpro_replay.traces.ingest import ingest
from mnistpro_replay.traces.store import Store
from mnistpro_replay.traces.world import embedded

HERE = Path(__file__).parent
CASES = sorted(folder.name for folder in (HERE / "broken").iterdir())
NAME = (
    "scripted-random_img224_box64_step32_maxsteps36_seed42_SpatialMemoryVisionAgent"
    "_hist-1_evalsets10_20261129_233135"
)


def build(case: str, root: Path) -> tuple[Path, dict]:
    folder, expect = root / NAME, json.loads((HERE / "broken" / case / "expect.json").read_text())
    shutil.copytree(HERE / "base", folder)
    if (HERE / "broken" / case / "overlay").exists():
        shutil.copytree(HERE / "broken" / case / "overlay", folder, dirs_exist_ok=True)
    for name in expect["delete"]:
        (folder / name).unlink()
    return folder, expect


def read(folder: Path) -> tuple[dict[str, Episode], list[Diagnostic]]:
    bundle = FolderBundle(folder)
    adapter = detect(bundle)
    assert adapter is not None and adapter.name == "mnistpro"
    items = list(adapter.read(bundle, embedded()))
    episodes = {item.episode_id: item for item in items if isinstance(item, Episode)}
    return episodes, [item for item in items if isinstance(item, Diagnostic)]


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Episode]:
    root = tmp_path_factory.mktemp("intact")
    shutil.copytree(HERE / "base", root / NAME)
    return read(root / NAME)[0]


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 25


@pytest.mark.parametrize("case", CASES)
def test_diagnosed_and_nothing_else_lost(case: str, tmp_path: Path, intact: dict[str, Episode]) -> None:
    folder, expect = build(case, tmp_path)
    episodes, diagnostics = read(folder)
    codes = {d.code for d in diagnostics} - {"image_missing"}
    assert codes == set(expect["codes"])
    assert len(episodes) == expect["episodes"]
    touched = {
        p.relative_to(HERE / "broken" / case / "overlay").parts[0]
        for p in (HERE / "broken" / case / "overlay").rglob("*")
        if p.is_file()
    }
    for source_id, episode in intact.items():
        whole_run = {"run_config.json", "results_summary.json"} & (touched | set(expect["delete"]))
        if f"episode_{source_id}" in touched or (whole_run and case != "summary_truncated"):
            assert source_id in episodes
        elif not whole_run:
            assert episodes[source_id] == episode


@pytest.mark.parametrize("case", CASES)
def test_every_case_reaches_the_store(case: str, tmp_path: Path) -> None:
    folder, expect = build(case, tmp_path)
    store = Store(tmp_path / "store", create=True)
    (run,) = ingest(store, [folder], embedded(), name="broken").runs
    assert run.episodes == expect["episodes"] == len(store.episodes("broken", texts=True))
    stored = set(store.scan("diagnostics").collect()["code"])
    assert stored - {"image_missing"} == set(expect["codes"])


def test_diagnostic_says_where(tmp_path: Path) -> None:
    folder, _ = build("trajectory_truncated", tmp_path)
    found = next(d for d in read(folder)[1] if d.code == "truncated_file")
    assert found.path == "episode_2/trajectory.json"
    assert found.position is not None and found.position.startswith("byte ")
    assert found.episode_id == "2"


def test_lone_surrogate_round_trips(tmp_path: Path) -> None:
    folder, _ = build("lone_surrogate", tmp_path)
    store = Store(tmp_path / "store", create=True)
    ingest(store, [folder], embedded(), name="r")
    texts = store.episodes("r", ["2"], texts=True)[0].step_texts
    assert any("\ud835" in (text.raw_reply or "") for text in texts)


def test_truncated_trajectory_is_taken_from_the_summary(tmp_path: Path, intact: dict[str, Episode]) -> None:
    folder, _ = build("trajectory_truncated", tmp_path)
    episode = read(folder)[0]["2"]
    assert [s.window_after for s in episode.steps] == [s.window_after for s in intact["2"].steps]
    assert (episode.answer_source, episode.success) == (intact["2"].answer_source, intact["2"].success)


def test_aborted_run_without_summary_is_whole(tmp_path: Path, intact: dict[str, Episode]) -> None:
    folder, _ = build("summary_missing", tmp_path)
    episodes, _ = read(folder)
    assert [len(e.steps) for e in episodes.values()] == [len(e.steps) for e in intact.values()]
    assert all(e.control_answer is None for e in episodes.values())


def test_episode_under_way_keeps_what_its_pictures_say(tmp_path: Path, intact: dict[str, Episode]) -> None:
    folder, _ = build("episode_under_way", tmp_path)
    episode = read(folder)[0]["9"]
    assert (episode.complete, episode.stop_reason, episode.answer) == (False, "running", None)
    assert episode.start == intact["0"].start
    assert episode.steps[0].window_after == intact["0"].steps[0].window_after


def test_non_square_window_leaves_geometry_unknown(tmp_path: Path) -> None:
    folder, _ = build("window_not_square", tmp_path)
    store = Store(tmp_path / "store", create=True)
    ingest(store, [folder], embedded(), name="r")
    assert store.run("r").geometry() is None
    assert store.run("r").window is None
