"""Is a folder a run of the official runner?"""

from __future__ import annotations

import re

from ..bundle import Bundle

_EPISODE_FILE = re.compile(r"episode_\d+/(trajectory\.json|original\.png|step_0\.png)")
_RUN_FILES = {"run_config.json", "results_summary.json"}


def detect(bundle: Bundle) -> bool:
    """True for a folder with episodes of the official layout, or with its configuration or summary."""
    names = bundle.names()
    if any(_EPISODE_FILE.fullmatch(name) for name in names):
        return True
    tops = _RUN_FILES.intersection(names)
    return len(names) > 1 and bool(tops) or "run_config.json" in tops
