"""One client over every provider: what is sent, what survives, what stops, what is never written."""

from __future__ import annotations

import asyncio
import time

import numpy as np
import pytest
from fake_server import KEY, TOKENS, WIRES, FakeServer, spec

from mnistpro_replay.schemas import StopAsking
from mnistpro_replay.traces.models import Limits
from mnistpro_replay.traces.models.client import Client, RequestFailed, Turn
from mnistpro_replay.traces.world.canvas import to_png

PICTURES = [to_png(np.full((8, 8), grey, dtype=np.uint8)) for grey in (0, 128)]
TURNS = [
    Turn("user", ("first", PICTURES[0], "then")),
    Turn("assistant", ("said",)),
    Turn("user", ("last", *PICTURES)),
]


def ask(client: Client, times: int = 1) -> list:
    async def many() -> list:
        return await asyncio.gather(*(client.ask(TURNS) for _ in range(times)), return_exceptions=True)

    return asyncio.run(many())


@pytest.mark.parametrize("wire", WIRES)
def test_texts_and_pictures_arrive_in_order_and_usage_comes_back(wire: str) -> None:
    with FakeServer(lambda request: "what was said") as server:
        client = Client(spec(server, wire, price=(2.0, 10.0)))
        assert not server.requests, "nothing may be sent before the first question"
        (reply,) = ask(client)
    assert server.received[0].messages == [(turn.role, list(turn.parts)) for turn in TURNS]
    assert reply.text == "what was said"
    usage = reply.usage
    assert (usage.tokens_input, usage.tokens_cache_read) == (100, TOKENS["cached"])
    assert (usage.tokens_output, usage.tokens_reasoning) == (TOKENS["output"], TOKENS["reasoning"])
    assert usage.cost == pytest.approx((120 * 2 + 30 * 10) / 1e6)


@pytest.mark.parametrize("wire", WIRES)
def test_faults_are_survived_by_every_provider(wire: str) -> None:
    series = [["429", "429"], ["500", "500"], ["timeout"], ["malformed"], ["drop"], ["empty"]]
    with FakeServer(faults=[fault for faults in series for fault in (*faults, "")]) as server:
        client = Client(spec(server, wire))
        for faults in series:
            before = server.requests
            (reply,) = ask(client)
            assert reply.text == '{"action": "answer", "value": "7"}', faults
            assert server.requests - before == len(faults) + 1
            assert len(reply.failed) == len(faults)
            assert KEY not in "".join(reply.failed)


@pytest.mark.parametrize("wire", WIRES)
def test_what_cannot_succeed_stops_at_once_with_one_line(wire: str) -> None:
    for fault, says in (("401", "key"), ("404", "model's name"), ("400", "does not take")):
        with FakeServer(faults=[fault] * 9) as server:
            (error,) = ask(Client(spec(server, wire)))
        assert isinstance(error, StopAsking) and server.requests == 1
        assert says in str(error) and "\n" not in str(error) and KEY not in str(error)


@pytest.mark.parametrize("wire", WIRES)
def test_a_refusal_after_a_reply_fails_only_its_own_request(wire: str) -> None:
    with FakeServer(faults=["", "400"]) as server:
        client = Client(spec(server, wire))
        assert [type(ask(client)[0]).__name__ for _ in range(3)] == ["Reply", "RequestFailed", "Reply"]


@pytest.mark.parametrize("wire", WIRES)
def test_attempts_end_and_all_are_told(wire: str) -> None:
    with FakeServer(faults=["500"] * 9) as server:
        (error,) = ask(Client(spec(server, wire), attempts=3))
    assert isinstance(error, RequestFailed) and server.requests == 3 and len(error.failed) == 2


def test_the_provider_says_how_long_to_wait() -> None:
    with FakeServer(faults=["429"]) as server:
        client = Client(spec(server))
        ask(client)  # connects
        server.faults.append("429")
        began = time.monotonic()
        ask(client)
    assert time.monotonic() - began >= 0.02


@pytest.mark.parametrize("wire", WIRES)
def test_calls_stop_at_the_cap_with_every_reply_kept(wire: str) -> None:
    with FakeServer(delay=0.01) as server:
        outcomes = ask(Client(spec(server, wire), Limits(max_calls=5)), times=12)
    assert server.replies == 5
    assert [type(o).__name__ for o in outcomes].count("Reply") == 5
    assert all(isinstance(o, StopAsking) for o in outcomes if type(o).__name__ != "Reply")


