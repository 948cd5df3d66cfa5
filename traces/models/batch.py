"""Questions as one batch of their provider: submitted now, answered within a day, at about half the price.

pydantic-ai encodes a batch's requests with the code that makes its single requests, and reads a batch's results
with the code that reads single replies. So a batch asks and hears exactly what `Client` would, and nothing is
written twice. What is added here is the journal, so that nothing is submitted twice: the intent is on disk before
the request, the batch's id after it, and a batch whose id was lost is looked for at the provider.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from ...schemas import StopAsking
from ..journal import Journal
from .client import Client, Reply, RequestFailed, Turn, judge, message
from .providers import build

if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.models.batch import Batch, BatchRequest, BatchResult, EncodedBatchRequest

_SETTLING = timedelta(minutes=1)
"""A batch that is not listed so long after its submission was never created."""

_CLOCKS = timedelta(minutes=10)
"""How far the provider's clock may be behind ours."""


class Question(NamedTuple):
    """A user's turn, and what its asker knows it by (JSON)."""

    key: dict[str, Any]
    turn: Turn


@dataclass(slots=True)
class Standing:
    """How a batch stands at its provider.

    Args:
        id: the provider's.
        settings: `Client.settings` as of the submission.
        keys: those of its questions.
        done: requests that the provider is done with; None where it does not tell.
        replies: one for each key in order, or why there is none; None before the batch has ended.
    """

    id: str
    settings: dict[str, Any]
    keys: list[dict[str, Any]]
    done: int | None = None
    replies: list[Reply | RequestFailed] | None = None


def require_batches(client: Client) -> None:
    """ValueError where the provider has no batch API that the installed packages know."""
    if build(client.spec).batch_max_requests is None:
        raise _none_here(client)


def submit(client: Client, journal: Journal, questions: Iterable[Question]) -> Standing | None:
    """Submit questions as one batch: as many as the provider takes in one, from the first on.

    Args:
        client: whom to ask.
        journal: an empty one, which `check` reads.
        questions: single turns.

    Returns:
        the batch, or None where there are no questions.

    Raises:
        ValueError: where the provider has no batch API, or a setting cannot be had in one.
        StopAsking: where the provider refuses the batch.
        RequestFailed: where it is not known whether the batch was created; `check` finds out.
    """
    return asyncio.run(_submit(client, journal, questions))


def check(client: Client, journal: Journal) -> Standing | None:
    """How the batch of a journal stands, with its replies once it has ended.

    The journal stays as it is: the caller clears it when the replies are safe.

    Returns:
        None where no batch was submitted, or the provider never created it.

    Raises:
        StopAsking: where the provider refuses to tell.
        RequestFailed: where it cannot be known just now.
    """
    return asyncio.run(_check(client, journal))


async def _submit(client: Client, journal: Journal, questions: Iterable[Question]) -> Standing | None:
    from pydantic_ai.exceptions import UserError

    model, tag = build(client.spec), secrets.token_hex(8)
    try:
        keys, encoded = await _encode(client, model, tag, questions)
    except UserError as error:
        raise ValueError(f"{client.spec.name}: {client.one_line(error)}") from error
    if not encoded:
        return None
    intent = {"tag": tag, "at": datetime.now(UTC), "group": encoded[0].group}
    journal.append({**intent, "settings": client.settings, "keys": keys})
    try:
        batch = await model.batch_create(encoded)
    except Exception as error:
        if judge(error) == "again":
            lost = f"{client.one_line(error)}; the same command finds out whether the batch was created"
            raise RequestFailed(f"{client.spec.name}: {lost}") from error
        journal.clear()
        raise (
            _none_here(client) if getattr(error, "status_code", None) == 404 else client.refusal(error)
        ) from error
    _note(journal, batch)
    return Standing(batch.id, client.settings, keys)


async def _encode(
    client: Client, model: Model, tag: str, questions: Iterable[Question]
) -> tuple[list[dict[str, Any]], list[EncodedBatchRequest]]:
    """The first questions, as many as fit into one batch: their keys and requests."""
    keys, encoded = [], []
    most, room = model.batch_max_requests or 0, model.batch_max_bytes or float("inf")
    for key, turn in questions:
        request = await model.batch_encode(_request(client, f"{tag}-{len(keys)}", turn))
        room -= model.batch_request_size(request)
        if room < 0 or len(keys) == most:
            break
        keys.append(key)
        encoded.append(request)
    return keys, encoded


def _request(client: Client, custom_id: str, *turns: Turn) -> BatchRequest:
    from pydantic_ai.models.batch import BatchRequest

    # No part of a request's body, and a batch has none.
    settings: Any = {name: value for name, value in client.asked_with.items() if name != "timeout"}
    return BatchRequest(custom_id=custom_id, messages=list(map(message, turns)), model_settings=settings)


