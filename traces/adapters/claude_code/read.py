"""Sessions of Claude Code to canonical records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...world.digits import Digits
from ..bundle import Bundle
from ..content import Message, read_content
from ..facts import read_time
from ..json_text import as_text
from ..sessions import Session, SessionFile, read_sessions
from ..settle import Item
from ..transcripts import exclusive_usage, stem

VERSION = 1

_SILENT = (
    "summary",
    "system",
    "progress",
    "file-history-snapshot",
    "queue-operation",
    "attachment",
    "ai-title",
)
_CLEAR = "<command-name>/clear</command-name>"


def read(bundle: Bundle, digits: Digits) -> Iterator[Item]:
    """Records of session files.

    Args:
        bundle: JSONL files, one a session.
        digits: used to rebuild canvases.
    """
    return read_sessions(bundle, digits, "claude_code", _parse)


def _parse(file: SessionFile) -> Iterator[Session]:
    """Sessions of a file: one, or more where it was cleared in between."""
    session, part = Session(stem(file.name), [], {"harness": "mcp", "agent": "claude-code"}), 1
    replies: dict[str, Message] = {}
    for record in _records(file):
        content = record["message"].get("content")
        if isinstance(content, str) and _CLEAR in content:
            if any(message.role == "assistant" for message in session.messages):
                yield session
                part += 1
                session = Session(f"{stem(file.name)}~{part}", [], session.facts, session.version)
            continue
        session.version = as_text(record.get("version")) or session.version
        message = _message(record, replies, file)
        if message is not None:
            session.messages.append(message)
        if record["type"] == "assistant":
            session.facts["model"] = record["message"].get("model")
    if session.messages:
        yield session


def _records(file: SessionFile) -> Iterator[dict[str, Any]]:
    """User and assistant records of the main conversation, each uuid once."""
    seen: set[str] = set()
    repeated = 0
    for number, record in file.lines:
        kind = record.get("type") if isinstance(record, dict) else None
        if kind not in ("user", "assistant"):
            if kind not in _SILENT:
                file.unknown[str(kind)] += 1
            continue
        if not isinstance(record.get("message"), dict):
            file.note("record_skipped", "a record without a message", number)
            continue
        uuid = as_text(record.get("uuid"))
        if uuid in seen:
            repeated += 1
            continue
        if uuid is not None:
            seen.add(uuid)
        if not record.get("isSidechain") and not record.get("isMeta") and not record.get("isCompactSummary"):
            yield record
    if repeated:
        file.note("redundant_record", f"{repeated} records that were there before (same uuid)")


def _message(record: Mapping[str, Any], replies: dict[str, Message], file: SessionFile) -> Message | None:
    """The record's message; further blocks of a reply are added to it (one reply is several records)."""
    raw, role = record["message"], record["type"]
    message_id = as_text(raw.get("id")) if role == "assistant" else None
    message = replies.get(message_id or "")
    is_new = message is None
    if message is None:
        message = Message(role, source_id=message_id, time=read_time(record.get("timestamp")))
        if message_id:
            replies[message_id] = message
    # `toolUseResult` holds the same pictures a second time; only the message is read.
    read_content(message, raw.get("content"), file.open_file)
    if role == "assistant":
        message.usage = exclusive_usage(raw.get("usage")) or message.usage
    return message if is_new else None
