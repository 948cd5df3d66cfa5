"""Is a folder a Minari dataset?"""

from __future__ import annotations

from ..bundle import Bundle
from ..transcripts import has_markers, head


def metadata_file(bundle: Bundle) -> str | None:
    """The dataset's metadata file, in the folder itself or in its `data`."""
    names = set(bundle.names())
    found = next((name for name in ("metadata.json", "data/metadata.json") if name in names), None)
    if found and has_markers(head(bundle, found), rb'"total_episodes"', rb'"observation_space"'):
        return found
    return None


def detect(bundle: Bundle) -> bool:
    """True for a folder with a Minari dataset's metadata."""
    return metadata_file(bundle) is not None
