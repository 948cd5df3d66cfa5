"""Are files rollouts of Codex?"""

from __future__ import annotations

from ..bundle import Bundle
from ..transcripts import has_markers, members


def detect(bundle: Bundle) -> bool:
    """True for JSONL files of typed records with a payload."""
    return bool(
        members(
            bundle,
            (".jsonl",),
            lambda data: has_markers(
                data, rb'"payload":', rb'"type": ?"(?:session_meta|response_item|turn_context|event_msg)"'
            ),
        )
    )
