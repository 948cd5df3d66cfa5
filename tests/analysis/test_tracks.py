"""Tracks of long episodes: from the stored metrics where those are of this version and reader, else anew."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from deltalake import DeltaTable

from mnistpro_replay.analysis import tracks as module
from mnistpro_replay.analysis.metrics import ensure
from mnistpro_replay.analysis.posterior import EvidenceReader
from mnistpro_replay.analysis.tracks import tracks
from mnistpro_replay.replay.predictors import load
from mnistpro_replay.traces.runner.record import record
from mnistpro_replay.traces.runner.run import Plan
from mnistpro_replay.traces.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "store", create=True)
    record(Plan(policy="early", predictor=load("reference"), episodes=2, name="r"), store)
    ensure(store, ["r"], "last")
    return store


def as_json(value: dict) -> dict:
    return json.loads(json.dumps(value))


def test_long_episodes_show_stored_metrics_as_if_derived_anew(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, reader = store.run("r"), EvidenceReader()
    episodes = store.episodes("r", texts=True)
    monkeypatch.setattr(module, "READ_EACH", 1)
    stored = [as_json(tracks(store, run, episode, reader)) for episode in episodes]
    monkeypatch.setattr(module, "stored", lambda *_: None)
    anew = [as_json(tracks(store, run, episode, reader)) for episode in episodes]
    for a, b in zip(
        stored, anew, strict=True
    ):  # readings differ in the last bits by how many are read at once
        assert np.array(a.pop("posterior")[-1]) == pytest.approx(np.array(b.pop("posterior")[-1]), abs=1e-5)
        assert a == b
    assert all(found["coverage"] for found in stored)


@pytest.mark.parametrize("column", ["version", "posterior_version"])
def test_metrics_of_another_version_or_reader_are_not_shown(store: Store, column: str) -> None:
    run, episode, reader = store.run("r"), store.episodes("r")[0], EvidenceReader()
    assert module.stored(store, run, episode, reader) is not None
    DeltaTable(store.uri("episode_metrics")).update({column: "'another'"})
    assert module.stored(store, run, episode, reader) is None
    assert (module.stored(store, run, episode, None) is None) == (column == "version")


def test_an_episode_without_metrics_has_none_stored(store: Store) -> None:
    episode = store.episodes("r")[0]
    store.delete_rows("step_metrics", "true")
    assert module.stored(store, store.run("r"), episode, None) is None
    assert tracks(store, store.run("r"), episode, None)["coverage"]
