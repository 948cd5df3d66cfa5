"""A swap through a provider's batch API: submit what the cache does not have, come back, collect into the cache."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..schemas import PredictionRow, StopAsking
from ..traces.arrow import to_arrow
from ..traces.journal import Journal
from ..traces.models.batch import Question, Standing, check, submit
from ..traces.store import Store
from .ask import Pending, Receive, Timed
from .plan import Plan
from .predictors.llm.predictor import LLM
from .swap import Outcome, estimate, prediction_row, swap


@dataclass
class Requests:
    """How the requests of batches stand: `done` of the `pending` ones are, None where a provider does not tell."""

    ids: list[str] = field(default_factory=list)
    submitted: int = 0
    pending: int = 0
    done: int | None = 0
    collected: int = 0

    def add(self, other: Requests) -> None:
        """Count those of another batch with these."""
        self.ids += other.ids
        self.submitted += other.submitted
        self.pending += other.pending
        self.done = None if self.done is None or other.done is None else self.done + other.done
        self.collected += other.collected


def swap_by_batch(
    store: Store, plan: Plan, predictor: LLM, *, fresh: bool = False
) -> tuple[Outcome, Requests]:
    """Take a swap one step further: submit a batch, or see how it stands, or collect it.

    A call that finds a batch submits nothing, whatever its plan lacks; the call after it does. Every reply of a
    batch goes into the cache, those to inputs that are not in this plan too; a failed one fails alone.

    Args:
        store: cache of replies, and where the batch is remembered.
        plan: readings to be made.
        predictor: a model whose provider has a batch API (see `require_batches`).
        fresh: ask again even where a reply is there.

    Returns:
        the outcome of the swap as far as it is, a submitted request counted as a call; and the batch's requests.

    Raises:
        ValueError: where the batch cannot be made of these settings.
        StopAsking: where the provider refuses it.
        RequestFailed: where the provider could not be reached; the same call goes on.
        BlockingIOError: where another process asks the same predictor for this store.
    """
    requests = Requests()
    with store.journal(_name(plan, predictor)) as journal:
        standing = check(predictor.client, journal)
        if standing is None:

            def asker(_: object, pending: list[Pending], __: int, receive: Receive) -> None:
                _submit(predictor, journal, pending, requests, receive)

            outcome = swap(store, plan, predictor, fresh=fresh, asker=asker)
            outcome.predictor_calls = requests.submitted
            return outcome, requests
        requests.ids = [standing.id]
        rows = _rows(predictor, standing)
        if standing.replies is None:
            requests.pending, requests.done = len(standing.keys), standing.done
        else:
            requests.collected = len(rows)
            store.append_arrow("predictions", to_arrow("predictions", [r for r in rows if r.error is None]))
            journal.clear()
    outcome = swap(store, plan, predictor, asker=lambda *_: None)
    _count(outcome, rows)
    return outcome, requests


def estimate_by_batch(
    store: Store, plan: Plan, predictor: LLM, *, fresh: bool = False
) -> tuple[Outcome, Requests]:
    """What `swap_by_batch` would submit: as `estimate`, but nothing while a batch is under way."""
    outcome, requests = estimate(store, plan, predictor, fresh=fresh), Requests()
    with store.journal(_name(plan, predictor)) as journal:
        for record in journal.records():
            requests.pending += len(record.get("keys", ()))
    if requests.pending:
        outcome.predictor_calls, outcome.cost, requests.done = 0, None, None
    return outcome, requests


def _name(plan: Plan, predictor: LLM) -> str:
    """One batch at a time for a model at an address, prompts and a representation."""
    form = plan.tasks[0].representation.key if plan.tasks else ""
    address = predictor.client.spec.base_url
    return f"batch:{predictor.name}:{predictor.version}:{address}:{predictor.prompt_hash}:{form}"


def _submit(
    predictor: LLM, journal: Journal, pending: list[Pending], requests: Requests, receive: Receive
) -> None:
    """Submit within the limits; where they are reached, the first task left out says so."""

    def questions() -> Iterator[Question]:
        for task in pending:
            item = task.input()
            try:
                predictor.client.limits.book(predictor.price(item))
            except StopAsking as reached:
                receive([(task, Timed(reached, None))])
                return
            key = {"input_hash": task.input_hash, "representation": task.representation}
            yield Question({**key, "n_panels": item.n_panels}, predictor.turn(item))

    standing = submit(predictor.client, journal, questions())
    if standing is not None:
        requests.ids, requests.submitted = [standing.id], len(standing.keys)


def _rows(predictor: LLM, standing: Standing) -> list[PredictionRow]:
    """Rows of the replies, as one by one they would be, with the settings of the submission."""
    rows = []
    for key, reply in zip(standing.keys, standing.replies or [], strict=False):
        read = reply if isinstance(reply, Exception) else predictor.reading(reply, key["n_panels"])
        row = prediction_row(**key, predictor=predictor, timed=Timed(read, None))
        row.settings = standing.settings
        rows.append(row)
    return rows


def _count(outcome: Outcome, collected: list[PredictionRow]) -> None:
    """Add the failures and the cost of a collected batch, and say what it did not ask."""
    for row in collected:
        outcome.count(row)
    if collected:
        unread = {pair.task.input_hash for pair in outcome.pairs if pair.prediction is None}
        if left := len(unread - outcome.failures.keys()):
            outcome.stopped = f"{left} inputs were not in the batch"
