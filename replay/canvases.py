"""Offline canvases of a run as PNG files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ..schemas import Evidence
from ..traces.store import Store
from ..traces.world import to_png
from .plan import At, load_source, make_plan
from .representations import representation


def write_canvases(
    store: Store, run: str, ids: Sequence[str] | None, evidence: Evidence, at: At, out: Path
) -> tuple[int, int]:
    """Write `OUT/RUN/EPISODE[_GLIMPSE].png` for every offline canvas asked for.

    Returns:
        how many were written, and how many episodes have none.
    """
    source = load_source(store, run, ids)
    plan = make_plan([source], representation("canvas"), evidence, at, supported=["canvas"])
    folder = out / file_name(run)
    folder.mkdir(parents=True, exist_ok=True)
    for task in plan.tasks:
        suffix = "" if at == "last" else f"_{task.glimpse:03d}"
        path = folder / f"{file_name(task.episode.episode_id)}{suffix}.png"
        path.write_bytes(to_png(task.input().images[0]))
    return len(plan.tasks), sum(plan.not_applicable.values())


def file_name(text: str) -> str:
    """A name that every file system takes."""
    return re.sub(r"[^\w.~+-]", "_", text) or "_"
