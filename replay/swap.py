"""Another predictor reads the same frozen evidence: plan, deduplicate, answer from the cache, ask, pair.

Replies go to a journal, one fsynced line each, and from there into the `predictions` table. A reply that
was received is never asked for again, whatever happens to this process.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

import numpy as np
import orjson
import polars as pl

from ..schemas import (
    Episode,
    Evidence,
    Geometry,
    InputRow,
    PredictionRow,
    Predictor,
    PredictorInput,
    Reading,
    Run,
    StopAsking,
)
from ..schemas.records import Usage
from ..traces.arrow import to_arrow
from ..traces.journal import Journal
from ..traces.store import Store
from .representations import Frozen, Representation, representation

At = Literal["last", "each"] | int
"""Which shown glimpse ends the evidence: the last one, each in turn, or one by number."""

_CHUNK = 256


class Source(NamedTuple):
    """Episodes of one run, ready to be replayed."""

    run: Run
    ingest_id: str
    episodes: list[Episode]
    canvases: dict[str, np.ndarray]


class Task(NamedTuple):
    """One reading to be made: evidence of an episode up to a shown glimpse."""

    source: Source
    episode: Episode
    glimpse: int
    representation: Representation
    evidence: Evidence
    input_hash: str

    def input(self) -> PredictorInput:
        """The predictor input, built anew (a plan over many episodes does not fit in memory)."""
        return _build(self.source, self.episode, self.glimpse, self.representation, self.evidence)


class Pair(NamedTuple):
    """An episode's own answer beside what a predictor read from its evidence."""

    task: Task
    prediction: PredictionRow | None

    @property
    def correct(self) -> bool | None:
        """Whether the predictor read the label; None without label or prediction."""
        if self.prediction is None or self.task.episode.label is None:
            return None
        return self.prediction.answer == self.task.episode.label


@dataclass
class Plan:
    """Readings to be made, and why some cannot be.

    `hypothetical` marks evidence that no agent was shown: its inputs are not remembered as those of the
        episodes.
    """

    tasks: list[Task] = field(default_factory=list)
    not_applicable: Counter[str] = field(default_factory=Counter)
    hypothetical: bool = False

    def distinct(self) -> dict[str, Task]:
        """One task for each distinct input."""
        return {task.input_hash: task for task in reversed(self.tasks)}


@dataclass
class Outcome:
    """What a swap did; `stopped` says why it ended early, where it did."""

    predictor_calls: int = 0
    cached: int = 0
    deduplicated: int = 0
    failed: int = 0
    cost: float | None = None
    stopped: str | None = None
    pairs: list[Pair] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    not_applicable: Counter[str] = field(default_factory=Counter)


def load_source(store: Store, run: str, ids: Sequence[str] | None = None, *, texts: bool = False) -> Source:
    """Episodes of a run with their canvases; StoreError for an unknown run."""
    row = store.run_row(run)
    episodes = store.episodes(run, ids, texts=texts)
    canvases = store.canvases(episode.canvas for episode in episodes if episode.canvas)
    return Source(store.run(run), row["ingest_id"], episodes, canvases)


def _build(
    source: Source, episode: Episode, glimpse: int, form: Representation, evidence: Evidence
) -> PredictorInput:
    geometry = source.run.geometry()
    assert geometry is not None and episode.canvas is not None
    windows = (episode.windows() or [])[: glimpse + 1]
    return form.input(Frozen(episode, source.canvases[episode.canvas], geometry, windows, evidence))


def make_plan(
    sources: Iterable[Source], form: Representation, evidence: Evidence, at: At, *, supported: Sequence[str]
) -> Plan:
    """Readings of `form` that the episodes allow.

    Args:
        sources: runs with their episodes.
        form: representation.
        evidence: which pixels of a glimpse count as seen.
        at: which glimpse ends the evidence.
        supported: representations that the predictor reads.

    Raises:
        ValueError: where the predictor does not read this representation.
    """
    if form.name not in supported:
        raise ValueError(f"this predictor reads {', '.join(supported)}, not {form.name}")
    plan = Plan()
    for source in sources:
        geometry = source.run.geometry()
        for episode in source.episodes:
            reason = _obstacle(source, episode, geometry, form)
            if reason:
                plan.not_applicable[reason] += 1
                continue
            for glimpse in _glimpses(episode, form, at):
                item = _build(source, episode, glimpse, form, evidence)
                plan.tasks.append(Task(source, episode, glimpse, form, evidence, item.hash))
            if isinstance(at, int) and not form.whole and at >= len(episode.windows() or []):
                plan.not_applicable["too_short"] += 1
    return plan


def _obstacle(
    source: Source, episode: Episode, geometry: Geometry | None, form: Representation
) -> str | None:
    if geometry is None:
        return "geometry_unknown"
    if episode.canvas not in source.canvases:
        return "canvas_unknown"
    if form.whole:
        return None
    windows = episode.windows()
    if windows is None:
        return (episode.reasons or {}).get("glimpses", "no_glimpses")
    if form.needs_texts and not episode.step_texts:
        return "not_recorded"
    return None


