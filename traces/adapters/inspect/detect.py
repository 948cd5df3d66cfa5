"""Is a file an Inspect log?"""

from __future__ import annotations

import re

from ..bundle import Bundle
from ..transcripts import head

_ZIP = b"PK\x03\x04"
_MEMBERS = re.compile(rb"_journal/|header\.json|samples/[^\0]{1,200}_epoch_\d+")
_FIELDS = (
    re.compile(rb'"version":\s*\d'),
    re.compile(rb'"eval":\s*\{'),
    re.compile(rb'"task"|"eval_id"|"run_id"'),
)


def detect(bundle: Bundle) -> bool:
    """True for a single file: a zip with a log's members, or a JSON object with a log's fields."""
    names = bundle.names()
    if len(names) != 1:
        return False
    data = head(bundle, names[0], 1 << 16)
    if data.startswith(_ZIP):
        return bool(_MEMBERS.search(data)) or names[0].endswith(".eval")
    return data.lstrip().startswith(b"{") and all(field.search(data) for field in _FIELDS)
