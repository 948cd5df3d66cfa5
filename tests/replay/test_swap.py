"""A swap asks once, loses nothing, and pairs what it got."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mnistpro_replay.analysis.paired import paired_table
from mnistpro_replay.replay.plan import plan_for
from mnistpro_replay.replay.representations import REPRESENTATIONS
from mnistpro_replay.replay.swap import swap
from mnistpro_replay.schemas import PredictorInput, Reading
from mnistpro_replay.traces.ingest import ingest
from mnistpro_replay.traces.store import Store
from mnistpro_replay.traces.world import embedded, offline_canvas


class Counting:
    """Reads the number of seen ink pixels, and remembers what it was asked."""

    name = "counting"
    version = "1"
    prompt_hash = ""
    settings: dict[str, Any] = {}
    representations = tuple(REPRESENTATIONS)
    concurrency = 1

    def __init__(self) -> None:
        self.asked: list[PredictorInput] = []

    def predict(self, item: PredictorInput) -> Reading:
        self.asked.append(item)
        ink = int((item.images[0] == 0).sum())
        return Reading("".join(str((ink + k) % 10) for k in range(item.n_panels)), raw=str(ink))


@pytest.fixture
def store(sample_folders: dict[int, Path], tmp_path: Path) -> Store:
    store = Store(tmp_path / "store", create=True)
    for level, folder in sample_folders.items():
        ingest(store, [folder], embedded(), name=f"l{level}")
    return store


BOTH = [("l1", None), ("l2", None)]


def test_second_call_asks_nothing(store: Store) -> None:
    first, second = Counting(), Counting()
    a = swap(store, plan_for(store, BOTH, first), first)
    b = swap(store, plan_for(store, BOTH, second), second)
    assert (a.predictor_calls, a.cached) == (len(first.asked), 0)
    assert (b.predictor_calls, b.cached, second.asked) == (0, len(first.asked), [])
    assert [p.prediction.answer for p in a.pairs] == [p.prediction.answer for p in b.pairs]


def test_fresh_asks_again(store: Store) -> None:
    reader = Counting()
    swap(store, plan_for(store, BOTH, reader), reader)
    again = swap(store, plan_for(store, BOTH, reader), reader, fresh=True)
    assert again.predictor_calls == len(reader.asked) / 2


def test_equal_inputs_are_asked_once(store: Store) -> None:
    reader = Counting()
    plan = plan_for(store, [("l1", None)], reader, at="each")
    outcome = swap(store, plan, reader)
    hashes = {item.hash for item in reader.asked}
    assert len(hashes) == len(reader.asked) == outcome.predictor_calls < len(plan.tasks)
    assert outcome.deduplicated == len(plan.tasks) - len(hashes)
    assert all(pair.prediction is not None for pair in outcome.pairs)


def test_other_versions_prompts_and_settings_are_other_replies(store: Store) -> None:
    for change in ({}, {"version": "2"}, {"prompt_hash": "abc"}, {"settings": {"temperature": 0}}):
        reader = Counting()
        for name, value in change.items():
            setattr(reader, name, value)
        assert swap(store, plan_for(store, [("l1", None)], reader), reader).cached == 0


def test_inputs_are_the_frozen_evidence(store: Store) -> None:
    reader = Counting()
    for form in ("canvas", "canvas+glimpse", "glimpses", "full"):
        reader.asked.clear()
        plan = plan_for(store, [("l2", ["3"])], reader, form=form, evidence="visible_exact")
        swap(store, plan, reader)
        (task,), (item,) = plan.tasks, reader.asked
        canvas = task.source.canvases[task.episode.canvas]
        geometry = task.source.run.geometry()
        windows = task.episode.windows()
        expected = offline_canvas(canvas, windows, geometry, "visible_exact")
        if form == "full":
            assert np.array_equal(item.images[0], canvas)
        elif form == "glimpses":
            assert len(item.images) == len(windows) == task.episode.n_glimpses
        else:
            assert np.array_equal(item.images[0], expected)
            assert len(item.images) == (2 if form == "canvas+glimpse" else 1)


class Faulty(Counting):
    """Fails in every way that a predictor can, one input each."""

    name = "faulty"

    def predict(self, item: PredictorInput) -> Reading:
        reading = super().predict(item)
        match len(self.asked):
            case 1:
                raise RuntimeError("out of memory")
            case 2:
                return Reading("1", probabilities=[[float("nan")] * 10])
            case 3:
                return Reading("123")
            case 4:
                return Reading("x")
            case 5:
                return Reading("1", probabilities=[[0.1] * 9])
            case 6:
                return Reading(None, raw="no idea")
        return reading


def test_a_failing_input_takes_nothing_with_it(store: Store) -> None:
    reader = Faulty()
    outcome = swap(store, plan_for(store, [("l1", None)], reader), reader)
    assert outcome.failed == 5 and sum(outcome.errors.values()) == 5
    assert any("out of memory" in error for error in outcome.errors)
    assert sum(pair.prediction is None for pair in outcome.pairs) == 5
    assert sum(pair.prediction is not None and pair.prediction.answer is None for pair in outcome.pairs) == 1
    again = Counting()
    again.name = "faulty"
    assert swap(store, plan_for(store, [("l1", None)], again), again).predictor_calls == 5


class Batched(Counting):
    name = "batched"

    def predict_batch(self, items: list[PredictorInput]) -> list[Reading]:
        if any((item.images[0] == 0).sum() % 7 == 0 for item in items):
            raise ValueError("bad batch")
        return [self.predict(item) for item in items]


class Asynchronous(Counting):
    name = "asynchronous"
    concurrency = 4
    running = most = 0

    async def predict_async(self, item: PredictorInput) -> Reading:
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0.005)
        self.running -= 1
        return self.predict(item)


class Threaded(Counting):
    name = "threaded"
    concurrency = 4


def test_every_way_of_asking_gives_the_same(store: Store) -> None:
    answers = []
    for reader in (Counting(), Batched(), Asynchronous(), Threaded()):
        outcome = swap(store, plan_for(store, BOTH, reader), reader)
        answers.append([pair.prediction.answer for pair in outcome.pairs])
        assert outcome.predictor_calls == len({item.hash for item in reader.asked})
        if isinstance(reader, Asynchronous):
            assert 2 <= reader.most <= 4
    assert all(answer == answers[0] for answer in answers)


SCRIPT = textwrap.dedent("""
    import sys, time
    from pathlib import Path
    from mnistpro_replay.replay.plan import plan_for
    from mnistpro_replay.replay.swap import swap
    from mnistpro_replay.schemas import Reading
    from mnistpro_replay.traces.store import Store

    class Slow:
        name, version, prompt_hash, settings = "slow", "1", "", {}
        representations, concurrency = ("canvas",), 1
        def predict(self, item):
            with open(sys.argv[2], "a") as log:
                log.write(item.hash + "\\n")
            time.sleep(0.03)
            return Reading(str(int((item.images[0] == 0).sum()) % 10) * item.n_panels)

    store, reader = Store(sys.argv[1]), Slow()
    outcome = swap(store, plan_for(store, [("l1", None), ("l2", None)], reader), reader)
    print(outcome.predictor_calls, "".join(p.prediction.answer for p in outcome.pairs))
