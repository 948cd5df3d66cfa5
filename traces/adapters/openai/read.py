"""Chat logs in OpenAI's shapes to canonical records."""

from __future__ import annotations

from collections.abc import Iterator

from ...world.digits import Digits
from ..bundle import Bundle
from ..chat import read_chat
from ..settle import Item
from ..transcripts import inclusive_usage

VERSION = 1


def read(bundle: Bundle, digits: Digits) -> Iterator[Item]:
    """Records of chat logs; input tokens include cached ones.

    Args:
        bundle: JSON or JSONL files.
        digits: used to rebuild canvases.
    """
    return read_chat(bundle, digits, "openai", inclusive_usage)
