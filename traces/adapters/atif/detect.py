"""Are files ATIF trajectories?"""

from __future__ import annotations

import re

from ..bundle import Bundle
from ..transcripts import members

_SCHEMA = re.compile(rb'"schema_version"\s*:\s*"ATIF-v')
_TRIAL_FILES = re.compile(r"(^|/)(result|config|lock|job)\.json$")


def trajectories(bundle: Bundle) -> list[str]:
    """The trajectory files of a bundle; a job's own JSON files may lie between them."""
    names = [name for name in bundle.names() if not _TRIAL_FILES.search(name)]
    return members(_Names(bundle, names), (".json",), lambda data: bool(_SCHEMA.search(data)))


class _Names:
    """A bundle with some of its names."""

    def __init__(self, bundle: Bundle, names: list[str]) -> None:
        self._bundle, self._names = bundle, names
        self.name, self.read, self.open = bundle.name, bundle.read, bundle.open

    def names(self) -> list[str]:
        return self._names


def detect(bundle: Bundle) -> bool:
    """True for JSON files with an ATIF schema version."""
    return bool(trajectories(bundle))
