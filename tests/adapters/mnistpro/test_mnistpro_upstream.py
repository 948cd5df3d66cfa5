"""Real run folders: what comes in equals what the official runner stored."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path

import polars as pl
import pytest

from mnistpro_replay.replay.verify import Verification, verify
from mnistpro_replay.schemas import Episode
from mnistpro_replay.traces.adapters import FolderBundle
from mnistpro_replay.traces.adapters.mnistpro import ADAPTER
from mnistpro_replay.traces.ingest import ingest
from mnistpro_replay.traces.store import Store
from mnistpro_replay.traces.world import embedded

pytestmark = pytest.mark.soak  # all archives of the official runner


@pytest.fixture(scope="module")
def reference(shared: Path) -> dict[str, dict[str, dict]]:
    rows: dict[str, dict[str, dict]] = defaultdict(dict)
    for line in (shared / "upstream" / "reference_metrics.jsonl").read_text().splitlines():
        row = json.loads(line)
        rows[f"{row['commit']}__{row['run']}"][str(row["episode_id"])] = row
    return rows


@pytest.fixture(scope="module")
def store(upstream: Path, tmp_path_factory: pytest.TempPathFactory) -> Store:
    store = Store(tmp_path_factory.mktemp("upstream-store"), create=True)
    for folder in sorted(upstream.iterdir()):
        ingest(store, [folder], embedded(), name=folder.name)
    return store


def test_every_episode_equals_what_the_runner_stored(store: Store, reference: dict) -> None:
    checked = 0
    for name, rows in reference.items():
        episodes = {e.source_episode_id: e for e in store.episodes(name)}
        assert set(episodes) == set(rows)
        for source_id, row in rows.items():
            episode = episodes[source_id]
            assert len(episode.steps) == episode.n_actions == row["n_steps"]
            assert episode.label == row["label"]
            assert episode.digit_indices == row["indices"]
            assert episode.answer_source == row["answer"]
            assert episode.success == row["success"]
            assert episode.termination_raw == row["termination_reason"]
            assert [list(w) for w in episode.windows_source or []] == row["windows"]
            assert (episode.control_answer, episode.control_success) == (
                row["control_prediction"],
                row["control_success"],
            )
            checked += 1
    assert checked > 1000


def test_nothing_but_missing_pictures_is_diagnosed(store: Store, reference: dict) -> None:
    codes = Counter()
    for name in reference:
        codes.update(store.scan("diagnostics").filter(pl.col("run") == name).collect()["code"])
    assert set(codes) == {"image_missing"}


def test_every_recorded_picture_is_exact(store: Store) -> None:
    total = Verification()
    for name in store.runs()["run"]:
        for finding in verify(store, name):
            total.add(finding)
    assert total.counts["exact"] > 3000
    assert (total.counts["mismatch"], total.counts["outline_only"]) == (0, 0)
    assert set(total.reasons) <= {"not_recorded"}


def released(upstream: Path) -> list[Path]:
    return [next(folder.iterdir()) for folder in sorted(upstream.glob("released__*"))]


def test_released_layout_gives_the_distinct_windows_of_pictured_episodes(
    upstream: Path, shared: Path
) -> None:
    for folder in released(upstream):
        truth = json.loads((shared / "upstream" / "released_reference" / f"{folder.name}.json").read_text())
        rows = truth if isinstance(truth, list) else truth["episodes"]
        by_id = {str(row["episode_id"]): row for row in rows}
        items = ADAPTER.read(FolderBundle(folder), embedded())
        episodes = {item.source_episode_id: item for item in items if isinstance(item, Episode)}
        assert len(episodes) == 100
        for source_id in map(str, range(10)):
            found = {tuple(w) for w in episodes[source_id].windows_source or ()}
            assert found == {tuple(w) for w in by_id[source_id]["windows"]}
            assert episodes[source_id].reasons["windows_source"] == "recovered"


def test_released_layout_without_pictures_knows_the_start_alone(upstream: Path, shared: Path) -> None:
    for folder in released(upstream):
        truth = json.loads((shared / "upstream" / "released_reference" / f"{folder.name}.json").read_text())
        by_id = {
            str(row["episode_id"]): row for row in (truth if isinstance(truth, list) else truth["episodes"])
        }
        episodes = [i for i in ADAPTER.read(FolderBundle(folder), embedded()) if isinstance(i, Episode)]
        for episode in episodes[10:]:
            assert list(episode.start or ()) == by_id[episode.source_episode_id]["windows"][0]
            assert episode.windows_source is None and episode.windows() is None
            assert (episode.n_moves, episode.n_glimpses) == (None, None)
            assert episode.reasons == {"windows_source": "not_recorded", "glimpses": "not_recorded"}


def test_released_layout_does_not_lean_on_undocumented_fields(upstream: Path, tmp_path: Path) -> None:
    """Without `history`, `prediction` and the like the certain things still come in."""
    import shutil

    source = released(upstream)[0]
    folder = tmp_path / source.name
    shutil.copytree(source, folder)
    path = folder / "results_summary.json"
    summary = json.loads(path.read_text())
    certain = ("episode_id", "eval_index", "indices", "label")
    summary["episodes"] = [{k: v for k, v in e.items() if k in certain} for e in summary["episodes"]]
    path.write_text(json.dumps(summary))
    episodes = [i for i in ADAPTER.read(FolderBundle(folder), embedded()) if isinstance(i, Episode)]
    assert len(episodes) == 100
    assert all(e.answer is None and e.success is None and e.stop_reason == "unknown" for e in episodes)
    assert all(e.label for e in episodes)
    assert episodes[0].windows_source


def test_shown_follows_the_counting_rules(store: Store, reference: dict) -> None:
    """The picture after the last allowed move is shown by tools only; one in a failed request is not shown."""
    kinds = Counter()
    for name in reference:
        run = store.run(name)
        for episode in store.episodes(name):
            if not episode.steps:
                continue
            last = episode.steps[-1]
            if last.action_kind != "move" or not last.valid:
                continue
            kinds[run.harness, episode.stop_reason] += 1
            replied = (episode.error or "").startswith("OverflowError")
            assert last.shown == (run.harness == "mcp" or replied)
            assert all(s.shown for s in episode.steps[:-1] if s.action_kind == "move")
    assert {reason for _, reason in kinds} >= {"step_limit", "error", "no_answer"}


def test_quirks_are_read_as_documented(store: Store, reference: dict) -> None:
    statuses, raw_types, rejected = Counter(), Counter(), 0
    for name, rows in reference.items():
        for episode in store.episodes(name):
            row = rows[episode.source_episode_id]
            statuses[episode.answer_status] += 1
            raw_types[episode.answer_raw_type] += 1
            bad = [s for s in episode.steps if s.action_kind == "move" and not s.valid]
            rejected += len(bad)
            assert episode.n_moves == row["n_moves"] - len(bad)
            assert episode.n_glimpses_reached == episode.n_moves + 1
            if episode.answer_source == "-1":
                assert (episode.answer, episode.answer_status) == (None, "unparseable")
            if episode.answer is not None and episode.answer_status == "ok":
                assert episode.correct == row["success"]
    assert rejected == 21
    assert {"ok", "wrong_length", "unparseable", "missing", "leading_zero_lost"} <= set(statuses)
    assert {"string", "integer", "number", "null", "array", "boolean"} <= set(raw_types)


def test_tool_runs_place_opaque_pictures_and_keep_looks_out_of_the_counts(store: Store) -> None:
    mcp = [n for n in store.runs()["run"] if store.run(n).harness == "mcp"]
    assert len(mcp) == 2
    for name in mcp:
        run, looks = store.run(name), 0
        assert run.arm in ("A0", "A2")
        for episode in store.episodes(name, texts=True):
            looks += sum(call.tool == "view_image" for call in episode.tool_calls)
            if int(episode.source_episode_id) < 10:
                assert episode.start_image_status == "present"
                assert all(s.image_status == "present" for s in episode.steps)
            assert all(s.action_kind in ("move", "answer") for s in episode.steps)
        assert looks > 0


def test_second_ingest_changes_nothing(store: Store, upstream: Path) -> None:
    folder = sorted(upstream.iterdir())[0]
    before = store.run_row(folder.name)
    (run,) = ingest(store, [folder], embedded(), name=folder.name).runs
    assert run.unchanged and store.run_row(folder.name) == before
