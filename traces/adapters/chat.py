"""Chat logs of the OpenAI and Anthropic kinds: conversations, model calls, single messages or Responses items."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any, Literal

from ...schemas import Diagnostic, Usage
from ..world.digits import Digits
from .bundle import Bundle
from .content import Message, Opener, Role, read_call, read_content
from .facts import gather, read_time
from .json_text import as_text
from .messages import Draft, draft_episode
from .settle import Item, Runs
from .threads import Exchange, weave
from .transcripts import Line, beside, drain, head, read_json, read_lines, stem

UsageReader = Callable[[Any], Usage | None]
Kind = Literal["conversation", "exchange", "message"]

_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "model": "assistant",
    "ai": "assistant",
    "tool": "tool",
    "function": "tool",
}
_CALL_ITEMS = ("function_call", "custom_tool_call", "local_shell_call", "mcp_call")
_OUTPUT_ITEMS = ("function_call_output", "custom_tool_call_output", "mcp_call_output")
_LISTS = ("messages", "conversation", "conversations", "input")


def read_message(raw: Any, open_file: Opener | None = None) -> Message:
    """A chat message, or a Responses item, as the source has it; what is no object becomes an empty user message."""
    if not isinstance(raw, dict):
        return Message("user")
    if "role" not in raw and "type" in raw:
        return _read_item(raw, open_file)
    message = Message(_ROLES.get(str(raw.get("role")), "user"), source_id=as_text(raw.get("id")))
    message.thought = as_text(raw.get("reasoning_content") or raw.get("reasoning")) or None
    message.facts = raw.get("metadata") or {}
    message.time = read_time(raw.get("timestamp") or raw.get("created_at"))
    read_content(message, raw.get("content"), open_file)
    if "refusal" in raw:
        read_content(message, raw["refusal"], open_file)
    for call in raw.get("tool_calls") or [raw.get("function_call")]:
        if isinstance(call, dict):
            message.calls.append(read_call(call))
    if message.role == "tool":
        message.call_id = as_text(raw.get("tool_call_id"))
        message.is_error = bool(raw.get("error") or raw.get("is_error"))
    return message


def _read_item(raw: Mapping[str, Any], open_file: Opener | None) -> Message:
    kind = raw.get("type")
    if kind in _CALL_ITEMS:
        return Message("assistant", calls=[read_call(raw)], source_id=as_text(raw.get("id")))
    if kind in _OUTPUT_ITEMS:
        message = Message("tool", call_id=as_text(raw.get("call_id")))
        output = raw.get("output")
        if isinstance(output, dict):
            message.is_error = output.get("success") is False
            output = output.get("content", output.get("body"))
        return read_content(message, output, open_file)
    role: Role = "assistant" if kind in ("reasoning", "output_text", "message") else "user"
    message = Message(role, source_id=as_text(raw.get("id")))
    return read_content(message, dict(raw), open_file) if kind == "reasoning" else message


def join_replies(messages: list[Message]) -> list[Message]:
    """Successive messages of the assistant as one: an API returns text, reasoning and calls as separate items."""
    joined: list[Message] = []
    for message in messages:
        before = joined[-1] if joined else None
        if before is None or not (before.role == message.role == "assistant"):
            joined.append(message)
            continue
        before.text = "\n".join(filter(None, (before.text, message.text)))
        before.thought = "\n".join(filter(None, (before.thought, message.thought))) or None
        before.calls += message.calls
        before.usage = message.usage or before.usage
        before.time = before.time or message.time
    return joined


def looks_like_chat(data: bytes) -> bool:
    """Whether a head holds chat messages or Responses items."""
    messages = b'"role"' in data and (b'"content"' in data or b'"tool_calls"' in data)
    items = b'"function_call"' in data and b'"call_id"' in data
    return data.lstrip()[:1] in (b"{", b"[") and (messages or items)


def is_anthropic(data: bytes) -> bool:
    """Whether a head is written in Anthropic's shapes rather than OpenAI's."""
    marks = (b"tool_use", b"tool_result", b"cache_read_input_tokens", b'"thinking"')
    spaced = data.replace(b" ", b"")
    return (
        any(b'"' + mark.strip(b'"') + b'"' in data for mark in marks)
        or b'"source":{"type":"base64"' in spaced
    )


def read_chat(bundle: Bundle, digits: Digits, adapter: str, read_usage: UsageReader) -> Iterator[Item]:
    """Records of chat logs.

    Args:
        bundle: JSON or JSONL files.
        digits: used to rebuild canvases.
        adapter: name of the adapter, for the runs.
        read_usage: reads a usage object of the provider.
    """
    runs, problems = Runs(stem(bundle.name), adapter, digits), []
    for name in bundle.names():
        reader = _Reader(bundle, name, read_usage, problems)
        for draft in reader.drafts():
            yield from drain(problems)
            yield from runs.items(draft)
    yield from drain(problems)


class _Reader:
    def __init__(self, bundle: Bundle, name: str, usage: UsageReader, problems: list[Diagnostic]) -> None:
        self.bundle, self.name, self.usage, self.problems = bundle, name, usage, problems
        self.open_file = beside(bundle, name)

    def drafts(self) -> Iterator[Draft]:
        """Episodes of a file; its first record tells what its records are."""
        records = self._records()
        first = next(records, None)
        if first is None:
            return
        records, kind = chain([first], records), _kind(first.value)
        if kind == "message":
            yield self._whole([line.value for line in records])
        elif kind == "exchange":
            for number, thread in enumerate(weave(self._exchanges(records), self._message)):
                yield self._draft(join_replies(thread.messages), thread.facts, thread.key or str(number))
        else:
            yield from self._conversations(records)

    def _records(self) -> Iterator[Line]:
        if not _is_document(head(self.bundle, self.name, 1 << 16)):
            yield from read_lines(self.bundle, self.name, self.problems)
            return
        document = read_json(self.bundle, self.name, self.problems)
        for number, value in enumerate(document if isinstance(document, list) else [document], start=1):
            if value is not None:
                yield Line(number, value)

    def _message(self, raw: Any) -> Message:
        return read_message(raw, self.open_file)

    def _whole(self, values: list[Any]) -> Draft:
        messages = [self._message(value) for value in values]
        for message, value in zip(messages, values, strict=True):
            message.usage = self.usage(value.get("usage")) if isinstance(value, dict) else None
        return self._draft(join_replies(messages), gather(values[0]), stem(self.name))

    def _conversations(self, records: Iterator[Line]) -> Iterator[Draft]:
        for index, line in enumerate(records):
            raw = _messages(line.value)
            if raw is None:
                self._skip(line, "no list of messages")
                continue
            messages = [self._message(value) for value in raw]
            for message, value in zip(messages, raw, strict=True):
                message.usage = self.usage(value.get("usage")) if isinstance(value, dict) else None
            facts = gather(line.value)
            source_id = _source_id(line.value, facts) or str(index)
            draft = self._draft(join_replies(messages), facts, source_id)
            if isinstance(line.value, dict) and not any(message.usage for message in messages):
                _set_totals(draft, self.usage(line.value.get("usage")))
            yield draft

    def _exchanges(self, records: Iterator[Line]) -> Iterator[Exchange]:
        for line in records:
            request, response = _sides(line.value)
            if request is None or response is None:
                self._skip(line, "no request with messages and no response")
                continue
            facts = gather(line.value, request, response)
            yield Exchange(
                _request(request), self._reply(response, line.value), _source_id(line.value, facts), facts
            )

    def _reply(self, response: Mapping[str, Any], record: Mapping[str, Any]) -> Message | None:
        if response.get("error"):
            return None
        choices = response.get("choices")
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            message = self._message(choices[0].get("message"))
        elif isinstance(response.get("output"), list):
            parts = join_replies([self._message(item) for item in response["output"]])
            message = parts[0] if parts else Message("assistant")
        else:
            message = self._message(response)
        message.role = "assistant"
        message.usage = self.usage(response.get("usage"))
        message.time = message.time or read_time(response.get("created", response.get("created_at")))
        latency = record.get("latency_s", record.get("latency"))
        message.latency = latency if isinstance(latency, float) else None
        return message

    def _draft(self, messages: list[Message], facts: dict[str, Any], source_id: str) -> Draft:
        draft = draft_episode(messages, source_id, facts, self.name)
        draft.open_file = self.open_file
        return draft

    def _skip(self, line: Line, why: str) -> None:
        problem = Diagnostic(
            code="record_skipped", message=why, path=self.name, position=f"line {line.number}"
        )
        self.problems.append(problem)


def _is_document(data: bytes) -> bool:
    """Whether a file is one JSON document rather than one a line."""
    text = data.lstrip()
    first = text.split(b"\n", 1)[0].rstrip()
    return text[:1] == b"[" or first in (b"{", b"")


def _kind(record: Any) -> Kind:
    if not isinstance(record, dict):
        return "conversation"
    if all(side is not None for side in _sides(record)):
        return "exchange"
    if _messages(record) is not None:
        return "conversation"
    return "message" if "role" in record or "type" in record else "conversation"


def _messages(record: Any) -> list[Any] | None:
    if isinstance(record, list):
        return record
    if not isinstance(record, dict):
        return None
    return next((record[name] for name in _LISTS if isinstance(record.get(name), list)), None)


def _sides(record: Any) -> tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]:
    """Request and response of a model call, in whichever of the usual wrappings."""
    if not isinstance(record, dict):
        return None, None
    request = next(
        (record[n] for n in ("request", "body", "kwargs") if isinstance(record.get(n), dict)), None
    )
    if request is None and _messages(record) is not None:
        request = record
    names = ("response", "completion", "result", "output_message")
    response = next((record[n] for n in names if isinstance(record.get(n), dict)), None)
    if response is None and isinstance(record.get("output"), list):
        response = record
    if response is not None and isinstance(response.get("body"), dict):
        response = response["body"]
    return request, response


def _request(request: Mapping[str, Any]) -> list[Any]:
    messages = _messages(request)
    return messages if messages is not None else [{"role": "user", "content": request.get("input")}]


def _source_id(record: Any, facts: Mapping[str, Any]) -> str | None:
    given = facts.get("source_episode_id")
    if given is None and isinstance(record, dict):
        names = ("conversation_id", "session_id", "thread_id", "custom_id")
        given = next((record[name] for name in names if record.get(name) is not None), None)
    return as_text(given)


def _set_totals(draft: Draft, usage: Usage | None) -> None:
    if usage is not None:
        for name in Usage.__dataclass_fields__:
            setattr(draft.episode, name, getattr(usage, name))
