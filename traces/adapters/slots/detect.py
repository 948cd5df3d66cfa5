"""Is a folder the output of the official six-arm suite?"""

from __future__ import annotations

import re

from ..bundle import Bundle

SLOT = re.compile(r"(?:.+/)?traces/slot_(\d+)/episode\.json")


def detect(bundle: Bundle) -> bool:
    """True for a folder with `traces/slot_<nnn>/episode.json`."""
    return any(SLOT.fullmatch(name) for name in bundle.names())
