"""Our own Parquet tables to canonical records."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import polars as pl

from ....schemas import Canvas, Diagnostic, Episode, Image, Run
from ....schemas.tables import EPISODE_CHILDREN, RECORDS, TABLES
from ...arrow import from_rows
from ...world.digits import Digits
from ..bundle import Bundle
from ..settle import Item

VERSION = 2

_ORDER = {
    "steps": ("step",),
    "step_texts": ("step",),
    "attempts": ("step", "attempt"),
    "tool_calls": ("position",),
    "notes": ("position",),
}


def read(bundle: Bundle, digits: Digits) -> Iterator[Item]:
    """Records of an export.

    Args:
        bundle: a folder with a Parquet file a table.
        digits: not used; canvases are in a table.
    """
    try:
        tables = {name: _table(bundle, name) for name in (*EPISODE_CHILDREN, "runs", "episodes")}
        runs = from_rows(Run, TABLES["runs"], tables["runs"].to_dicts())
    except (pl.exceptions.PolarsError, KeyError, OSError) as error:
        yield Diagnostic(
            code="not_supported", message=f"not the tables of an export: {error}"[:300], path=bundle.name
        )
        return
    ingests = dict(zip(tables["runs"]["ingest_id"], runs, strict=True))
    content = list(_content(bundle))
    for ingest_id, run in ingests.items():
        yield run
        yield from content
        content = []
        yield from _episodes(tables, ingest_id)


def _table(bundle: Bundle, name: str) -> pl.DataFrame:
    if f"{name}.parquet" not in bundle.names():
        columns = {column.name: pl.String for column in TABLES[name].columns}
        return pl.DataFrame(schema=columns)
    return pl.read_parquet(io.BytesIO(bundle.read(f"{name}.parquet")))


def _content(bundle: Bundle) -> Iterator[Canvas | Image]:
    for row in _table(bundle, "canvases").to_dicts():
        yield Canvas(**row)
    for row in _table(bundle, "images").to_dicts():
        yield Image(**row)


def _episodes(tables: dict[str, pl.DataFrame], ingest_id: str) -> Iterator[Episode]:
    def rows(name: str, *order: str) -> list[dict[str, Any]]:
        table = tables[name].filter(pl.col("ingest_id") == ingest_id)
        return (table.sort(order, maintain_order=True) if order else table).to_dicts()

    episodes = {e.episode_id: e for e in from_rows(Episode, TABLES["episodes"], rows("episodes"))}
    for name in EPISODE_CHILDREN:
        # Whoever rewrote the files may have left the rows in another order.
        listed = rows(name, *_ORDER[name])
        for row, item in zip(listed, from_rows(RECORDS[name], TABLES[name], listed), strict=True):
            if row["episode_id"] in episodes:
                getattr(episodes[row["episode_id"]], name).append(item)
    yield from episodes.values()