""")


def test_sigkill_loses_at_most_the_reply_under_way(store: Store, tmp_path: Path) -> None:
    script, log = tmp_path / "script.py", tmp_path / "asked"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), store.path, str(log)]
    process = subprocess.Popen(command)
    deadline = time.monotonic() + 60
    while (not log.exists() or len(log.read_text().split()) < 12) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    killed = log.read_text().split()
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    asked = log.read_text().split()
    distinct = {t.input_hash for t in plan_for(store, BOTH, Counting()).tasks}
    assert 12 <= len(killed) < len(distinct)
    assert len(asked) - len(set(asked)) <= 1
    assert set(asked) == distinct
    assert int(out[0]) <= len(distinct) - len(killed) + 1
    undisturbed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert undisturbed == ["0", out[1]]


def test_paired_table_counts(store: Store) -> None:
    reader = Counting()
    outcome = swap(store, plan_for(store, BOTH, reader), reader)
    rows = paired_table(outcome.pairs, "counting")
    assert [row["part"] for row in rows[:3]] == ["all", "every digit seen", "a digit unseen"]
    for whole, seen, unseen in zip(rows[::3], rows[1::3], rows[2::3], strict=True):
        assert whole["n"] == seen["n"] + unseen["n"] == 20 - whole["n_excluded"]
        for row in (whole, seen, unseen):
            if row["n"] == 0:
                assert row["original"] is None and row["original_interval"] is None and row["p"] is None
                continue
            low, high = row["original_interval"]
            assert low <= row["original"] <= high
            low, high = row["difference_interval"]
            assert low <= row["difference"] <= high
            assert 0 < row["p"] <= 1


def test_predictions_survive_replacing_the_run(store: Store, sample_folders: dict[int, Path]) -> None:
    reader = Counting()
    calls = swap(store, plan_for(store, [("l1", None)], reader), reader).predictor_calls
    store.remove("l1")
    ingest(store, [sample_folders[1]], embedded(), name="renamed")
    again = swap(store, plan_for(store, [("renamed", None)], reader), reader)
    assert (again.predictor_calls, again.cached) == (0, calls)
