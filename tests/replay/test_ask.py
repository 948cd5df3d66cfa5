"""Slots of an event loop: what is handed on when, and what ends the asking."""

from __future__ import annotations

import asyncio
import signal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnistpro_replay.replay.ask import Pending, Timed, ask
from mnistpro_replay.schemas import PredictorInput, Reading, StopAsking


class Waiting:
    """Answers after as many rounds of the loop as `rounds` says; counts what is under way or not handed on."""

    name, version, prompt_hash, concurrency = "waiting", "1", None, 4
    settings: dict = {}
    representations = ("canvas",)

    def __init__(self, rounds: list[int]) -> None:
        self.rounds, self.begun, self.received, self.most = rounds, 0, [], 0

    def receive(self, replies: list[tuple[Pending, Timed]]) -> None:
        self.received.append([task.input_hash for task, _ in replies])

    async def predict_async(self, item: PredictorInput) -> Reading:
        number, self.begun = self.begun, self.begun + 1
        self.most = max(self.most, self.begun - sum(map(len, self.received)))
        for _ in range(self.rounds[number]):
            await asyncio.sleep(0)
        return Reading("7")


def tasks(count: int) -> list[Pending]:
    item = PredictorInput("canvas@1", (np.zeros((2, 2), np.uint8),), 1)
    return [Pending(str(i), "canvas@1", 1, lambda: item) for i in range(count)]


@given(st.lists(st.integers(0, 3), max_size=20), st.integers(1, 5))
def test_each_reply_is_handed_on_before_its_slot_asks_again(rounds: list[int], concurrency: int) -> None:
    predictor = Waiting(rounds)
    ask(predictor, tasks(len(rounds)), concurrency, predictor.receive)
    assert sorted(sum(predictor.received, [])) == sorted(str(i) for i in range(len(rounds)))
    assert predictor.most <= concurrency


def test_replies_of_one_round_are_handed_on_together() -> None:
    predictor = Waiting([2] * 8)
    ask(predictor, tasks(8), 4, predictor.receive)
    assert [len(together) for together in predictor.received] == [4, 4]


def test_where_a_reply_cannot_be_kept_no_more_are_asked_for() -> None:
    predictor = Waiting([1] * 40)

    def full(replies: list[tuple[Pending, Timed]]) -> None:
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        ask(predictor, tasks(40), 4, full)
    assert predictor.begun == 4


def test_none_is_begun_after_a_stop_and_those_under_way_are_kept() -> None:
    class Stopping(Waiting):
        async def predict_async(self, item: PredictorInput) -> Reading:
            reply = await super().predict_async(item)
            if self.begun == 3:
                raise StopAsking("enough")
            return reply

    predictor = Stopping([1, 5, 5, *[0] * 40])
    ask(predictor, tasks(40), 3, predictor.receive)
    assert predictor.begun == 3
    assert sorted(sum(predictor.received, [])) == ["0", "1", "2"]


def test_an_interrupt_keeps_what_was_received(caplog: pytest.LogCaptureFixture) -> None:
    class Interrupted(Waiting):
        finished = 0

        async def predict_async(self, item: PredictorInput) -> Reading:
            reply = await super().predict_async(item)
            self.finished += 1
            if self.finished == 7:  # two replies of the same round wait to be handed on
                signal.raise_signal(signal.SIGINT)
            return reply

    predictor = Interrupted([1] * 40)
    with pytest.raises(KeyboardInterrupt):
        ask(predictor, tasks(40), 4, predictor.receive)
    assert len(sum(predictor.received, [])) >= 6 and predictor.begun == 8
    assert not caplog.records, "a callback of the event loop failed"
