"""Chat logs in Anthropic's shapes to canonical records."""

from __future__ import annotations

from collections.abc import Iterator

from ...world.digits import Digits
from ..bundle import Bundle
from ..chat import read_chat
from ..settle import Item
from ..transcripts import exclusive_usage

VERSION = 1


def read(bundle: Bundle, digits: Digits) -> Iterator[Item]:
    """Records of chat logs; input tokens exclude cached ones.

    Args:
        bundle: JSON or JSONL files.
        digits: used to rebuild canvases.
    """
    return read_chat(bundle, digits, "anthropic", exclusive_usage)