def _glimpses(episode: Episode, form: Representation, at: At) -> Iterable[int]:
    if form.whole:
        return (-1,)
    count = len(episode.windows() or [])
    if at == "each":
        return range(count)
    if at == "last":
        return (count - 1,)
    return (at,) if at < count else ()


def swap(
    store: Store,
    plan: Plan,
    predictor: Predictor,
    *,
    concurrency: int | None = None,
    fresh: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Outcome:
    """Carry out a plan with one predictor.

    A predictor that raises `StopAsking` is asked no more; what was under way is waited for, all replies are
    kept.

    Args:
        store: cache of replies, and where new ones go.
        plan: readings to be made.
        predictor: who reads.
        concurrency: readings under way at once; the predictor's own figure by default.
        fresh: ask again even where a reply is there.
        progress: called with the calls made and to be made.

    Raises:
        BlockingIOError: where another process asks the same predictor for this store.
    """
    distinct = plan.distinct()
    outcome = Outcome(deduplicated=len(plan.tasks) - len(distinct), not_applicable=plan.not_applicable)
    with store.journal(f"swap:{predictor.name}:{predictor.version}:{predictor.prompt_hash}") as journal:
        fold(store, journal)
        known = {} if fresh else stored_predictions(store, predictor, list(distinct))
        pending = [task for key, task in distinct.items() if key not in known]
        outcome.cached = len(distinct) - len(pending)
        for done, (task, reply) in enumerate(
            _ask(predictor, pending, concurrency or predictor.concurrency), 1
        ):
            if isinstance(reply.reply, StopAsking):
                outcome.stopped = str(reply.reply)
                continue
            row = _row(task, predictor, reply)
            outcome.predictor_calls += 1
            if row.error is None:
                journal.append(_journal_line(row))
                known[row.input_hash] = row
                outcome.cost = (outcome.cost or 0.0) + row.cost if row.cost is not None else outcome.cost
            else:
                outcome.failed += 1
                outcome.errors[row.error] += 1
            progress(done, len(pending))
        fold(store, journal)
    if not plan.hypothetical:
        _remember_inputs(store, plan)
    outcome.pairs = [Pair(task, known.get(task.input_hash)) for task in plan.tasks]
    return outcome


def estimate(store: Store, plan: Plan, predictor: Predictor, *, fresh: bool = False) -> Outcome:
    """What `swap` would do: calls, cached and repeated inputs, cost where the predictor can tell it."""
    distinct = plan.distinct()
    known = {} if fresh else stored_predictions(store, predictor, list(distinct))
    pending = [task for key, task in distinct.items() if key not in known]
    price = getattr(predictor, "price", lambda item: None)
    costs: list[float | None] = [price(task.input()) for task in pending]
    outcome = Outcome(len(pending), len(known), len(plan.tasks) - len(distinct))
    outcome.not_applicable = plan.not_applicable
    known_costs = [cost for cost in costs if cost is not None]
    outcome.cost = sum(known_costs) if costs and len(known_costs) == len(costs) else None
    return outcome


class _Timed(NamedTuple):
    reply: Reading | Exception
    latency: float


def _ask(predictor: Predictor, tasks: list[Task], concurrency: int) -> Iterator[tuple[Task, _Timed]]:
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


def _timed(predictor: Predictor, item: PredictorInput) -> _Timed:
    begun = time.perf_counter()
    try:
        reply: Reading | Exception = predictor.predict(item)
    except Exception as error:
        reply = error
    return _Timed(reply, time.perf_counter() - begun)


def _ask_threads(predictor: Predictor, tasks: list[Task], concurrency: int) -> Iterator[tuple[Task, _Timed]]:
    with ThreadPoolExecutor(concurrency) as pool:
        futures = {pool.submit(lambda t=task: _timed(predictor, t.input())): task for task in tasks}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            for future in futures:
                future.cancel()


def _ask_batches(predictor: Any, tasks: list[Task]) -> Iterator[tuple[Task, _Timed]]:
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
        yield from ((task, _Timed(reply, latency)) for task, reply in zip(chunk, replies, strict=True))


def _ask_async(predictor: Any, tasks: list[Task], concurrency: int) -> Iterator[tuple[Task, _Timed]]:
    """Drive an event loop from here, so that each reply is journalled before the next is waited for."""

    async def one(task: Task) -> tuple[Task, _Timed]:
        begun = time.perf_counter()
        try:
            reply: Reading | Exception = await predictor.predict_async(task.input())
        except Exception as error:
            reply = error
        return task, _Timed(reply, time.perf_counter() - begun)

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


def check(reply: Reading, n_panels: int) -> str | None:
    """What is wrong with a reply: an answer that is not one digit a panel, or probabilities that are none."""
    if reply.answer is not None and not (
        isinstance(reply.answer, str)
        and len(reply.answer) == n_panels
        and reply.answer.isascii()
        and reply.answer.isdigit()
    ):
        return f"answer {reply.answer!r} is not {n_panels} digit(s)"
    if reply.probabilities is None:
        return None
    shape = np.shape(reply.probabilities)
    if shape != (n_panels, 10):
        return f"probabilities of shape {shape} instead of ({n_panels}, 10)"
    if not all(math.isfinite(p) and 0 <= p <= 1 for row in reply.probabilities for p in row):
        return "a probability is not a number between 0 and 1"
    return None


def _row(task: Task, predictor: Predictor, timed: _Timed) -> PredictionRow:
    reply, error = timed.reply, None
    n_panels = task.source.run.n_panels or 1
    if isinstance(reply, Exception):
        error = f"{type(reply).__name__}: {reply}"
        reply = Reading(None)
    else:
        error = check(reply, n_panels)
    answered = reply.parse_status or ("ok" if reply.answer is not None else "no_answer")
    row = PredictionRow(
        input_hash=task.input_hash,
        representation=task.representation.key,
        predictor=predictor.name,
        predictor_version=predictor.version,
        prompt_hash=predictor.prompt_hash,
        settings=dict(predictor.settings),
        answer=reply.answer,
        answer_strict=reply.answer_strict,
        parse_status="failed" if error else answered,
        probabilities=reply.probabilities,
        raw_reply=reply.raw,
        latency=timed.latency,
        error=error,
        created=datetime.now(UTC),
    )
    for name in Usage.__dataclass_fields__:
        setattr(row, name, getattr(reply.usage, name))
    return row


def _journal_line(row: PredictionRow) -> dict[str, Any]:
    return {name: getattr(row, name) for name in PredictionRow.__dataclass_fields__}


def fold(store: Store, journal: Journal) -> None:
    """Move the journal's replies into the `predictions` table."""
    rows = []
    for line in journal.records():
        line["created"] = datetime.fromisoformat(line["created"])
        rows.append(PredictionRow(**line))
    if rows:
        store.append_arrow("predictions", to_arrow("predictions", rows))
    journal.clear()


def stored_predictions(store: Store, predictor: Predictor, hashes: Sequence[str]) -> dict[str, PredictionRow]:
    """Replies of this predictor, with this prompt and these settings, by input hash."""
    settings = orjson.dumps(dict(predictor.settings), option=orjson.OPT_SORT_KEYS)
    rows = (
        store.raw("predictions")
        .filter(
            (pl.col("predictor_version") == predictor.version)
            & (pl.col("predictor") == predictor.name)
            & (pl.col("prompt_hash") == predictor.prompt_hash)
            & pl.col("input_hash").is_in(list(hashes))
        )
        .sort("created")
        .collect()
    )
    found = {}
    for row in rows.iter_rows(named=True):
        row["settings"] = orjson.loads(row["settings"]) if row["settings"] else {}
        if orjson.dumps(row["settings"], option=orjson.OPT_SORT_KEYS) == settings:
            found[row["input_hash"]] = PredictionRow(**row)
    return found


def _remember_inputs(store: Store, plan: Plan) -> None:
    """Write which input each reading came from, so that tables join predictions without rebuilding inputs."""
    there = set(
        store.raw("inputs")
        .select("ingest_id", "episode_id", "glimpse", "evidence", "representation", "input_hash")
        .filter(pl.col("ingest_id").is_in(list({task.source.ingest_id for task in plan.tasks})))
        .collect()
        .iter_rows()
    )
    new: dict[str, list[InputRow]] = {}
    for task in plan.tasks:
        key = (task.episode.episode_id, task.glimpse, task.evidence, task.representation.key, task.input_hash)
        if (task.source.ingest_id, *key) not in there:
            there.add((task.source.ingest_id, *key))
            episode_id, glimpse, evidence, form, input_hash = key
            row = InputRow(
                episode_id=episode_id,
                glimpse=glimpse,
                evidence=evidence,
                representation=form,
                input_hash=input_hash,
            )
            new.setdefault(task.source.ingest_id, []).append(row)
    for ingest_id, rows in new.items():
        store.append("inputs", rows, ingest_id=ingest_id)


def plan_for(
    store: Store,
    selections: Iterable[tuple[str, Sequence[str] | None]],
    predictor: Predictor,
    *,
    form: str = "canvas",
    evidence: Evidence = "window",
    at: At = "last",
) -> Plan:
    """The plan over runs of the store, each with the ids of its episodes or None for all.

    Raises:
        KeyError: for an unknown representation.
        ValueError: where the predictor does not read it.
        StoreError: for an unknown run.
    """
    chosen = representation(form)
    sources = [load_source(store, run, ids, texts=chosen.needs_texts) for run, ids in selections]
    return make_plan(sources, chosen, evidence, at, supported=predictor.representations)
