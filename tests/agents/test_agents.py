"""Model agents end to end: malformed replies, probes, failures, caps, kills, and the store."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from fake_server import KEY, FakeServer, Received, spec

from mnistpro_replay.replay.plan import plan_for
from mnistpro_replay.replay.swap import swap
from mnistpro_replay.replay.verify import verify
from mnistpro_replay.schemas import StopAsking
from mnistpro_replay.traces.journal import Journal
from mnistpro_replay.traces.models import Limits, Prompts
from mnistpro_replay.traces.models.client import Client
from mnistpro_replay.traces.runner.agents.memory import condition
from mnistpro_replay.traces.runner.agents.play import AgentPlan, run_agents
from mnistpro_replay.traces.runner.agents.probes import PROBE, probe_reading
from mnistpro_replay.traces.runner.record import record
from mnistpro_replay.traces.runner.run import Plan
from mnistpro_replay.traces.store import RunExists, Store

MOVE = '{"action": "move", "direction": "right"}'
ANSWER = '{"action": "answer", "value": "7"}'
PROBE_REPLY = '{"action": "answer", "value": "1", "probabilities": %s}'


def plan(server: FakeServer, memory: str = "image_only", limits: Limits | None = None, **more) -> AgentPlan:
    chosen = {"horizon": more.pop("horizon", None), "turn_mode": more.pop("turn_mode", None)}
    return AgentPlan(
        client=Client(spec(server), limits),
        condition=condition(memory, **chosen),
        prompts=Prompts(),
        **{"episodes": 1, **more},
    )


def made_by(plan: AgentPlan, store: Store):
    return record(plan, store, play=run_agents)


def play(replies: list[str], faults: list[str] | None = None, **more):
    with FakeServer(lambda request: replies[server.replies], faults=faults) as server:
        return [*run_agents(plan(server, **more))], server


def scripted(request: Received) -> str:
    """Walks three times, then answers; thinks and maps where it is asked to."""
    said = str(request.messages)
    turn = len([1 for role, _ in request.messages if role == "user"]) - 1
    turn = turn or len([line for line in said.split("\\n") if line.startswith("Turn ")])
    fields = {"thought": f"turn {turn}: maybe a 7"} if '"thought"' in request_head(request) else {}
    if "spatial_map" in request_head(request):
        fields["spatial_map"] = [{"coords": [turn, 0], "features": "ink"}]
    n = 2 if "2 digits" in said else 1
    if "answer now" in said:
        row = [0.0] * 7 + [0.75] + [0.25, 0.0]
        return json.dumps({"action": "answer", "value": "7" * n, "probabilities": [row] * n})
    turn = 3 if "shown a whole canvas" in said else turn
    act = {"action": "move", "direction": ["right", "down", "left"][turn % 3]}
    return json.dumps(fields | (act if turn < 3 else {"action": "answer", "value": "7" * n}))


def request_head(request: Received) -> str:
    return next(part for part in request.messages[0][1] if isinstance(part, str))


def test_malformed_replies_are_asked_for_again_and_kept() -> None:
    replies = ["hm", "[1, 2]", MOVE, "```" + ANSWER + "```"]
    (played,), server = play(replies)
    episode = played.episode
    assert [s.action_kind for s in episode.steps] == ["move", "answer"] and episode.answer == "7"
    assert [(a.step, a.attempt, a.raw_reply) for a in episode.attempts] == [(0, 0, "hm"), (0, 1, "[1, 2]")]
    assert episode.tokens_input == 100 * server.replies, "unused replies are paid for too"
    assert server.received[0].messages == server.received[1].messages, "a bad reply is not remembered"


def test_three_malformed_replies_are_an_invalid_action() -> None:
    (played,), server = play(["a", "b", "c", "d"])
    episode = played.episode
    assert server.replies == 3
    assert (episode.stop_reason, episode.steps[0].action_kind) == ("invalid_action", "invalid")
    assert [a.raw_reply for a in episode.attempts] == ["a", "b", "c"]
    assert (episode.tokens_input, episode.n_actions, episode.n_glimpses) == (300, 1, 1)


@pytest.mark.parametrize(
    "reply", ['{"action": "jump"}', '{"action": "move", "direction": "north"}', '{"direction": "up"}']
)
def test_json_that_is_no_action_ends_the_episode(reply: str) -> None:
    (played,), server = play([MOVE, reply])
    episode = played.episode
    assert (episode.stop_reason, server.replies, episode.n_actions) == ("invalid_action", 2, 2)
    assert not episode.steps[-1].valid and episode.n_glimpses == 2
    assert episode.step_texts[-1].raw_reply == reply


def test_a_request_that_fails_ends_its_episode_and_hides_its_picture() -> None:
    (played,), _ = play([MOVE] * 9, faults=["", *["500"] * 6])
    episode = played.episode
    assert (episode.stop_reason, episode.n_actions) == ("error", 1)
    assert (episode.n_glimpses, episode.n_glimpses_reached) == (1, 2)
    assert "500" in (episode.error or "") and KEY not in (episode.error or "")
    assert len(episode.attempts) == 5 and all(a.step == 1 for a in episode.attempts)


def test_failed_requests_before_a_reply_are_attempts() -> None:
    (played,), _ = play([ANSWER] * 3, faults=["429", "500"])
    assert [(a.attempt, a.raw_reply, a.tokens_input) for a in played.episode.attempts] == [
        (0, None, None),
        (1, None, None),
    ]


def test_thoughts_and_maps_are_recorded() -> None:
    entry = [{"coords": [0, 0], "features": "ink"}]
    reply = json.dumps({"thought": "I see", "spatial_map": entry, "action": "answer", "value": "7"})
    (played,), _ = play([reply], memory="metric_grid_map")
    (text,) = played.episode.step_texts
    assert (text.thought, text.spatial_map, text.raw_reply) == ("I see", entry, reply)


@pytest.mark.parametrize("memory", ["image_only", "textual_state", "multi_turn"])
def test_a_forced_answer_disturbs_nothing(memory: str) -> None:
    with FakeServer(scripted) as server:
        plain, probed = (next(run_agents(plan(server, memory, probes=at))) for at in ((), (0, 2)))
    steps = [[(s.action_raw, s.window_after) for s in p.episode.steps] for p in (plain, probed)]
    assert steps[0] == steps[1] and plain.episode.tokens_input == probed.episode.tokens_input
    normal = [r for r in server.received if "answer now" not in str(r.messages)]
    assert len(normal) == 8 and [r.messages for r in normal[:4]] == [r.messages for r in normal[4:]]
    asked = [r for r in server.received if "answer now" in str(r.messages)]
    for request, turn in zip(asked, (0, 2), strict=True):
        *_, (_, parts) = request.messages
        assert [*request.messages[:-1], ("user", parts[:-1])] == normal[turn].messages, "the same prefix"
    assert [item.glimpse for _, item in probed.forced] == [0, 2]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (PROBE_REPLY % "[[0,2,2,0,0,0,0,0,0,0]]", ("1", [[0, 0.5, 0.5, *[0] * 7]])),
        (PROBE_REPLY % "[0,1,0,0,0,0,0,0,0,0]", ("1", [[0, 1, *[0] * 8]])),
        (PROBE_REPLY % "[[0,0,0,0,0,0,0,0,0,0]]", ("1", None)),
        (PROBE_REPLY % "[[-1,1,0,0,0,0,0,0,0,0]]", ("1", None)),
        (PROBE_REPLY % "null", ("1", None)),
        ("it is 1", (None, None)),
        (None, (None, None)),
    ],
)
def test_probabilities_of_a_forced_answer(raw: str | None, expected: tuple) -> None:
    assert probe_reading(raw, 1)[:2] == expected


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize(
    "memory", ["multi_turn", "image_only", "textual_state", "metric_grid_map", "online_canvas"]
)
def test_every_condition_runs_into_the_store_and_is_replayed(tmp_path: Path, memory: str, level: int) -> None:
    store = Store(tmp_path, create=True)
    with FakeServer(scripted) as server:
        made = plan(server, memory, episodes=3, level=level, probes=(1,), control=True)
        run = made_by(made, store)
        assert made_by(made, store).run == run.run and server.replies == 3 * 6, "it is made once"
    sent = Counter(map(_digest, (png for r in server.received for png in r.images)))
    episodes = store.episodes(run.run, texts=True)
    assert len(episodes) == 3 and all(e.stop_reason == "answered" for e in episodes)
    for episode in episodes:
        assert all(sent[glimpse.image] for glimpse in episode.glimpses()), "each shown picture was sent"
        assert episode.control_answer == "7" * level and episode.answer == "7" * level
    assert all(finding.verdict == "exact" for finding in verify(store, run.run))
    assert (run.model, run.memory, run.level) == (made.client.spec.id, made.condition.memory, level)
    assert (run.turn_mode == "natural") == (memory == "multi_turn")
    probes = store.raw("inputs").filter(pl.col("representation") == PROBE).collect()
    rows = (
        store.raw("predictions").filter(pl.col("input_hash").is_in(probes["input_hash"].to_list())).collect()
    )
    assert set(probes["glimpse"]) == {1} and rows["probabilities"].to_list() == [
        [[0.0] * 7 + [0.75, 0.25, 0.0]] * level
    ] * 3  # fmt: skip
    if memory in ("textual_state", "metric_grid_map"):
        frozen = plan_for(store, [(run.run, None)], _Reads(), form=memory)
        assert [t.input().text.count("Turn ") for t in frozen.tasks] == [3, 3, 3]


class _Reads:
    name = version = prompt_hash = ""
    representations = ("textual_state", "metric_grid_map")


def _digest(png: bytes) -> str:
    import hashlib

    return hashlib.sha256(png).hexdigest()


def test_repeats_are_asked_anew_under_their_own_names(tmp_path: Path) -> None:
    store = Store(tmp_path, create=True)
    with FakeServer(scripted) as server:
        runs = [made_by(plan(server, repeat=n, episodes=2), store) for n in (0, 1)]
    assert server.replies == 2 * 2 * 4
    assert runs[0].run != runs[1].run and runs[0].run_id == runs[1].run_id
    keys = [[e.world_key for e in store.episodes(run.run)] for run in runs]
    assert keys[0] == keys[1]


def test_another_condition_does_not_take_a_runs_name(tmp_path: Path) -> None:
    store = Store(tmp_path, create=True)
    with FakeServer(scripted) as server:
        made_by(plan(server, name="mine"), store)
        with pytest.raises(RunExists):
            made_by(plan(server, "textual_state", name="mine"), store)


def test_a_capped_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    store = Store(tmp_path, create=True)
    with FakeServer(scripted, delay=0.005) as server:
        with pytest.raises(StopAsking, match="--max-calls 10"):
            made_by(plan(server, limits=Limits(max_calls=10), episodes=6), store)
        assert server.replies == 10 and store.runs().is_empty()
        run = made_by(plan(server, episodes=6), store)
    assert server.replies == 6 * 4, "no reply was asked for twice"
    assert len(store.episodes(run.run)) == 6


def test_a_journal_of_another_plan_is_refused(tmp_path: Path) -> None:
    with FakeServer(scripted) as server, Journal(tmp_path / "j") as journal:
        list(run_agents(plan(server), journal))
        with pytest.raises(ValueError, match="other settings"):
            next(run_agents(plan(server, seed=43), journal))


KILLED = """
import sys
from mnistpro_replay.traces.models import ModelSpec, Prompts
from mnistpro_replay.traces.models.client import Client
from mnistpro_replay.traces.runner.agents.memory import condition
from mnistpro_replay.traces.runner.agents.play import AgentPlan, run_agents
from mnistpro_replay.traces.runner.record import record
from mnistpro_replay.traces.store import Store
names = {"name": "tested", "provider": "openai-compatible", "model": "m"}
plan = AgentPlan(
    client=Client(ModelSpec(**names, base_url=sys.argv[2])), condition=condition("textual_state"),
    prompts=Prompts(), episodes=12, concurrency=3, probes=(1,), control=True,
)
record(plan, Store(sys.argv[1], create=True), play=run_agents)
"""


def test_after_a_kill_no_reply_that_was_received_is_asked_for_again(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    with FakeServer(scripted, delay=0.02) as server:
        command = [sys.executable, "-c", KILLED, str(tmp_path), server.url()]
        process = subprocess.Popen(command, env=environment)
        while server.replies < 20 and process.poll() is None:
            try:
                process.wait(0.02)
            except subprocess.TimeoutExpired:
                continue
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert server.replies < 72
        subprocess.run(command, env=environment, check=True)
    assert 72 <= server.replies <= 72 + 3
    assert len(Store(tmp_path).episodes("tested_textual_state_h1_L1")) == 12


def test_a_scripted_run_takes_a_model_as_its_predictor(tmp_path: Path) -> None:
    from mnistpro_replay.replay.predictors.llm.predictor import LLM

    store = Store(tmp_path, create=True)
    with FakeServer() as server:
        llm = LLM(spec(server))
        run = record(Plan(policy="sweep", predictor=llm, episodes=2), store)
        outcome = swap(store, plan_for(store, [(run.run, None)], llm), llm)
    assert [e.answer for e in store.episodes(run.run)] == ["7", "7"]
    assert outcome.failed == 0
