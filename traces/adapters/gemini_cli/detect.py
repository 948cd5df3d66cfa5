"""Are files chats of Gemini CLI?"""

from __future__ import annotations

from ..bundle import Bundle
from ..transcripts import has_markers, members


def detect(bundle: Bundle) -> bool:
    """True for JSONL or JSON files with a session id and a project hash."""
    return bool(
        members(
            bundle, (".jsonl", ".json"), lambda data: has_markers(data, rb'"sessionId":', rb'"projectHash":')
        )
    )