async def _check(client: Client, journal: Journal) -> Standing | None:
    records = list(journal.records())
    if not records:
        return None
    intent, model = records[0], build(client.spec)
    try:
        batch = await (_known(model, records[1]) if records[1:] else _search(model, journal, intent))
        if batch is None:
            journal.clear()
            return None
        standing = Standing(batch.id, intent["settings"], intent["keys"])
        if batch.status == "ended":
            standing.replies = await _replies(client, model, batch, intent)
        else:
            standing.done = await _done(model, batch)
        return standing
    except RequestFailed:
        raise
    except Exception as error:
        said = f"{client.spec.name}: {client.one_line(error)}"
        if judge(error) == "again":
            raise RequestFailed(said) from error
        raise StopAsking(
            f"{said}; is it the key that submitted? {journal.path} removed gives it up"
        ) from error


def _note(journal: Journal, batch: Batch) -> None:
    from pydantic import TypeAdapter

    journal.append({"batch": TypeAdapter(type(batch)).dump_python(batch, mode="json")})


async def _known(model: Model, record: dict[str, Any]) -> Batch:
    from pydantic import TypeAdapter
    from pydantic_ai.models.batch import Batch

    return await model.batch_status(TypeAdapter(Batch).validate_python(record["batch"]))


async def _search(model: Model, journal: Journal, intent: dict[str, Any]) -> Batch | None:
    """The batch of an intent without an id: its requests bear the intent's tag, which results tell.

    One that has not ended tells no tag; where its size is right it is waited for, which costs nothing: a batch
    that is not ours is found out when it has ended, and one of ours would not have been sooner.
    """
    from pydantic_ai.models._batch_codec import BatchJobError
    from pydantic_ai.models.batch import Batch

    asked_at, count, maybe = datetime.fromisoformat(intent["at"]), len(intent["keys"]), None
    async for batch_id, created in _listed(model):
        if created < asked_at - _CLOCKS:
            continue
        bare = Batch(
            id=batch_id,
            model_name=model.model_name,
            provider_name=model.system,
            group=intent["group"],
            status="in_progress",
            created_at=created,
            request_count=count,
        )
        batch = await model.batch_status(bare)
        if batch.status != "ended":
            maybe = batch if batch.request_count == count else maybe
            continue
        # A job of Google's that failed as a whole has run nothing, and does not matter.
        with suppress(BatchJobError):
            if any(custom_id.startswith(intent["tag"]) for custom_id in await _results(model, batch)):
                _note(journal, batch)
                return batch
    if maybe is None and datetime.now(UTC) - asked_at < _SETTLING:
        raise RequestFailed("a batch was submitted just now and is not listed yet; call again in a minute")
    return maybe


async def _listed(model: Any) -> AsyncIterator[tuple[str, datetime]]:
    """Id and time of every batch of the account."""
    if model.system == "google":
        async for job in await model.client.aio.batches.list():
            yield job.name, job.create_time
    elif model.system == "anthropic":
        async for job in model.client.beta.messages.batches.list(limit=100):
            yield job.id, job.created_at
    else:
        async for job in model.client.batches.list(limit=100):
            yield job.id, datetime.fromtimestamp(job.created_at, UTC)


async def _done(model: Any, batch: Batch) -> int | None:
    """Requests that the provider is done with, which pydantic-ai's handle leaves out."""
    if model.system == "google":
        return None
    if model.system == "anthropic":
        return (
            batch.request_count
            - (await model.client.beta.messages.batches.retrieve(batch.id)).request_counts.processing
        )
    counts = (await model.client.batches.retrieve(batch.id)).request_counts
    return counts and counts.completed + counts.failed


async def _results(model: Model, batch: Batch) -> dict[str, BatchResult]:
    return {result.custom_id: result for result in await model.batch_results(batch)}


async def _replies(
    client: Client, model: Model, batch: Batch, intent: dict[str, Any]
) -> list[Reply | RequestFailed]:
    from pydantic_ai.models._batch_codec import BatchJobError

    try:
        results = await _results(model, batch)
    except BatchJobError as error:
        return [RequestFailed(client.one_line(error))] * len(intent["keys"])
    ids = (f"{intent['tag']}-{i}" for i in range(len(intent["keys"])))
    return [_reply(client, model, results.get(custom_id), custom_id) for custom_id in ids]


def _reply(client: Client, model: Model, result: BatchResult | None, custom_id: str) -> Reply | RequestFailed:
    if result is None:
        return RequestFailed("the batch ended without a result for it")
    try:
        return client.read(model.batch_decode(result, _request(client, custom_id)))
    except Exception as error:  # whatever is wrong with one result concerns no other
        return RequestFailed(client.one_line(error))


def _none_here(client: Client) -> ValueError:
    where = f" at {client.settings['base_url']}" if client.spec.base_url else ""
    return ValueError(f"{client.spec.name}: {client.spec.id}{where} has no batch API; leave out --batch")
