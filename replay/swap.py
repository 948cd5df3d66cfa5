"""Another predictor reads the same frozen evidence: plan, deduplicate, answer from the cache, ask, pair.

Replies go to a journal, a line each, fsynced as they come, and from there into the `predictions` table. A
reply that was received is never asked for again, whatever happens to this process.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
import orjson
import polars as pl

from ..schemas import (
    InputRow,
    PredictionRow,
    Predictor,
    Reading,
    StopAsking,
)
from ..schemas.records import Usage
from ..traces.arrow import to_arrow
from ..traces.journal import Journal
from ..traces.store import Store
from .ask import Asker, Pending, Timed, ask
from .plan import Plan, Task


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
class Outcome:
    """What a swap did; `stopped` says why it ended early, where it did; `failures` have errors by input hash."""

    predictor_calls: int = 0
    cached: int = 0
    deduplicated: int = 0
    failed: int = 0
    cost: float | None = None
    stopped: str | None = None
    pairs: list[Pair] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    failures: dict[str, str] = field(default_factory=dict)
    not_applicable: Counter[str] = field(default_factory=Counter)

    def count(self, row: PredictionRow) -> None:
        """Add what a reply cost, or why there is none."""
        if row.error is not None:
            self.failed += 1
            self.errors[row.error] += 1
            self.failures[row.input_hash] = row.error
        elif row.cost is not None:
            self.cost = (self.cost or 0.0) + row.cost


def swap(
    store: Store,
    plan: Plan,
    predictor: Predictor,
    *,
    concurrency: int | None = None,
    fresh: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
    asker: Asker = ask,
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
        asker: how what is not in the cache is asked for.

    Raises:
        BlockingIOError: where another process asks the same predictor for this store.
    """
    distinct = plan.distinct()
    outcome = Outcome(deduplicated=len(plan.tasks) - len(distinct), not_applicable=plan.not_applicable)
    known = answered(
        store,
        predictor,
        [
            Pending(key, task.representation.key, task.source.run.n_panels or 1, task.input)
            for key, task in distinct.items()
        ],
        outcome,
        concurrency=concurrency,
        fresh=fresh,
        progress=progress,
        asker=asker,
    )
    if not plan.hypothetical:
        _remember_inputs(store, plan)
    outcome.pairs = [Pair(task, known.get(task.input_hash)) for task in plan.tasks]
    return outcome


def answered(
    store: Store,
    predictor: Predictor,
    inputs: Sequence[Pending],
    outcome: Outcome,
    *,
    concurrency: int | None = None,
    fresh: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
    asker: Asker = ask,
) -> dict[str, PredictionRow]:
    """Replies to distinct inputs by their hash: stored ones, and those now asked for and stored.

    `outcome` counts what was done, and says of each input without a reply why; other arguments as `swap`.

    Raises:
        BlockingIOError: where another process asks the same predictor for this store.
    """
    with store.journal(f"swap:{predictor.name}:{predictor.version}:{predictor.prompt_hash}") as journal:
        fold(store, journal)
        known = {} if fresh else stored_predictions(store, predictor, [item.input_hash for item in inputs])
        pending = [item for item in inputs if item.input_hash not in known]
        outcome.cached = len(inputs) - len(pending)

        def receive(replies: list[tuple[Pending, Timed]]) -> None:
            rows = []
            for item, timed in replies:
                if isinstance(timed.reply, StopAsking):
                    outcome.stopped = str(timed.reply)
                else:
                    rows.append(
                        prediction_row(item.input_hash, item.representation, item.n_panels, predictor, timed)
                    )
                    outcome.predictor_calls += 1
                    outcome.count(rows[-1])
            if good := [row for row in rows if row.error is None]:
                journal.append(*map(_journal_line, good))
                known.update((row.input_hash, row) for row in good)
            progress(outcome.predictor_calls, len(pending))

        asker(predictor, pending, concurrency or predictor.concurrency, receive)
        fold(store, journal)
    return known


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


def prediction_row(
    input_hash: str, representation: str, n_panels: int, predictor: Predictor, timed: Timed
) -> PredictionRow:
    """What is stored of a reply to an input, or of what was raised instead.

    Args:
        input_hash: which input.
        representation: its form, as `name@version`.
        n_panels: digits to be read.
        predictor: who was asked.
        timed: the reply.
    """
    reply, error = timed.reply, None
    if isinstance(reply, Exception):
        error = f"{type(reply).__name__}: {reply}"
        reply = Reading(None)
    else:
        error = check(reply, n_panels)
    answered = reply.parse_status or ("ok" if reply.answer is not None else "no_answer")
    row = PredictionRow(
        input_hash=input_hash,
        representation=representation,
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
