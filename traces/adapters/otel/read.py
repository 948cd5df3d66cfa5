"""Spans to canonical records: model calls of one conversation (or trace) make an episode."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from ....schemas import Diagnostic
from ...world.digits import Digits
from ..bundle import Bundle
from ..chat import join_replies
from ..content import Message, Opener, read_content
from ..facts import gather, read_time
from ..json_text import as_text
from ..messages import draft_episode
from ..settle import Item, Runs
from ..threads import Exchange, Thread, mark
from ..transcripts import beside, drain, read_lines, stem
from .spans import Span, flat_messages, read_usage, spans

VERSION = 1

_CALLS = ("chat", "text_completion", "generate_content")


def read(bundle: Bundle, digits: Digits) -> Iterator[Item]:
    """Records of span files.

    Spans of one conversation may lie anywhere in a file, so a file's spans of model calls are held together; the
    pictures in them are what bounds the memory.

    Args:
        bundle: OTLP/JSON lines or documents.
        digits: used to rebuild canvases.
    """
    runs, problems = Runs(stem(bundle.name), "otel", digits), []
    for name in bundle.names():
        open_file = beside(bundle, name)
        for key, calls in _conversations(bundle, name, problems).items():
            calls.sort(key=lambda span: span.start)
            thread = _thread(calls, open_file, problems, name)
            facts = gather(*(span.attributes for span in calls)) | {"model": _model(calls)}
            draft = draft_episode(
                join_replies(thread.messages), str(facts.get("source_episode_id", key)), facts, name
            )
            yield from drain(problems)
            yield from runs.items(draft)
    yield from drain(problems)


def _conversations(bundle: Bundle, name: str, problems: list[Diagnostic]) -> dict[str, list[Span]]:
    """Spans of model calls by conversation, session or trace."""
    found: dict[str, list[Span]] = defaultdict(list)
    for line in read_lines(bundle, name, problems):
        for span in spans(line.value):
            kind = span.attributes.get("gen_ai.operation.name")
            if kind in _CALLS or span.attributes.get("openinference.span.kind") == "LLM":
                found[span.conversation].append(span)
    return found


def _model(calls: list[Span]) -> str | None:
    names = ("gen_ai.request.model", "gen_ai.response.model", "llm.model_name")
    return next((as_text(s.attributes[n]) for s in calls for n in names if s.attributes.get(n)), None)


def _thread(calls: list[Span], open_file: Opener, problems: list[Diagnostic], path: str) -> Thread:
    thread = Thread(None, {})
    failed: list[str] = []
    for span in calls:
        request, replies = _sides(span)
        if not replies:
            failed.append(as_text(span.attributes.get("error.type")) or "no output")
            continue
        reply = join_replies([_message(raw, open_file, "assistant") for raw in replies])[0]
        reply.retries, failed = failed, []
        reply.usage, reply.time = read_usage(span.attributes), read_time(span.start)
        reply.latency = span.duration
        exchange = Exchange(request, reply)
        thread.add(exchange, [mark(raw) for raw in request], lambda raw: _message(raw, open_file))
    if failed:
        problems.append(
            Diagnostic(code="record_skipped", message=f"calls without output: {failed}"[:300], path=path)
        )
    return thread


def _sides(span: Span) -> tuple[list[Any], list[Any]]:
    request = span.json("gen_ai.input.messages")
    replies = span.json("gen_ai.output.messages")
    if request is None and replies is None:
        request = flat_messages(span.attributes, "llm.input_messages")
        replies = flat_messages(span.attributes, "llm.output_messages")
    return (request if isinstance(request, list) else []), (replies if isinstance(replies, list) else [])


def _message(raw: Any, open_file: Opener, default: str = "user") -> Message:
    """A message of parts; tool responses inside come out through `Message.split`."""
    raw = raw if isinstance(raw, dict) else {}
    role = raw.get("role") or default
    message = Message(role if role in ("system", "user", "assistant", "tool") else "user")
    if role == "tool" and raw.get("tool_call_id"):
        message.call_id = as_text(raw["tool_call_id"])
    read_content(message, raw.get("parts", raw.get("content")), open_file)
    read_content(message, raw.get("tool_calls"), open_file)
    if message.role == "tool" and message.results:
        message.role = "user"
    return message
