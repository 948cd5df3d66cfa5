"""Chats of Gemini CLI to canonical records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...world.digits import Digits
from ..bundle import Bundle
from ..content import Message, read_call, read_content
from ..facts import read_time
from ..json_text import as_text
from ..sessions import Session, SessionFile, read_sessions
from ..settle import Item
from ..transcripts import inclusive_usage, stem

VERSION = 1

_SILENT = ("info", "error", "warning")


def read(bundle: Bundle, digits: Digits) -> Iterator[Item]:
    """Records of chat files.

    Args:
        bundle: JSONL files, or JSON ones of older versions.
        digits: used to rebuild canvases.
    """
    seen: set[tuple[Any, Any]] = set()
    return read_sessions(bundle, digits, "gemini_cli", lambda file: _parse(file, seen))


def _parse(file: SessionFile, seen: set[tuple[Any, Any]]) -> Iterator[Session]:
    head, records = _replay(file)
    identity = head.get("sessionId"), head.get("startTime")
    if not records:
        return
    if identity != (None, None) and identity in seen:
        file.note("redundant_record", f"session {identity[0]} of {identity[1]} is there already")
        return
    seen.add(identity)
    session = Session(as_text(identity[0]) or stem(file.name), [], {"harness": "mcp", "agent": "gemini-cli"})
    for record in records:
        session.messages += _messages(record, file)
        session.facts["model"] = record.get("model") or session.facts.get("model")
    yield session


def _replay(file: SessionFile) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Metadata and messages after all changes: an id again overwrites, `$set` replaces, `$rewindTo` takes back."""
    head: dict[str, Any] = {}
    records: dict[str, dict[str, Any]] = {}
    for number, record in file.lines:
        if not isinstance(record, dict):
            file.note("record_skipped", "a record that is no object", number)
        elif "$rewindTo" in record:
            _rewind(records, str(record["$rewindTo"]))
        elif "id" in record and "type" in record:
            records[str(record["id"])] = record
        elif "$set" in record or "sessionId" in record:
            change = record.get("$set", record)
            head |= {name: value for name, value in change.items() if name != "messages"}
            if isinstance(change.get("messages"), list):
                kept = [message for message in change["messages"] if isinstance(message, dict)]
                records = {str(message.get("id", position)): message for position, message in enumerate(kept)}
        else:
            file.unknown[str(next(iter(record), None))] += 1
    return head, list(records.values())


def _rewind(records: dict[str, dict[str, Any]], target: str) -> None:
    """Take back a message and all after it; an unknown one takes back everything."""
    names = list(records)
    for name in names[names.index(target) if target in records else 0 :]:
        del records[name]


def _messages(record: Mapping[str, Any], file: SessionFile) -> list[Message]:
    kind = record.get("type")
    if kind not in ("user", "gemini"):
        if kind not in _SILENT:
            file.unknown[str(kind)] += 1
        return []
    message = Message("user" if kind == "user" else "assistant", source_id=as_text(record.get("id")))
    message.time = read_time(record.get("timestamp"))
    read_content(message, record.get("content"), file.open_file)
    if kind == "user":
        return [message]
    thoughts = record.get("thoughts")
    texts = [_thought(thought) for thought in thoughts] if isinstance(thoughts, list) else []
    message.thought = "\n".join(filter(None, texts)) or None
    message.usage = inclusive_usage(record.get("tokens"))
    results = []
    for raw in record.get("toolCalls") or []:
        if isinstance(raw, dict):
            message.calls.append(read_call(raw))
            results.append(_result(raw, file))
    return [message, *results]


def _thought(thought: Any) -> str | None:
    if not isinstance(thought, dict):
        return as_text(thought)
    return (
        ": ".join(filter(None, (as_text(thought.get("subject")), as_text(thought.get("description")))))
        or None
    )


def _result(raw: Mapping[str, Any], file: SessionFile) -> Message:
    """A call's result: its parts, those inside `functionResponse` included."""
    inside = read_content(Message("user"), raw.get("result"), file.open_file)
    result = Message(
        "tool", call_id=as_text(raw.get("id")), is_error=raw.get("status") in ("error", "cancelled")
    )
    for part in [*inside.results, inside]:
        result.text = "\n".join(filter(None, (result.text, part.text)))
        result.pictures += part.pictures
    return result
