"""Samples in chunks: a small shell, and numbered sequences of messages, events and attachments beside it.

Source of the layout: `inspect_ai.log._recorders.chunked.format`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

_WHOLE = re.compile(r"samples/.*_epoch_\d+\.json", re.DOTALL)
_PART = re.compile(r"(samples/.*_epoch_\d+)/(?:(\w+)/)?(\w+)\.json", re.DOTALL)

Parts = dict[str, dict[int, str]]
"""Members of a chunked sample: by sequence and first index; the ones of no sequence under their own names at 0."""


def sample_members(names: Iterable[str]) -> Iterator[str | Parts]:
    """Each sample of a log: the member that holds it whole, or the parts of a chunked one."""
    chunked: dict[str, Parts] = {}
    for name in names:
        if _WHOLE.fullmatch(name):
            yield name
        elif match := _PART.fullmatch(name):
            sample, sequence, stem = match.groups()
            if sequence is None or stem.isdecimal():
                start = 0 if sequence is None else int(stem)
                chunked.setdefault(sample, {}).setdefault(sequence or stem, {})[start] = name
    yield from chunked.values()


def put_together(parts: Parts, load: Callable[[str], Any]) -> dict[str, Any] | None:
    """A sample in the shape of a whole one; None without a shell.

    Args:
        parts: its members.
        load: value of a member, None where it cannot be read.
    """
    shell = load(parts["sample"][0]) if "sample" in parts else None
    if not isinstance(shell, dict):
        return None
    messages = _sequence(parts, "messages", load)
    refs = shell.get("message_refs") or []
    return shell | {
        "messages": list(chain.from_iterable(messages[start:end] for start, end in refs)),
        "events": _sequence(parts, "events", load),
        "attachments": _sequence(parts, "attachments", load),
        "events_data": {"messages": messages},
        "metadata": load(parts["metadata"][0]) if "metadata" in parts else None,
    }


def _sequence(parts: Parts, name: str, load: Callable[[str], Any]) -> list[Any]:
    """Items of a sequence at their indices; None for those whose chunk is damaged or not there."""
    items: list[Any] = []
    for start, member in sorted(parts.get(name, {}).items()):
        chunk = load(member)
        items += [None] * (start - len(items))
        items += chunk if isinstance(chunk, list) else []
    return items
