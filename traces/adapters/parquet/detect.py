"""Is a folder our own export as Parquet?"""

from __future__ import annotations

from ..bundle import Bundle


def detect(bundle: Bundle) -> bool:
    """True for a folder with the tables of runs and episodes."""
    return {"runs.parquet", "episodes.parquet"} <= set(bundle.names())
