"""Metrics in the exported JSON lines stand beside the episode's own columns."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mnistpro_replay.traces.store import Store


def test_export_holds_metrics_and_keeps_the_episodes_reasons(
    command: Callable[..., Any], sample_store: Store, tmp_path: Path
) -> None:
    store = shutil.copytree(sample_store.path, tmp_path / "s")
    result = command("--store", store, "export", "--traces", "l2", "--out", tmp_path / "out")
    assert result.status == 0, result.err
    (file,) = (tmp_path / "out").glob("*.jsonl")
    rows = {row["episode_id"]: row for row in map(json.loads, file.read_text().splitlines())}
    episodes = {episode.episode_id: episode for episode in Store(store).episodes("l2")}
    assert set(rows) == set(episodes)
    for name, row in rows.items():
        assert (
            0 <= row["official_stroke_coverage"] <= 1
            and row["coverage_window"] >= row["coverage_visible_exact"]
        )
        assert row["reasons"] == episodes[name].reasons
        assert isinstance(row["metric_reasons"], dict)
        assert [tuple(window) for window in row["windows_source"]] == episodes[name].windows_source
