"""The tables of runs as Parquet files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from ....schemas.tables import EPISODE_CHILDREN, TABLES
from ...store import Store
from ..export import Export, redacted

_PER_RUN = ("episodes", *EPISODE_CHILDREN)


def write(exports: Sequence[Export], out: Path) -> int:
    """Write `<out>/<table>.parquet` for the runs of several exports; returns the number of episodes."""
    out.mkdir(parents=True, exist_ok=True)
    store, names = exports[0].store, [export.run.run for export in exports]
    runs = store.raw("runs").filter(pl.col("run").is_in(names)).collect()
    _save(exports[0], runs, out / "runs.parquet")
    episodes = _chosen(store, exports)
    for table in _PER_RUN:
        keys = episodes.select("ingest_id", "episode_id")
        rows = (
            episodes
            if table == "episodes"
            else store.raw(table).join(keys.lazy(), on=list(keys.columns)).collect()
        )
        _save(exports[0], rows, out / f"{table}.parquet")
    images = _column(store, episodes, "start_image") + _column(
        store, pl.read_parquet(out / "steps.parquet"), "image"
    )
    for table, key, values in (
        ("canvases", "canvas", _column(store, episodes, "canvas")),
        ("images", "image", images),
    ):
        store.raw(table).filter(pl.col(key).is_in(sorted(set(values)))).collect().write_parquet(
            out / f"{table}.parquet"
        )
    return episodes.height


def _chosen(store: Store, exports: Sequence[Export]) -> pl.DataFrame:
    frames = []
    for export in exports:
        ingest = store.run_row(export.run.run)["ingest_id"]
        rows = store.raw("episodes").filter(pl.col("ingest_id") == ingest)
        if export.ids is not None:
            rows = rows.filter(pl.col("source_episode_id").is_in(list(export.ids)))
        frames.append(rows.collect())
    return pl.concat(frames)


def _column(store: Store, rows: pl.DataFrame, name: str) -> list[str]:
    return rows[name].drop_nulls().unique().to_list()


def _save(export: Export, rows: pl.DataFrame, path: Path) -> None:
    if export.redact:
        table = TABLES[path.stem]
        texts = [c.name for c in table.columns if c.type in ("string", "json") and not c.values]
        keep = {
            "ingest_id",
            "episode_id",
            "source_episode_id",
            "run",
            "run_id",
            "canvas",
            "image",
            "world_key",
        }
        rows = rows.with_columns(
            pl.col(name).map_elements(redacted, return_dtype=pl.String)
            for name in texts
            if name not in keep and name in rows.columns
        )
    rows.write_parquet(path)
