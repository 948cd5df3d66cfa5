"""Model calls to conversations: which requests and replies belong together, and what is new in each."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from .actions import from_call, from_reply
from .content import Message
from .json_text import dumps


@dataclass
class Exchange:
    """One model call.

    Args:
        request: the messages sent, as the source has them.
        reply: the answer to it, None where the call failed.
        key: id of the conversation, where the source has one.
        facts: what the source says beside it.
    """

    request: Sequence[Any]
    reply: Message | None
    key: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass
class Thread:
    """A conversation put together from model calls."""

    key: str | None
    facts: dict[str, Any]
    messages: list[Message] = field(default_factory=list)
    known: list[bytes] = field(default_factory=list)
    ended: bool = False

    def add(self, exchange: Exchange, marks: list[bytes], read: Callable[[Any], Message]) -> None:
        """Add what a call shows for the first time: new messages of the request, then the reply."""
        self.facts = exchange.facts | self.facts
        new = list(exchange.request)
        if continues(self.known, marks):
            new = new[len(self.known) :]
            messages = [read(message) for message in new]
            # The request repeats the reply before it, often in another shape.
            while self.messages and messages and messages[0].role == "assistant":
                messages.pop(0)
        else:
            messages = [read(message) for message in new]
            messages = [m for m in messages if m.role in ("user", "tool")][-1:] if self.messages else messages
        self.messages += messages
        self.known = marks
        if exchange.reply is not None:
            self.messages.append(exchange.reply)
            self.ended = is_answer(exchange.reply)


def weave(exchanges: Iterator[Exchange], read: Callable[[Any], Message]) -> Iterator[Thread]:
    """Conversations, each when its last reply was an answer, the rest at the end.

    Calls with the same key belong together; without keys, a call belongs to the conversation that its request
    continues, else (a turn-based runner sends one message a turn) to the one before it that has not ended.
    """
    threads: list[Thread] = []
    for exchange in exchanges:
        marks = [mark(message) for message in exchange.request]
        thread = _find(threads, exchange.key, marks)
        if thread is None:
            thread = Thread(exchange.key, exchange.facts)
            threads.append(thread)
        thread.add(exchange, marks, read)
        if thread.ended:
            threads.remove(thread)
            yield thread
    yield from threads


def _find(threads: list[Thread], key: str | None, marks: list[bytes]) -> Thread | None:
    if key is not None:
        return next((thread for thread in threads if thread.key == key), None)
    longest = max((t for t in threads if continues(t.known, marks)), key=lambda t: len(t.known), default=None)
    turn_based = not longest and threads and len(threads[-1].known) == len(marks)
    return threads[-1] if turn_based else longest


def continues(known: list[bytes], marks: list[bytes]) -> bool:
    """Whether a request goes on from an earlier one."""
    return bool(known) and len(marks) > len(known) and marks[: len(known)] == known


def mark(message: Any) -> bytes:
    """What tells a message from another: a hash of its JSON."""
    return hashlib.blake2b(dumps(message).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def is_answer(reply: Message) -> bool:
    """Whether a reply gives the final answer."""
    if reply.calls:
        return any(from_call(call).kind == "answer" for call in reply.calls)
    return from_reply(reply.text).kind == "answer" if "{" in reply.text else False
