"""Are files recordings of ARC-AGI-3 agents?"""

from __future__ import annotations

from ..bundle import Bundle
from ..transcripts import has_markers, members


def detect(bundle: Bundle) -> bool:
    """True for JSON lines of frames with a game's id and state."""
    patterns = (rb'"data":', rb'"game_id":', rb'"frame":', rb'"(?:action_input|levels_completed|score)":')
    return bool(members(bundle, (".jsonl",), lambda data: has_markers(data, *patterns)))
