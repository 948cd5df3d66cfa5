"""Ask a predictor for many readings: one by one, in batches, in threads or in an event loop."""

from __future__ import annotations

import asyncio
import gc
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, NamedTuple

from ..schemas import Predictor, PredictorInput, Reading, StopAsking

_CHUNK = 256


class Pending(NamedTuple):
    """An input to be read: its hash, its form as `name@version`, its digits, and what builds it."""

    input_hash: str
    representation: str
    n_panels: int
    input: Callable[[], PredictorInput]


class Timed(NamedTuple):
    """A reply, or what was raised instead, and how long it took in seconds (None in a batch)."""

    reply: Reading | Exception
    latency: float | None


Receive = Callable[[list[tuple[Pending, Timed]]], None]
"""Takes replies as they come, failures as exceptions."""

Asker = Callable[[Predictor, list[Pending], int, Receive], None]
"""Asks a predictor for inputs, so many at once."""


def ask(predictor: Predictor, tasks: list[Pending], concurrency: int, receive: Receive) -> None:
    """Ask for each task; none is begun after a `StopAsking` where they are asked for one by one."""
    if hasattr(predictor, "predict_async"):
        # The objects of a plan outlive the asking: looked through at each collection, they cost 1 ms a reply.
        gc.freeze()
        try:
            asyncio.run(_ask_async(predictor, tasks, concurrency, receive))
        finally:
            gc.unfreeze()
    elif hasattr(predictor, "predict_batch"):
        _ask_batches(predictor, tasks, receive)
    elif concurrency <= 1:
        for task in tasks:
            receive([(task, _timed(predictor, task.input()))])
    else:
        _ask_threads(predictor, tasks, concurrency, receive)


def _timed(predictor: Predictor, item: PredictorInput) -> Timed:
    begun = time.perf_counter()
    try:
        reply: Reading | Exception = predictor.predict(item)
    except Exception as error:
        reply = error
    return Timed(reply, time.perf_counter() - begun)


def _ask_threads(predictor: Predictor, tasks: list[Pending], concurrency: int, receive: Receive) -> None:
    with ThreadPoolExecutor(concurrency) as pool:
        futures = {pool.submit(lambda t=task: _timed(predictor, t.input())): task for task in tasks}
        try:
            for future in as_completed(futures):
                receive([(futures[future], future.result())])
        finally:
            for future in futures:
                future.cancel()


def _ask_batches(predictor: Any, tasks: list[Pending], receive: Receive) -> None:
    for at in range(0, len(tasks), _CHUNK):
        chunk = tasks[at : at + _CHUNK]
        items = [task.input() for task in chunk]
        begun = time.perf_counter()
        try:
            replies = predictor.predict_batch(items)
            if len(replies) != len(items):
                raise ValueError(f"{len(replies)} replies for {len(items)} inputs")
        except Exception:
            for task, item in zip(chunk, items, strict=True):
                receive([(task, _timed(predictor, item))])
            continue
        latency = (time.perf_counter() - begun) / len(items)
        receive([(task, Timed(reply, latency)) for task, reply in zip(chunk, replies, strict=True)])


async def _ask_async(predictor: Any, tasks: list[Pending], concurrency: int, receive: Receive) -> None:
    queue, received = deque(tasks), _Together(receive)

    async def slot() -> None:
        while queue:
            task = queue.popleft()
            begun = time.perf_counter()
            try:
                reply: Reading | Exception = await predictor.predict_async(task.input())
            except Exception as error:
                reply = error
            if isinstance(reply, StopAsking):
                queue.clear()
            await received(task, Timed(reply, time.perf_counter() - begun))

    await asyncio.gather(*(slot() for _ in range(concurrency)))


class _Together:
    """Hands on the replies of one round of the event loop together, before their slots ask again.

    Saving them costs one fsync; a crash loses no more than what is under way.
    """

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._round: asyncio.Future[None] | None = None
        self._arrived: list[tuple[Pending, Timed]] = []

    async def __call__(self, task: Pending, timed: Timed) -> None:
        self._arrived.append((task, timed))
        if self._round is None:
            loop = asyncio.get_running_loop()
            self._round = loop.create_future()
            loop.call_soon(self._hand_on)
        await self._round

    def _hand_on(self) -> None:
        assert self._round is not None
        arrived, self._arrived = self._arrived, []
        done, self._round = self._round, None
        error = None
        try:
            self._receive(arrived)
        except Exception as raised:
            error = raised
        if done.cancelled():  # interrupted: the replies are kept all the same
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(None)
