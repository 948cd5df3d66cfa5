"""What an agent printed, where it prints JSON lines as Claude Code does: its own tool calls, its cost."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ....schemas import ToolCall, Usage
from ...adapters.content import Message, read_content

_OURS = ("move", "view_image", "submit")


def merge_calls(output: str, ours: Sequence[ToolCall]) -> list[ToolCall]:
    """The controller's calls with the agent's other calls between them, in the order of the transcript.

    Args:
        output: what the agent printed.
        ours: calls that the controller answered.
    """
    rest = list(ours)
    results = {result.call_id: result for message in _messages(output) for result in message.results}
    merged: list[ToolCall] = []
    for message in _messages(output):
        for call in message.calls:
            if rest and call.name.rpartition("__")[2] in _OURS:
                merged.append(replace(rest.pop(0), call_id=call.call_id))
                continue
            result = results.get(call.call_id)
            merged.append(
                ToolCall(
                    position=0,
                    call_id=call.call_id,
                    tool=call.name,
                    arguments=call.arguments,
                    result=result.text if result else None,
                    is_error=result.is_error if result else None,
                )
            )
    return [replace(call, position=number) for number, call in enumerate([*merged, *rest])]


def total_usage(output: str) -> Usage:
    """Tokens and cost of the `result` line that such programs end with; unknown without one."""
    for line in reversed(list(_lines(output))):
        if line.get("type") == "result" and isinstance(usage := line.get("usage"), dict):
            return Usage(
                tokens_input=usage.get("input_tokens"),
                tokens_cache_read=usage.get("cache_read_input_tokens"),
                tokens_cache_write=usage.get("cache_creation_input_tokens"),
                tokens_output=usage.get("output_tokens"),
                cost=line.get("total_cost_usd"),
            )
    return Usage()


def _messages(output: str) -> Iterator[Message]:
    for line in _lines(output):
        message = line.get("message")
        if isinstance(message, dict) and message.get("role") in ("assistant", "user"):
            yield read_content(Message(message["role"]), message.get("content"))


def _lines(output: str) -> Iterator[dict[str, Any]]:
    for text in output.splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if isinstance(line, dict):
            yield line
