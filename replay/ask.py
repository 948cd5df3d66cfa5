"""Ask a predictor for many readings: one by one, in batches, in threads or in an event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
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


Asker = Callable[[Predictor, list[Pending], int], Iterable[tuple[Pending, Timed]]]
"""Asks a predictor for inputs, so many at once; replies come as they are received, failures as exceptions."""


def ask(predictor: Predictor, tasks: list[Pending], concurrency: int) -> Iterator[tuple[Pending, Timed]]:
    """Ask for each task; replies come as they are received, failures as exceptions."""
    if hasattr(predictor, "predict_async"):
        yield from _ask_async(predictor, tasks, concurrency)
    elif hasattr(predictor, "predict_batch"):
        yield from _ask_batches(predictor, tasks)
    elif concurrency <= 1:
        for task in tasks:
            yield task, _timed(predictor, task.input())
    else:
        yield from _ask_threads(predictor, tasks, concurrency)


def _timed(predictor: Predictor, item: PredictorInput) -> Timed:
    begun = time.perf_counter()
    try:
        reply: Reading | Exception = predictor.predict(item)
    except Exception as error:
        reply = error
    return Timed(reply, time.perf_counter() - begun)


def _ask_threads(
    predictor: Predictor, tasks: list[Pending], concurrency: int
) -> Iterator[tuple[Pending, Timed]]:
    with ThreadPoolExecutor(concurrency) as pool:
        futures = {pool.submit(lambda t=task: _timed(predictor, t.input())): task for task in tasks}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            for future in futures:
                future.cancel()


def _ask_batches(predictor: Any, tasks: list[Pending]) -> Iterator[tuple[Pending, Timed]]:
    for at in range(0, len(tasks), _CHUNK):
        chunk = tasks[at : at + _CHUNK]
        items = [task.input() for task in chunk]
        begun = time.perf_counter()
        try:
            replies = predictor.predict_batch(items)
            if len(replies) != len(items):
                raise ValueError(f"{len(replies)} replies for {len(items)} inputs")
        except Exception:
            yield from ((task, _timed(predictor, item)) for task, item in zip(chunk, items, strict=True))
            continue
        latency = (time.perf_counter() - begun) / len(items)
        yield from ((task, Timed(reply, latency)) for task, reply in zip(chunk, replies, strict=True))


def _ask_async(predictor: Any, tasks: list[Pending], concurrency: int) -> Iterator[tuple[Pending, Timed]]:
    """Drive an event loop from here, so that each reply is journalled before the next is waited for."""

    async def one(task: Pending) -> tuple[Pending, Timed]:
        begun = time.perf_counter()
        try:
            reply: Reading | Exception = await predictor.predict_async(task.input())
        except Exception as error:
            reply = error
        return task, Timed(reply, time.perf_counter() - begun)

    with asyncio.Runner() as runner:
        loop, waiting, queue = runner.get_loop(), set(), iter(tasks)
        try:
            while True:
                for task in queue:
                    waiting.add(loop.create_task(one(task)))
                    if len(waiting) >= concurrency:
                        break
                if not waiting:
                    return
                # Not `runner.run`: its handling of signals takes longer than a reply where many tasks wait.
                done, waiting = loop.run_until_complete(_first(waiting))
                for finished in done:
                    task, timed = finished.result()
                    if isinstance(timed.reply, StopAsking):
                        queue = iter(())
                    yield task, timed
        finally:
            for task in waiting:
                task.cancel()


async def _first(waiting: set[asyncio.Task[Any]]) -> tuple[set[asyncio.Task[Any]], set[asyncio.Task[Any]]]:
    return await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
