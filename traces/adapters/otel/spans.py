"""Spans in OTLP/JSON or as plain objects, and the flattened attributes of OpenInference."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ....schemas import Usage
from ..json_text import BadJson, as_text, loads, whole

_KEYS = ("gen_ai.conversation.id", "session.id", "thread.id")
_INDEXED = re.compile(r"\.(\d+)\.(.+)")


@dataclass(frozen=True)
class Span:
    """A span: attributes by name, start in Unix seconds, duration in seconds, trace id."""

    attributes: dict[str, Any]
    start: float
    duration: float | None
    trace: str

    @property
    def conversation(self) -> str:
        """What holds calls of one episode together."""
        return next((str(self.attributes[key]) for key in _KEYS if self.attributes.get(key)), self.trace)

    def json(self, name: str) -> Any:
        """An attribute that is a JSON value, or JSON text."""
        value = self.attributes.get(name)
        if not isinstance(value, str):
            return value
        try:
            return loads(value.encode("utf-8", "surrogatepass"))[0]
        except BadJson:
            return None


def spans(record: Any) -> Iterator[Span]:
    """Spans of a record: a whole OTLP export, or one span."""
    if not isinstance(record, dict):
        return
    if isinstance(record.get("resourceSpans"), list):
        for resource in record["resourceSpans"]:
            for scope in resource.get("scopeSpans", []):
                for span in scope.get("spans", []):
                    yield _span(span)
    elif "attributes" in record:
        yield _span(record)


def _span(raw: Mapping[str, Any]) -> Span:
    attributes = raw.get("attributes")
    if isinstance(attributes, list):
        attributes = {str(item.get("key")): _value(item.get("value")) for item in attributes}
    attributes = dict(attributes) if isinstance(attributes, dict) else {}
    for event in raw.get("events") or []:
        listed = event.get("attributes")
        if isinstance(listed, list):
            attributes = {str(item.get("key")): _value(item.get("value")) for item in listed} | attributes
    start, end = (_seconds(raw.get(name, raw.get(other))) for name, other in _TIMES)
    context = raw.get("context") or {}
    trace = as_text(raw.get("traceId") or raw.get("trace_id") or context.get("trace_id")) or "trace"
    return Span(attributes, start or 0.0, end - start if start and end else None, trace)


_TIMES = (("startTimeUnixNano", "start_time_unix_nano"), ("endTimeUnixNano", "end_time_unix_nano"))


def _seconds(value: Any) -> float | None:
    number = int(value) if isinstance(value, str) and value.isdigit() else whole(value)
    return None if number is None else number / 1e9


def _value(value: Any) -> Any:
    """An OTLP value as a plain one."""
    if not isinstance(value, dict):
        return value
    for name, given in value.items():
        if name == "intValue":
            return int(given)
        if name == "arrayValue":
            return [_value(item) for item in given.get("values", [])]
        if name == "kvlistValue":
            return {item.get("key"): _value(item.get("value")) for item in given.get("values", [])}
        return given
    return None


def read_usage(attributes: Mapping[str, Any]) -> Usage:
    """Token counts; GenAI's and OpenInference's input tokens include the cached ones."""

    def count(*names: str) -> int | None:
        return next((n for name in names if (n := whole(attributes.get(name))) is not None), None)

    total = count("gen_ai.usage.input_tokens", "llm.token_count.prompt")
    cached = count("gen_ai.usage.cache_read.input_tokens", "llm.token_count.prompt_details.cache_read")
    written = count("gen_ai.usage.cache_creation.input_tokens", "llm.token_count.prompt_details.cache_write")
    return Usage(
        tokens_input=None if total is None else max(0, total - (cached or 0) - (written or 0)),
        tokens_cache_read=cached,
        tokens_cache_write=written,
        tokens_output=count("gen_ai.usage.output_tokens", "llm.token_count.completion"),
        tokens_reasoning=count(
            "gen_ai.usage.reasoning.output_tokens", "llm.token_count.completion_details.reasoning"
        ),
    )


def flat_messages(attributes: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """Messages of OpenInference, whose attribute names carry the indices.

    >>> flat_messages({"m.0.message.role": "user", "m.0.message.content": "hi"}, "m")
    [{'role': 'user', 'content': ['hi'], 'tool_calls': [], 'tool_call_id': None}]
    """
    messages = []
    for fields in _group(attributes, prefix):
        message = {name.removeprefix("message."): value for name, value in fields.items()}
        content: list[Any] = [message["content"]] if message.get("content") else []
        for part in _group(message, "contents"):
            image = part.get("message_content.image.image.url")
            text = part.get("message_content.text")
            content.append({"type": "image_url", "image_url": image} if image is not None else text)
        calls = [
            {
                "type": "tool_call",
                "id": call.get("tool_call.id"),
                "name": call.get("tool_call.function.name"),
                "arguments": call.get("tool_call.function.arguments"),
            }
            for call in _group(message, "tool_calls")
        ]
        role, call_id = message.get("role"), message.get("tool_call_id")
        messages.append({"role": role, "content": content, "tool_calls": calls, "tool_call_id": call_id})
    return messages


def _group(attributes: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """Attributes `prefix.<i>.<rest>` as one mapping an index, in order."""
    found: dict[int, dict[str, Any]] = {}
    for name, value in attributes.items():
        if name.startswith(prefix) and (match := _INDEXED.fullmatch(name[len(prefix) :])):
            found.setdefault(int(match[1]), {})[match[2]] = value
    return [found[index] for index in sorted(found)]
