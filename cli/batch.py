"""`swap --batch`: submit to a provider's batch API, come back, collect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from .context import NotHeld, UsageError, say

if TYPE_CHECKING:
    from ..replay.batch import Requests
    from ..replay.plan import Plan
    from ..replay.swap import Outcome
    from ..schemas import Predictor
    from ..traces.store import Store

Batch = Annotated[
    bool,
    typer.Option("--batch", help="Through the provider's batch API: the same command submits, then collects"),
]


class Batches:
    """The batches of one command; UsageError where a reader's provider has none."""

    def __init__(self, readers: Sequence[Predictor]) -> None:
        from ..replay.batch import Requests
        from ..replay.predictors.llm.predictor import LLM
        from ..traces.models.batch import require_batches

        self.requests = Requests()
        for reader in readers:
            if not isinstance(reader, LLM):
                raise UsageError(f"{reader.name} is no model of a provider; leave out --batch")
            try:
                require_batches(reader.client)
            except ValueError as error:
                raise UsageError(str(error)) from error

    @property
    def waiting(self) -> bool:
        """Whether replies are still to come."""
        return bool(self.requests.submitted or self.requests.pending)

    def step(
        self, store: Store, plan: Plan, reader: Predictor, fresh: bool, dry_run: bool
    ) -> tuple[Outcome, bool]:
        """Submit, look or collect; gives the outcome, and whether its pairs are all there will be."""
        from ..replay.batch import estimate_by_batch, swap_by_batch
        from ..traces.models.client import RequestFailed

        take = estimate_by_batch if dry_run else swap_by_batch
        try:
            outcome, requests = take(store, plan, reader, fresh=fresh)  # type: ignore[arg-type]
        except ValueError as error:
            raise UsageError(str(error)) from error
        except RequestFailed as error:
            raise NotHeld(str(error)) from error
        self.requests.add(requests)
        _tell(requests)
        return outcome, not (dry_run or requests.submitted or requests.pending)


def _tell(requests: Requests) -> None:
    name = ", ".join(requests.ids) or "a batch"
    if requests.submitted:
        say(f"{name}: {requests.submitted} requests submitted; the same command collects the replies later")
    elif requests.pending and requests.done is not None:
        left = requests.pending - requests.done
        say(f"{name}: {requests.done} requests done, {left} pending; the same command looks again")
    elif requests.pending:
        say(f"{name}: {requests.pending} requests pending; the same command looks again")
    elif requests.collected:
        say(f"{name}: {requests.collected} results collected")
