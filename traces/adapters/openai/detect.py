"""Are files chat logs in OpenAI's shapes?"""

from __future__ import annotations

from ..bundle import Bundle
from ..chat import is_anthropic, looks_like_chat
from ..transcripts import members


def detect(bundle: Bundle) -> bool:
    """True for JSON or JSONL files of chat messages or Responses items that are not in Anthropic's shapes."""

    def is_kind(data: bytes) -> bool:
        return looks_like_chat(data) and not is_anthropic(data)

    return bool(members(bundle, (".json", ".jsonl", ".ndjson"), is_kind))
