"""Are files chat logs in Anthropic's shapes?"""

from __future__ import annotations

from ..bundle import Bundle
from ..chat import is_anthropic, looks_like_chat
from ..transcripts import members


def detect(bundle: Bundle) -> bool:
    """True for JSON or JSONL files of messages with Anthropic's content blocks or usage."""

    def is_kind(data: bytes) -> bool:
        return looks_like_chat(data) and is_anthropic(data)

    return bool(members(bundle, (".json", ".jsonl", ".ndjson"), is_kind))
