"""Each provider path, end to end: exact pictures, limits, caps, kills, and a key that is written nowhere.

Faults that are survived are in test_client.py, over every provider path too.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from fake_server import KEY, WIRES, FakeServer, Received, spec

from mnistpro_replay.replay.plan import plan_for
from mnistpro_replay.replay.predictors.llm.predictor import LLM
from mnistpro_replay.replay.swap import swap
from mnistpro_replay.schemas import PredictorInput
from mnistpro_replay.traces.models import Limits, Prompts
from mnistpro_replay.traces.models.client import Client
from mnistpro_replay.traces.runner.agents.memory import condition
from mnistpro_replay.traces.runner.agents.play import AgentPlan, run_agents
from mnistpro_replay.traces.runner.record import record
from mnistpro_replay.traces.store import Store
from mnistpro_replay.traces.world.canvas import from_png

PATIENT = {"settings": {"timeout": 20.0}}
MOVES = ["right", "down", "left"]
ONE_IN_THE_DEFAULT_RUN = [
    pytest.param(wire, marks=() if wire == "openai-compatible" else pytest.mark.soak) for wire in WIRES
]


@pytest.fixture
def store(sample_store: Store, tmp_path: Path) -> Store:
    """The bundled runs, to be written to."""
    shutil.copytree(sample_store.path, tmp_path / "store")
    return Store(tmp_path / "store")


def walks(request: Received) -> str:
    """Moves three times, then answers."""
    turn = sum(role == "assistant" for role, _ in request.messages)
    move = {"action": "move", "direction": MOVES[turn]} if turn < 3 else {"action": "answer", "value": "7"}
    return json.dumps(move)


@pytest.mark.parametrize("wire", WIRES)
def test_an_agent_is_shown_exactly_the_pictures_of_its_trace(tmp_path: Path, wire: str) -> None:
    store = Store(tmp_path / "store", create=True)
    with FakeServer(walks) as server:
        client, chosen = Client(spec(server, wire, **PATIENT)), condition("multi_turn")
        made = AgentPlan(client=client, condition=chosen, prompts=Prompts(), episodes=1)
        run = record(made, store, play=run_agents)
    (episode,) = store.episodes(run.run)
    shown = [glimpse.image for glimpse in episode.glimpses()]
    for turn, request in enumerate(server.received, 1):
        assert [hashlib.sha256(png).hexdigest() for png in request.images] == shown[:turn]
    assert len(server.received) == len(set(shown)) == 4
    assert store.images(shown).keys() == set(shown)


@pytest.mark.parametrize("wire", WIRES)
def test_a_predictor_is_shown_exactly_the_inputs_that_the_store_remembers(store: Store, wire: str) -> None:
    with FakeServer() as server:
        llm = LLM(spec(server, wire, **PATIENT))
        outcome = swap(store, plan_for(store, [("l1", ["0", "1", "2"])], llm, form="glimpses"), llm)
    assert outcome.predictor_calls == 3 and not outcome.failed
    sent = {
        PredictorInput("glimpses@1", tuple(from_png(png, "RGB") for png in request.images), 1).hash
        for request in server.received
    }
    assert sent == set(store.raw("inputs").filter(pl.col("glimpse") >= 0).collect()["input_hash"])


@pytest.mark.parametrize("wire", WIRES)
def test_readings_under_way_are_no_more_than_asked_for(store: Store, wire: str) -> None:
    with FakeServer(delay=0.05) as server:
        llm = LLM(spec(server, wire, **PATIENT), concurrency=3)
        swap(store, plan_for(store, [("l1", None)], llm), llm)
    assert server.most_open == 3 < server.replies


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("limits", "says"),
    [({"max_calls": 4}, "--max-calls 4 reached"), ({"max_cost": 0.0025}, "--max-cost 0.0025 reached")],
)
def test_a_cap_stops_with_everything_kept_and_the_same_call_goes_on(
    store: Store, wire: str, limits: dict, says: str
) -> None:
    with FakeServer(delay=0.01) as server:
        asked = spec(server, wire, price=(2.0, 10.0), **PATIENT)
        plan = plan_for(store, [("l1", None)], LLM(asked))
        capped = LLM(asked, Limits(**limits))
        first = swap(store, plan, capped)
        assert (first.predictor_calls, first.failed, server.replies) == (4, 0, 4)
        assert first.stopped is not None and first.stopped.startswith(says)
        second = swap(store, plan, LLM(asked))
    assert (second.cached, second.stopped) == (4, None)
    assert server.replies == len(plan.distinct())


KILLED = """
import sys
from mnistpro_replay.traces.models import ModelSpec
from mnistpro_replay.replay.predictors.llm.predictor import LLM
from mnistpro_replay.replay.plan import plan_for
from mnistpro_replay.replay.swap import swap
from mnistpro_replay.traces.store import Store
store = Store(sys.argv[1])
names = {"name": "tested", "provider": sys.argv[3], "model": "m", "api_key_env": "PLANTED_KEY"}
llm = LLM(ModelSpec(**names, base_url=sys.argv[2]), concurrency=4)
outcome = swap(store, plan_for(store, [("l1", list("01234567"))], llm, at="each"), llm)
print(outcome.predictor_calls, outcome.cached)
"""


@pytest.mark.parametrize("wire", ONE_IN_THE_DEFAULT_RUN)
def test_a_reply_that_was_received_is_never_asked_for_again_after_a_kill(store: Store, wire: str) -> None:
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    with FakeServer(delay=0.02) as server:
        command = [sys.executable, "-c", KILLED, store.path, server.url(wire), wire]
        process = subprocess.Popen(command, env=environment)
        while server.replies < 20 and process.poll() is None:
            pause(process)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL, "it ended before it could be killed"
        before = server.replies
        assert not files_with_key(Path(store.path))
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    calls, cached = map(int, done.stdout.split())
    assert cached >= before - 4, "more was lost than what was under way"
    assert server.replies == before + calls <= calls + cached + 4
    assert KEY not in done.stdout + done.stderr


def pause(process: subprocess.Popen) -> None:
    try:
        process.wait(0.02)
    except subprocess.TimeoutExpired:
        pass


def files_with_key(folder: Path) -> list[Path]:
    """Files that hold the key; there must be files at all."""
    written = [path for path in folder.rglob("*") if path.is_file()]
    assert written
    return [path for path in written if KEY.encode() in path.read_bytes()]


@pytest.mark.parametrize("wire", WIRES)
def test_the_key_is_written_nowhere(called, caplog: pytest.LogCaptureFixture, wire: str) -> None:
    caplog.set_level(logging.DEBUG)
    with FakeServer(walks, faults=["500", "", "malformed", "", "400", "429"]) as server:
        words = ("run", "--model", "local", "--episodes", "2", "--name", "r", "--concurrency", "1", "-v")
        called(*words, server=server, model=f"{wire}/m")
        called("swap", "--predictor", "local", server=server, model=f"{wire}/m")
        server.faults += ["401"] * 9
        status, _, err = called(
            "swap", "--predictor", "local", "--fresh", "-v", server=server, model=f"{wire}/m"
        )
        assert status == 2 and "check the key" in err, "what it says is searched by `called`"
    assert any(KEY in value for value in server.received[0].headers.values()), "the key went out"
    assert not files_with_key(Path())
    assert KEY not in caplog.text
