"""Where agents looked: visits of each pixel, by digit, run or outcome (docs/metrics.md 6): exact boxes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..schemas import Geometry
from .database import Database


class Visits(NamedTuple):
    """How often an episode shows a pixel on average: float (height, width), and the episodes behind it."""

    per_episode: np.ndarray
    n: int


def geometries(database: Database) -> list[Geometry]:
    """Geometries of the runs, that of most runs first."""
    rows = database.query(
        'SELECT "window", stride, panel, n_panels FROM runs '
        'WHERE "window" IS NOT NULL AND stride IS NOT NULL AND panel IS NOT NULL AND n_panels IS NOT NULL '
        "GROUP BY ALL ORDER BY count(*) DESC"
    )
    return [Geometry(*row) for row in rows.iter_rows()]


def visits(database: Database, geometry: Geometry, filters: Mapping[str, Any]) -> Visits:
    """Mean visits of each pixel over the episodes that match (`sql/visits.sql`).

    Args:
        database: the views.
        geometry: only runs of this one.
        filters: `runs`, `label` (a digit in it), `outcome` (right or wrong); null ones are off.
    """
    names = ("window", "stride", "panel", "n_panels")
    asked = {name: filters.get(name) or None for name in ("runs", "label", "outcome")}
    rows = database.query("visits", {**{name: getattr(geometry, name) for name in names}, **asked})
    counts = np.zeros((geometry.height, geometry.width))
    for x, y, n in rows.select("x", "y", "n").iter_rows():
        x0, y0, x1, y1 = geometry.box((x, y))
        counts[y0:y1, x0:x1] += n
    total = int(rows["n_episodes"][0]) if rows.height else 0
    return Visits(counts / max(total, 1), total)


def difference(a: Visits, b: Visits) -> np.ndarray:
    """How much more often an episode of `a` shows each pixel than one of `b`."""
    return a.per_episode - b.per_episode