@pytest.mark.parametrize("wire", WIRES)
def test_money_stops_at_the_cap_whatever_is_under_way(wire: str) -> None:
    limits = Limits(max_cost=0.0025)
    with FakeServer(delay=0.01) as server:
        outcomes = ask(Client(spec(server, wire, price=(2.0, 10.0)), limits), times=20)
    assert server.replies == [type(o).__name__ for o in outcomes].count("Reply") == 4
    assert limits.cost == pytest.approx(4 * 0.00054) and limits.cost <= 0.0025


@pytest.mark.parametrize("wire", ["openai", "anthropic", "google"])
def test_a_model_on_the_price_list_has_its_cost_counted_and_capped(wire: str) -> None:
    names = {"openai": "gpt-5.6-sol", "anthropic": "claude-opus-5-5", "google": "gemini-3.1-pro-preview"}
    with FakeServer() as server:
        asked = spec(server, wire, model=names[wire])
        (reply,) = ask(Client(asked))
        undiscounted = Client(asked).price(TOKENS["input"], TOKENS["output"])
        assert undiscounted and undiscounted * 0.7 < reply.usage.cost < undiscounted  # 20 of 120 were cached
        outcomes = ask(Client(asked, Limits(max_cost=2.5 * reply.usage.cost)), times=6)
    assert [type(o).__name__ for o in outcomes].count("Reply") == 2


def test_a_cap_on_money_needs_a_price() -> None:
    with FakeServer() as server, pytest.raises(ValueError, match="price .* not known.*--max-calls"):
        Client(spec(server, model="nobody-knows-it"), Limits(max_cost=1.0))


@pytest.mark.parametrize("wire", WIRES)
def test_requests_a_minute_are_kept_repeats_included(wire: str) -> None:
    with FakeServer(faults=["500"] * 3) as server:
        began = time.monotonic()
        ask(Client(spec(server, wire), Limits(rpm=1200)), times=6)
        took = time.monotonic() - began
    assert server.requests == 9
    assert took >= 8 * 60 / 1200


@pytest.mark.parametrize("wire", WIRES)
def test_tokens_a_minute_are_kept(wire: str) -> None:
    with FakeServer() as server:
        limits = Limits(tpm=150 * 600)
        client = Client(spec(server, wire), limits)
        ask(client, times=1)
        began = time.monotonic()
        for _ in range(5):
            ask(client)
    assert time.monotonic() - began >= 4 * 0.1


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"provider": "nobody"}, "no provider 'nobody'"),
        ({"api_key_env": "NOT_SET_ANYWHERE"}, "NOT_SET_ANYWHERE holds no key"),
        ({"provider": "openrouter"}, "openai-compatible"),
        ({"base_url": None}, "base_url"),
    ],
)
def test_a_model_that_cannot_be_asked_is_told_before_anything_is_sent(change: dict, says: str) -> None:
    with FakeServer() as server, pytest.raises(ValueError, match=says):
        Client(spec(server, **change))
    assert not server.requests


@pytest.mark.parametrize(
    ("provider", "variable"),
    [("openai", "OPENAI_API_KEY"), ("anthropic", "ANTHROPIC_API_KEY"), ("google", "GOOGLE_API_KEY")],
)
def test_a_missing_key_names_its_variable(
    provider: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (variable, "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with FakeServer() as server, pytest.raises(ValueError, match=f"{variable}") as caught:
        Client(spec(server, provider, base_url=None, api_key_env=None))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("wire", WIRES)
def test_settings_are_recorded_as_they_are_sent(wire: str) -> None:
    with FakeServer() as server:
        client = Client(spec(server, wire, settings={"max_tokens": 77, "temperature": 0.5}))
        ask(client)
    body = {k: v for k, v in server.received[0].body.items() if k not in ("messages", "input", "contents")}
    assert client.settings["sent"] == body
    assert "77" in str(body)
    assert KEY not in str(client.settings)


def test_credentials_in_an_address_are_left_out_of_the_record() -> None:
    with FakeServer() as server:
        url = server.url().replace("http://", "http://user:secret@")
        client = Client(spec(server, base_url=url))
    assert "secret" not in str(client.settings)
    assert client.settings["base_url"] == server.url()


def test_a_long_reply_of_anthropic_comes_as_a_stream() -> None:
    with FakeServer(lambda request: "streamed") as server:
        (reply,) = ask(Client(spec(server, "anthropic", settings={"max_tokens": 64000})))
    assert server.received[0].body["stream"] is True
    assert reply.text == "streamed" and reply.usage.tokens_output == TOKENS["output"]
