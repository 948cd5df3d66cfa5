"""How fast and how much: requests and tokens a minute, calls and money in all."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from ...schemas import StopAsking


@dataclass(slots=True)
class Pace:
    """Evens amounts out over time: never more than `per_minute` of them in a minute, one after the other.

    Args:
        per_minute: amount allowed in a minute; None for no limit.
    """

    per_minute: float | None
    _free: float = 0.0

    async def take(self, amount: float) -> None:
        """Wait until the amounts taken before have had their time, then take `amount`."""
        if self.per_minute is None:
            return
        now = time.monotonic()
        begin = max(now, self._free)
        self._free = begin + amount * 60 / self.per_minute
        await asyncio.sleep(begin - now)

    def correct(self, amount: float) -> None:
        """Take `amount` more (or less, where negative) than was thought."""
        if self.per_minute is not None:
            self._free += amount * 60 / self.per_minute


@dataclass(slots=True)
class Limits:
    """What a command may ask for, over all its models; one object is shared by all of them.

    A call is counted when its reply is in hand; one that failed is no call. Where money is capped, the
    price of a call under way is taken to be the highest of a call so far, and the first call goes alone.

    Args:
        rpm: requests a minute, repeated ones included.
        tpm: tokens a minute, input and output.
        max_calls: calls in all.
        max_cost: USD in all.
    """

    rpm: float | None = None
    tpm: float | None = None
    max_calls: int | None = None
    max_cost: float | None = None
    calls: int = 0
    cost: float = 0.0
    _open: int = 0
    _dearest: float = 0.0
    _tokens: float = 2000.0
    _requests_pace: Pace = field(init=False)
    _tokens_pace: Pace = field(init=False)

    def __post_init__(self) -> None:
        self._requests_pace, self._tokens_pace = Pace(self.rpm), Pace(self.tpm)

    @asynccontextmanager
    async def call(self) -> AsyncIterator[None]:
        """One call under way.

        Raises:
            StopAsking: where it would go over a cap.
        """
        while self.max_cost is not None and self._open and not self.calls:
            await asyncio.sleep(0.005)
        self._admit(self._open + 1, self._dearest * (self._open + 1))
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1

    def book(self, cost: float | None) -> None:
        """Count a call whose reply comes later, at the price it is thought to have.

        Raises:
            StopAsking: where it would go over a cap.
        """
        self._admit(1, cost or 0.0)
        self.replied(None, cost)

    def _admit(self, calls: int, cost: float) -> None:
        if self.max_calls is not None and self.calls + calls > self.max_calls:
            raise StopAsking(f"--max-calls {self.max_calls} reached")
        if self.max_cost is not None and self.cost + cost > self.max_cost:
            raise StopAsking(f"--max-cost {self.max_cost:g} reached: {self.cost:.4f} USD spent")

    async def request(self) -> None:
        """Wait until one more request may be sent."""
        await self._requests_pace.take(1)
        await self._tokens_pace.take(self._tokens)

    def replied(self, tokens: int | None, cost: float | None) -> None:
        """Count a reply: its tokens and its price, where known."""
        self.calls += 1
        self.cost += cost or 0.0
        self._dearest = max(self._dearest, cost or 0.0)
        if tokens is not None:
            self._tokens_pace.correct(tokens - self._tokens)
            # What the next call may take, before its reply tells: a running mean.
            self._tokens += 0.2 * (tokens - self._tokens)
