"""Swaps through provider batch APIs: `swap --batch` submits, waits, collects; nothing is submitted twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest
from fake_batches import BatchServer
from fake_server import KEY, FakeServer, Received, spec

from mnistpro_replay.replay.batch import estimate_by_batch, swap_by_batch
from mnistpro_replay.replay.plan import plan_for
from mnistpro_replay.replay.predictors.llm.predictor import LLM
from mnistpro_replay.replay.swap import Outcome, swap
from mnistpro_replay.traces.ingest import ingest
from mnistpro_replay.traces.models import Limits
from mnistpro_replay.traces.models import batch as batches
from mnistpro_replay.traces.models.client import RequestFailed
from mnistpro_replay.traces.store import Store
from mnistpro_replay.traces.world import embedded

MODELS = {"openai": "gpt-5.6-sol", "anthropic": "claude-opus-5-5", "google": "gemini-3.1-pro-preview"}
WIRES = tuple(MODELS)


@pytest.fixture
def store(sample_folders: dict[int, Path], tmp_path: Path) -> Store:
    store = Store(tmp_path / "store", create=True)
    ingest(store, [sample_folders[1]], embedded(), name="l1")
    return store


def told(request: Received) -> str:
    """A reply that differs from picture to picture."""
    return f'{{"action": "answer", "value": "{sum(request.images[-1]) % 10}"}}'


def reader(server: FakeServer, wire: str, limits: Limits | None = None, **more: object) -> LLM:
    return LLM(spec(server, wire, model=MODELS[wire], **more), limits)


def read(outcome: Outcome) -> dict[str, tuple]:
    """What is stored of every reply, by input."""
    rows = {pair.task.input_hash: pair.prediction for pair in outcome.pairs if pair.prediction}
    tokens = ("tokens_input", "tokens_cache_read", "tokens_output", "tokens_reasoning")
    names = ("raw_reply", "answer", "answer_strict", "parse_status", "predictor_version", *tokens)
    return {key: tuple(getattr(row, name) for name in names) for key, row in rows.items()}


@pytest.mark.parametrize("wire", WIRES)
def test_a_batch_is_submitted_waited_for_and_collected_as_single_replies_would_be(
    store: Store, tmp_path: Path, sample_folders: dict[int, Path], wire: str
) -> None:
    with BatchServer(told) as server:
        llm = reader(server, wire)
        plan = plan_for(store, [("l1", None)], llm)
        distinct = len(plan.distinct())
        outcome, requests = swap_by_batch(store, plan, llm)
        assert (requests.submitted, outcome.predictor_calls, len(server.jobs)) == (distinct, distinct, 1)
        asked = [request.body for request in server.received]

        outcome, requests = swap_by_batch(store, plan, llm)
        assert (requests.submitted, requests.collected, outcome.cached) == (0, 0, 0)
        assert (requests.pending, requests.done) == (distinct, {"openai": 1, "anthropic": 0}.get(wire))

        server.ended = True
        outcome, requests = swap_by_batch(store, plan, llm)
        assert (requests.collected, outcome.failed, outcome.cached) == (distinct, 0, distinct)
        assert (outcome.predictor_calls, outcome.stopped, len(server.jobs)) == (0, None, 1)
        before = server.requests
        again, requests = swap_by_batch(store, plan, llm)
        assert server.requests == before, "what is in the cache needs no request"
        assert read(again) == read(outcome) and (requests.ids, again.cached) == ([], distinct)
        single = swap(store, plan, llm)
        assert (single.predictor_calls, single.cached, server.requests) == (0, distinct, before)

        # The same through single requests, into another store.
        other = Store(tmp_path / "other", create=True)
        ingest(other, [sample_folders[1]], embedded(), name="l1")
        server.received.clear()
        one_by_one = swap(other, plan_for(other, [("l1", None)], llm), llm)
    assert read(one_by_one) == read(outcome)
    sent = [{k: v for k, v in request.body.items() if k != "stream"} for request in server.received]
    assert sorted(map(json.dumps, map(ordered, sent))) == sorted(map(json.dumps, map(ordered, asked)))
    # Half the price, but for what Gemini takes for cached tokens.
    assert outcome.cost == pytest.approx((one_by_one.cost or 0) / 2, rel=0.01)
    row = next(pair.prediction for pair in outcome.pairs if pair.prediction)
    assert row.settings == llm.settings and row.latency is None


def ordered(value: object) -> object:
    if isinstance(value, dict):
        return {key: ordered(value[key]) for key in sorted(value)}
    return [ordered(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("wire", WIRES)
def test_what_fails_in_a_batch_fails_alone_and_is_asked_again(store: Store, wire: str) -> None:
    with BatchServer(told, spoilt={0: "errored", 2: "expired", 3: "missing"}) as server:
        llm = reader(server, wire)
        plan = plan_for(store, [("l1", None)], llm)
        distinct = list(plan.distinct())
        swap_by_batch(store, plan, llm)
        server.ended = True
        outcome, requests = swap_by_batch(store, plan, llm)
        assert (requests.collected, outcome.failed, outcome.cached) == (len(distinct), 3, len(distinct) - 3)
        assert read(outcome).keys() == set(distinct) - {distinct[i] for i in (0, 2, 3)}
        said = " ".join(outcome.errors)
        assert "no such picture" in said and "without a result" in said and outcome.stopped is None
        assert len(outcome.pairs) == len(plan.tasks), "those without a reply are still pairs"

        server.spoilt = {}
        outcome, requests = swap_by_batch(store, plan, llm)
        assert (requests.submitted, outcome.failed) == (3, 0)
        outcome, _ = swap_by_batch(store, plan, llm)
    assert read(outcome).keys() == set(distinct) and len(server.jobs) == 2


@pytest.mark.parametrize("wire", WIRES)
def test_a_batch_that_ran_out_of_time_fails_every_input_and_the_next_call_submits(
    store: Store, wire: str
) -> None:
    with BatchServer(told) as server:
        llm = reader(server, wire)
        plan = plan_for(store, [("l1", None)], llm)
        swap_by_batch(store, plan, llm)
        server.ended = server.expired = True
        outcome, requests = swap_by_batch(store, plan, llm)
        assert (outcome.failed, outcome.cached) == (requests.collected, 0) == (len(plan.distinct()), 0)
        assert "expired" in str(outcome.errors)
        server.expired = False
        assert swap_by_batch(store, plan, llm)[1].submitted == len(plan.distinct())


KILLED = """
import sys
from fake_server import spec
from mnistpro_replay.traces.models import ModelSpec
from mnistpro_replay.replay.predictors.llm.predictor import LLM
from mnistpro_replay.replay.plan import plan_for
from mnistpro_replay.replay.batch import swap_by_batch
from mnistpro_replay.traces.store import Store
path, wire, model, url = sys.argv[1:]
store = Store(path)
llm = LLM(ModelSpec(name="tested", provider=wire, model=model, base_url=url, api_key_env="PLANTED_KEY"))
swap_by_batch(store, plan_for(store, [("l1", None)], llm), llm)
"""


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_a_kill_between_submission_and_its_answer_submits_nothing_twice(store: Store, wire: str) -> None:
    command = [sys.executable, "-c", KILLED, store.path, wire, MODELS[wire]]
    environment = {**os.environ, "PYTHONWARNINGS": "ignore", "PYTHONPATH": str(Path(__file__).parent)}
    with BatchServer(told, loses="hang") as server:
        process = subprocess.Popen([*command, server.url(wire)], env=environment)
        until = time.monotonic() + 60
        while not server.jobs and time.monotonic() < until and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        server.loses = ""
        llm = reader(server, wire, settings={})
        plan = plan_for(store, [("l1", None)], llm)
        outcome, requests = swap_by_batch(store, plan, llm)
        assert (requests.submitted, requests.pending) == (0, len(plan.distinct()))
        assert requests.ids[0].endswith("batch_0")
        server.ended = True
        outcome, requests = swap_by_batch(store, plan, llm)
    assert requests.collected == outcome.cached == len(plan.distinct()) and len(server.jobs) == 1


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("loses", ["drop", "500"])
def test_a_lost_answer_is_one_line_and_the_batch_is_found_among_others(
    store: Store, wire: str, loses: str
) -> None:
    with BatchServer(told, loses=loses) as server:
        llm = reader(server, wire)
        plan = plan_for(store, [("l1", None)], llm)
        with pytest.raises(RequestFailed, match="finds out whether the batch was created") as lost:
            swap_by_batch(store, plan, llm)
        assert "\n" not in str(lost.value) and KEY not in str(lost.value)
        assert estimate_by_batch(store, plan, llm)[0].predictor_calls == 0, "it may be under way"
        server.loses = ""
        others = [("theirs-0", server.jobs[0].items[0][1])] * len(server.jobs[0].items)
        server.jobs.append(
            type(server.jobs[0])("batch_1", server.jobs[0].wire, others, server.jobs[0].source)
        )
        server.ended = True
        _, requests = swap_by_batch(store, plan, llm)
    assert requests.ids[0].endswith("batch_0") and requests.collected == len(plan.distinct())


@pytest.mark.parametrize("wire", WIRES)
def test_a_batch_that_was_never_created_is_submitted_when_that_is_certain(
    store: Store, wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with BatchServer(told, loses="500") as server:
        llm = reader(server, wire)
        plan = plan_for(store, [("l1", None)], llm)
        with pytest.raises(RequestFailed):
            swap_by_batch(store, plan, llm)
        server.jobs.clear()
        server.loses = ""
        with pytest.raises(RequestFailed, match="call again in a minute"):
            swap_by_batch(store, plan, llm)
        assert not server.jobs
        monkeypatch.setattr(batches, "_SETTLING", timedelta(0))
        _, requests = swap_by_batch(store, plan, llm)
    assert requests.submitted == len(plan.distinct()) and len(server.jobs) == 1


def test_caps_hold_before_submission_and_the_rest_follows(store: Store) -> None:
    with BatchServer(told) as server:
        capped = reader(server, "openai", Limits(max_calls=3))
        plan = plan_for(store, [("l1", None)], capped)
        outcome, requests = swap_by_batch(store, plan, capped)
        assert (requests.submitted, outcome.stopped) == (3, "--max-calls 3 reached")
        assert len(server.jobs[0].items) == 3
        server.ended = True
        outcome, requests = swap_by_batch(store, plan, reader(server, "openai"))
        left = len(plan.distinct()) - 3
        assert (requests.collected, requests.submitted) == (3, 0), "a call that collects submits nothing"
        assert outcome.stopped == f"{left} inputs were not in the batch"
        cheap = reader(server, "openai")
        price = cheap.price(plan.tasks[0].input())
        assert price
        poor = reader(server, "openai", Limits(max_cost=2.5 * price))
        outcome, requests = swap_by_batch(store, plan, poor)
        assert requests.submitted == 2 and "--max-cost" in (outcome.stopped or "")
        none = reader(server, "openai", Limits(max_calls=0))
        swap_by_batch(store, plan, none)
        outcome, requests = swap_by_batch(store, plan, none)
    assert (requests.submitted, outcome.stopped, len(server.jobs)) == (0, "--max-calls 0 reached", 2)


def test_replies_to_inputs_of_another_plan_are_kept_with_the_settings_of_the_submission(store: Store) -> None:
    with BatchServer(told) as server:
        before = reader(server, "openai", settings={"max_tokens": 50})
        plan = plan_for(store, [("l1", None)], before)
        swap_by_batch(store, plan, before)
        server.ended = True
        after = reader(server, "openai")
        narrow = plan_for(store, [("l1", ["0"])], after)
        outcome, requests = swap_by_batch(store, narrow, after)
        assert requests.collected == len(plan.distinct()) and not read(outcome), (
            "other settings, other replies"
        )
        before_again, requests = swap_by_batch(store, plan, before)
    assert len(read(before_again)) == len(plan.distinct()) and not requests.ids


def test_fresh_asks_again_what_is_known(store: Store) -> None:
    with BatchServer(told) as server:
        server.ended = True
        llm = reader(server, "openai")
        plan = plan_for(store, [("l1", None)], llm)
        for _ in range(2):
            assert swap_by_batch(store, plan, llm, fresh=True)[1].submitted == len(plan.distinct())
            assert swap_by_batch(store, plan, llm, fresh=True)[1].collected == len(plan.distinct())
        assert not swap_by_batch(store, plan, llm)[1].ids


@pytest.mark.parametrize("wire", WIRES)
def test_the_key_is_sent_and_never_written(store: Store, wire: str) -> None:
    with BatchServer(told, spoilt={0: "errored"}) as server:
        llm = reader(server, wire)
        plan = plan_for(store, [("l1", None)], llm)
        swap_by_batch(store, plan, llm)
        assert KEY in str(server.headers)
        written = [p for p in Path(store.path).rglob("*") if p.is_file()]
        assert any("journal" in str(p) for p in written)
        server.ended = True
        outcome, _ = swap_by_batch(store, plan, llm)
        written = [p.read_bytes() for p in [*written, *Path(store.path).rglob("*")] if p.is_file()]
    assert not [data for data in written if KEY.encode() in data] and KEY not in str(outcome.errors)


WORDS = ("swap", "--traces", "walk", "--predictor", "local", "--batch")


@pytest.fixture
def walk(called):
    """The program with a run `walk` in its store."""
    words = ("run", "--policy", "stroke", "--predictor", "reference", "--episodes", "6", "--name", "walk")
    assert called(*words)[0] == 0
    return called


@pytest.mark.parametrize("wire", ["anthropic", "google"])
def test_the_same_command_submits_looks_and_collects(walk, wire: str) -> None:
    model = f"{wire}/{MODELS[wire]}"
    with BatchServer(told, spoilt={1: "errored"}) as server:
        status, out, err = walk(*WORDS, "--dry-run", server=server, model=model)
        assert (status, server.requests) == (0, 0) and "6 predictor calls would be made" in out
        status, out, err = walk(*WORDS, server=server, model=model)
        assert (status, len(out.splitlines()), err) == (0, 1, "")
        assert "batch_0: 6 requests submitted; the same command collects the replies later" in out
        status, out, err = walk(*WORDS, server=server, model=model)
        says = {"anthropic": "0 requests done, 6 pending", "google": "6 requests pending"}
        assert status == 0 and says[wire] in out and len(out.splitlines()) == 1
        status, out, err = walk(*WORDS, "--dry-run", "--json", server=server, model=model)
        planned = json.loads(out)
        assert (planned["predictor_calls"], planned["batch"]["pending"]) == (0, 6)
        server.ended = True
        status, out, err = walk(*WORDS, "--json", server=server, model=model)
        done = json.loads(out)
        assert status == 1 and "the same command asks for them again" in err
        assert (done["predictor_calls"], done["cached"], done["failed"]) == (0, 5, 1)
        assert done["batch"].keys() == {"ids", "submitted", "pending", "done", "collected"}
        assert (done["batch"]["collected"], done["batch"]["submitted"]) == (6, 0)
        assert done["cost"] == pytest.approx(5 * 0.00054) and done["table"][0]["n"] == 5
        server.spoilt = {}
        assert "1 requests submitted" in walk(*WORDS, server=server, model=model)[1]
        status, out, err = walk(*WORDS, server=server, model=model)
        assert status == 0 and "1 results collected" in out and "McNemar" in out
        before = server.requests
        status, out, err = walk(*WORDS, server=server, model=model)
        assert status == 0 and "0 predictor calls made, 6 answered" in out and server.requests == before


def test_two_forms_are_two_batches_of_one_command(walk) -> None:
    words = (*WORDS, "--representation", "canvas", "--representation", "full", "--json")
    with BatchServer(told) as server:
        first = json.loads(walk(*words, server=server, model="openai/gpt-5.6-sol")[1])
        assert first["batch"] == {
            "ids": ["batch_0", "batch_1"],
            "submitted": 12,
            "pending": 0,
            "done": 0,
            "collected": 0,
        }
        assert json.loads(walk(*words, server=server, model="openai/gpt-5.6-sol")[1])["batch"]["done"] == 2
        server.ended = True
        last = json.loads(walk(*words, server=server, model="openai/gpt-5.6-sol")[1])
    assert last["batch"]["collected"] == last["cached"] == 12
    assert {row["representation"] for row in last["table"]} == {"canvas", "full"}


def test_a_cap_is_status_1_with_the_batch_submitted(walk) -> None:
    with BatchServer(told) as server:
        status, out, err = walk(*WORDS, "--max-calls", "2", server=server, model="openai/gpt-5.6-sol")
        assert status == 1 and "2 requests submitted" in out and "--max-calls 2 reached" in err
        status, out, err = walk(*WORDS, "--max-calls", "0", server=server, model="openai/gpt-5.6-sol")
        assert status == 0 and "pending" in out, "looking is no call"


@pytest.mark.parametrize("model", ["openai-compatible/m", "openai-chat/gpt-5.6-sol", "ollama/m", "vllm/m"])
def test_a_provider_without_batches_is_refused_in_one_line(walk, model: str) -> None:
    with BatchServer() as server:
        status, out, err = walk(*WORDS, server=server, model=model)
    assert (status, out, server.requests, len(err.splitlines())) == (2, "", 0, 1)
    assert "has no batch API; leave out --batch" in err and model in err


@pytest.mark.parametrize("wire", WIRES)
def test_an_address_that_has_no_batches_after_all_is_refused_and_forgotten(walk, wire: str) -> None:
    model = f"{wire}/{MODELS[wire]}"
    with FakeServer(told) as server:
        status, out, err = walk(*WORDS, server=server, model=model)
        assert (status, out) == (2, "") and "has no batch API; leave out --batch" in err
        assert len(err.splitlines()) == 1
        assert walk(*WORDS[:-1], server=server, model=model)[0] == 0, "without it the model is asked"


def test_what_is_no_model_is_refused(called) -> None:
    status, _, err = called("swap", "--traces", "x", "--predictor", "reference", "--batch")
    assert status == 2 and len(err.splitlines()) == 1


@pytest.mark.parametrize("wire", WIRES)
def test_a_refused_key_and_a_provider_out_of_reach(walk, wire: str) -> None:
    model = f"{wire}/{MODELS[wire]}"
    with BatchServer(told, faults=["401"]) as server:
        status, _, err = walk(*WORDS, server=server, model=model)
        assert status == 2 and "check the key" in err and len(err.splitlines()) == 1
        assert "6 requests submitted" in walk(*WORDS, server=server, model=model)[1], "nothing had been sent"
        server.faults += ["500"] * 20
        status, _, err = walk(*WORDS, server=server, model=model)
        assert status == 1 and len(err.splitlines()) == 1
        server.faults[:] = ["404"]
        status, _, err = walk(*WORDS, server=server, model=model)
        assert status == 2 and "gives it up" in err and len(err.splitlines()) == 1
        server.faults.clear()
        server.ended = True
        assert "6 results collected" in walk(*WORDS, server=server, model=model)[1]
