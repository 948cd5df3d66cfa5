"""Rollouts of Codex to canonical records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...world.digits import Digits
from ..bundle import Bundle
from ..chat import join_replies, read_message
from ..facts import read_time
from ..json_text import as_text
from ..sessions import Session, SessionFile, read_sessions
from ..settle import Item
from ..transcripts import inclusive_usage, stem

VERSION = 1

_SILENT = ("compacted", "world_state", "turn_context", "session_meta", "event_msg")


def read(bundle: Bundle, digits: Digits) -> Iterator[Item]:
    """Records of rollout files.

    Args:
        bundle: JSONL files, one a session.
        digits: used to rebuild canvases.
    """
    return read_sessions(bundle, digits, "codex", _parse)


def _parse(file: SessionFile) -> Iterator[Session]:
    session = Session(stem(file.name), [], {"harness": "mcp", "agent": "codex"})
    for number, record in file.lines:
        kind = record.get("type") if isinstance(record, dict) else None
        payload = record.get("payload") if isinstance(record, dict) else None
        if not isinstance(payload, dict):
            file.note("record_skipped", "a record without a payload", number)
        elif kind == "response_item":
            message = read_message(payload, file.open_file)
            message.time = read_time(record.get("timestamp"))
            session.messages.append(message)
        elif kind in _SILENT:
            _note_facts(session, str(kind), payload)
        else:
            file.unknown[str(kind)] += 1
    session.messages = join_replies(session.messages)
    if session.messages:
        yield session


def _note_facts(session: Session, kind: str, payload: Mapping[str, Any]) -> None:
    """What records beside the items say; `event_msg` repeats the items, only its token counts are new."""
    if kind == "session_meta":
        session.id = as_text(payload.get("id")) or session.id
        session.version = as_text(payload.get("cli_version"))
    elif kind == "turn_context":
        session.facts["model"] = payload.get("model")
    elif payload.get("type") == "token_count":
        info = payload.get("info")
        usage = inclusive_usage(info.get("last_token_usage")) if isinstance(info, dict) else None
        reply = next((message for message in reversed(session.messages) if message.role == "assistant"), None)
        if reply is not None and usage is not None:
            # Items of one reply are joined later, and the last usage among them counts for all.
            reply.usage = usage
