"""Are files sessions of Claude Code?"""

from __future__ import annotations

from ..bundle import Bundle
from ..transcripts import has_markers, members


def detect(bundle: Bundle) -> bool:
    """True for JSONL files whose records have a session id and a uuid."""
    return bool(
        members(
            bundle,
            (".jsonl",),
            lambda data: has_markers(data, rb'"sessionId":', rb'"(?:parent|leaf)?[uU]uid":'),
        )
    )
