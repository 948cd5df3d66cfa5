"""Is a file our own export as JSON lines?"""

from __future__ import annotations

from ..bundle import Bundle
from ..transcripts import has_markers, members

_PATTERNS = (rb'"source_episode_id":', rb'"answer_status":', rb'"run":')


def detect(bundle: Bundle) -> bool:
    """True for JSON lines with an episode's column names."""
    names = bundle.names()
    return len(names) == 1 and bool(members(bundle, (".jsonl",), lambda data: has_markers(data, *_PATTERNS)))
