"""The store: a folder, or an object-store prefix, of Delta Lake tables.

A run exists when its row is in `runs`: children are written first under an ingest id, the row last. Readers join on
that id, so they see a run whole or not at all.
"""

from __future__ import annotations

import fnmatch
import hashlib
import os
import re
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

import numpy as np
import polars as pl
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError

from ..schemas import SCHEMA_VERSION, TABLES, Canvas, Diagnostic, Episode, Geometry, Image, Run, SourceFile
from ..schemas.tables import CONTENT_ADDRESSED, EPISODE_CHILDREN, RECORDS
from .arrow import arrow_schema, from_rows, to_arrow
from .journal import Journal
from .world.canvas import from_png

T = TypeVar("T")

_KEYS = {"canvases": "canvas", "images": "image"}
_PER_INGEST = tuple(
    name for name in TABLES if name not in CONTENT_ADDRESSED and name not in ("runs", "inputs")
)
_SHARD_EPISODES = 500
_RETRIES = 20


class StoreError(Exception):
    """A store that cannot do what it was asked; the message says what to do."""


class RunExists(StoreError):
    """A run of that name is there already, from another source."""


def natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """Sort key that puts `10` after `9`."""
    return tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", text))


class Store:
    """Runs, their episodes and everything derived from them.

    Args:
        path: a folder, or a URL that delta-rs understands.
        create: make it where it is not there.

    Raises:
        StoreError: where there is no store, or one of a newer schema.
    """

    def __init__(self, path: str | Path, *, create: bool = False) -> None:
        self.path = str(path).rstrip("/")
        self.is_local = "://" not in self.path
        if self.is_local:
            if bad := set(self.path) & set("[]%"):
                raise StoreError(f"a store's path cannot contain {' '.join(sorted(bad))}: {self.path}")
            if create:
                Path(self.path).mkdir(parents=True, exist_ok=True)
            elif not self.exists("runs"):
                raise StoreError(
                    f"no store at {self.path}; `mnistpro-replay ingest PATH` or `demo` makes one"
                )
        self._check_version()

    def _check_version(self) -> None:
        newest = self.raw("runs").select(pl.col("schema_version").max()).collect().item()
        if newest is not None and newest > SCHEMA_VERSION:
            raise StoreError(
                f"the store at {self.path} has schema version {newest}, this program knows {SCHEMA_VERSION}: "
                "upgrade mnistpro-replay"
            )

    def uri(self, table: str) -> str:
        """Where a table lies."""
        return f"{self.path}/{table}"

    def exists(self, table: str) -> bool:
        """Whether anything was ever written to a table."""
        return DeltaTable.is_deltatable(self.uri(table))

    def raw(self, table: str) -> pl.LazyFrame:
        """All rows of a table, those of unfinished or replaced ingests included."""
        files = self.files(table)
        if not files:
            return pl.DataFrame(arrow_schema(table).empty_table()).lazy()
        return pl.scan_parquet(files, glob=False) if self.is_local else pl.scan_delta(self.uri(table))

    def files(self, table: str) -> list[str]:
        """Parquet files of a table's current version."""
        if not self.exists(table):
            return []
        uris = DeltaTable(self.uri(table)).file_uris()
        # Delta quotes local paths (a space, an umlaut) that other readers take as they are.
        return [unquote(uri) for uri in uris] if self.is_local else uris

    def scan(self, table: str) -> pl.LazyFrame:
        """Rows of a table that belong to runs in the store, with the run's name in `run`."""
        frame = self.raw(table)
        if table == "runs" or table in CONTENT_ADDRESSED:
            return frame
        return frame.join(self.raw("runs").select("ingest_id", "run"), on="ingest_id", maintain_order="left")

    def runs(self) -> pl.DataFrame:
        """One row a run, by name."""
        return self.raw("runs").sort("run").collect()

    def find(self, pattern: str) -> list[str]:
        """Names of the runs that match a name or a glob."""
        names = self.runs()["run"].to_list()
        return (
            [pattern] if pattern in names else [name for name in names if fnmatch.fnmatchcase(name, pattern)]
        )

    def run_row(self, name: str) -> dict[str, Any]:
        """The row of a run.

        Raises:
            StoreError: for an unknown name.
        """
        rows = self.raw("runs").filter(pl.col("run") == name).collect().to_dicts()
        if not rows:
            raise StoreError(f"no run {name!r} in {self.path}; `mnistpro-replay runs` lists what is there")
        return rows[0]

    def run(self, name: str) -> Run:
        """The run of that name; StoreError for an unknown one."""
        return from_rows(Run, TABLES["runs"], [self.run_row(name)])[0]

    def episodes(self, name: str, ids: Sequence[str] | None = None, *, texts: bool = False) -> list[Episode]:
        """Episodes of a run with their steps, in natural order of their ids.

        Args:
            name: the run.
            ids: only those `source_episode_id`s.
            texts: also load step_texts, attempts, tool calls and notes.
        """
        ingest = self.run_row(name)["ingest_id"]
        rows = self.raw("episodes").filter(pl.col("ingest_id") == ingest)
        if ids is not None:
            rows = rows.filter(pl.col("source_episode_id").is_in(list(ids)))
        episodes = from_rows(Episode, TABLES["episodes"], rows.collect().to_dicts())
        by_id = {episode.episode_id: episode for episode in episodes}
        for table in EPISODE_CHILDREN if texts else ("steps",):
            self._attach(table, ingest, by_id)
        return sorted(episodes, key=lambda episode: natural(episode.episode_id))

    def _attach(self, table: str, ingest: str, by_id: Mapping[str, Episode]) -> None:
        wanted = (pl.col("ingest_id") == ingest) & pl.col("episode_id").is_in(list(by_id))
        order = TABLES[table].columns[2].name
        rows = (
            self.raw(table).filter(wanted).sort("episode_id", order, maintain_order=True).collect().to_dicts()
        )
        for row, item in zip(rows, from_rows(RECORDS[table], TABLES[table], rows), strict=True):
            getattr(by_id[row["episode_id"]], table).append(item)

    def canvases(self, hashes: Iterable[str]) -> dict[str, np.ndarray]:
        """Hidden canvases by pixel hash: uint8 arrays, strokes 0, ground 255."""
        rows = self.raw("canvases").filter(pl.col("canvas").is_in(list(set(hashes)))).collect()
        return {row["canvas"]: from_png(row["png"]) for row in rows.iter_rows(named=True)}

    def images(self, hashes: Iterable[str]) -> dict[str, bytes]:
        """Recorded pictures by sha256."""
        rows = self.raw("images").filter(pl.col("image").is_in(list(set(hashes)))).collect()
        return dict(zip(rows["image"], rows["data"], strict=True))

    def writer(self, run: Run, source_digest: str, *, replace: bool = False) -> RunWriter:
        """Write a run: a context manager that takes its records and commits at the end."""
        return RunWriter(self, run, source_digest, replace)

    def append(self, table: str, records: Sequence[Any], **constants: Any) -> None:
        """Append records to a table in one commit."""
        if records:
            self.append_arrow(table, to_arrow(table, records, **constants))

    def append_arrow(self, table: str, rows: pa.Table) -> None:
        """Append rows in one commit, again where another writer was faster."""
        _retry(lambda: write_deltalake(self.uri(table), rows, mode="append"))

    def replace_rows(self, table: str, rows: pa.Table, predicate: str) -> None:
        """Replace the rows that a SQL predicate selects, in one commit."""
        if not self.exists(table):
            self.append_arrow(table, rows)
            return
        _retry(lambda: write_deltalake(self.uri(table), rows, mode="overwrite", predicate=predicate))

    def delete_rows(self, table: str, predicate: str) -> None:
        """Delete the rows that a SQL predicate selects, in one commit."""
        if self.exists(table):
            _retry(lambda: DeltaTable(self.uri(table)).delete(predicate))

    def write_run_row(self, run: Run, row: Mapping[str, Any], replaces: str | None = None) -> None:
        """Write a run's row, in place of the rows of the same name and of `replaces`."""
        stored = {
            name: row[name] for name in ("ingest_id", "source_digest", "n_episodes", "n_steps", "ingested")
        }
        rows = to_arrow("runs", [run], **stored, schema_version=SCHEMA_VERSION)
        self.replace_rows("runs", rows, f"run IN ({quote(run.run)}, {quote(replaces or run.run)})")

    def rename(self, name: str, new: str) -> None:
        """Give a run another name; StoreError where that one is taken."""
        row = self.run_row(name)
        if self.raw("runs").filter(pl.col("run") == new).collect().height:
            raise RunExists(f"there is a run {new!r} already")
        self.write_run_row(replace(self.run(name), run=new), row, replaces=name)

    def tag(self, name: str, tags: Sequence[str]) -> None:
        """Set a run's tags."""
        self.write_run_row(replace(self.run(name), tags=list(tags)), self.run_row(name))

    def remove(self, name: str) -> None:
        """Remove a run with its children; canvases, pictures and predictions stay, others may use them."""
        ingest = self.run_row(name)["ingest_id"]
        self.delete_rows("runs", f"run = {quote(name)}")
        self.delete_ingest(ingest)

    def delete_ingest(self, ingest: str) -> None:
        """Delete the children of one ingest."""
        for table in (*_PER_INGEST, "inputs", "beliefs"):
            self.delete_rows(table, f"ingest_id = {quote(ingest)}")

    def orphans(self) -> set[str]:
        """Ingest ids whose run row was never written or was replaced: what a crash left."""
        live = set(self.raw("runs").select("ingest_id").collect().to_series())
        found: set[str] = set()
        for table in _PER_INGEST:
            found |= set(self.raw(table).select(pl.col("ingest_id").unique()).collect().to_series())
        return found - live

    def problems(self) -> list[str]:
        """What is wrong with the runs: missing canvases or pictures, counts that do not agree; one line each."""
        canvases = set(self.raw("canvases").select("canvas").collect().to_series())
        images = set(self.raw("images").select("image").collect().to_series())
        found = []
        for row in self.runs().iter_rows(named=True):
            mine = pl.col("ingest_id") == row["ingest_id"]
            episodes = self.raw("episodes").filter(mine).select("canvas", "start_image").collect()
            steps = self.raw("steps").filter(mine).select("image").collect()
            if (episodes.height, steps.height) != (row["n_episodes"], row["n_steps"]):
                counts = f"{episodes.height} episodes and {steps.height} steps"
                found.append(f"{row['run']}: {counts}, not {row['n_episodes']} and {row['n_steps']}")
            lost = set(episodes["canvas"].drop_nulls()) - canvases
            missing = {*episodes["start_image"].drop_nulls(), *steps["image"].drop_nulls()} - images
            if lost or missing:
                found.append(
                    f"{row['run']}: {len(lost)} canvases and {len(missing)} pictures are not in the store"
                )
        return found

    def compact(self) -> dict[str, int]:
        """Merge small files; files removed, by table."""
        removed = {}
        for table in (*TABLES, "beliefs"):
            if self.exists(table):
                removed[table] = DeltaTable(self.uri(table)).optimize.compact()["numFilesRemoved"]
        return removed

    def journal(self, name: str) -> Journal:
        """The journal of a piece of long work, beside the store (in the user's cache for a remote one)."""
        folder = Path(self.path) / "journal"
        if not self.is_local:
            cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
            folder = cache / "mnistpro-replay" / hashlib.sha256(self.path.encode()).hexdigest()[:16]
        return Journal(folder / f"{hashlib.sha256(name.encode()).hexdigest()[:24]}.jsonl")


class RunWriter:
    """Takes the records of one run and commits them, the `runs` row last.

    Leaving the context with an exception writes no run; what had been written is swept at once.
    """

    def __init__(self, store: Store, run: Run, source_digest: str, replace: bool) -> None:
        self.run = run
        self.n_episodes = 0
        self.n_steps = 0
        self.ingest_id = uuid.uuid4().hex
        self.source_digest = source_digest
        self._store = store
        self._replace = replace
        self._rows: dict[str, list[Any]] = defaultdict(list)
        self._seen: dict[str, set[str]] = {"canvases": set(), "images": set()}
        self._flushed = False

    def add(self, item: Episode | Canvas | Image | Diagnostic | SourceFile) -> None:
        """Take one record."""
        match item:
            case Episode():
                self._add_episode(item)
            case Canvas():
                self._add_content("canvases", item.canvas, item)
            case Image():
                self._add_content("images", item.image, item)
            case Diagnostic():
                self._rows["diagnostics"].append(item)
            case SourceFile():
                self._rows["sources"].append(item)

    def _add_episode(self, episode: Episode) -> None:
        self._rows["episodes"].append(episode)
        for table in EPISODE_CHILDREN:
            self._rows[table].extend((episode.episode_id, item) for item in getattr(episode, table))
        self.n_episodes += 1
        self.n_steps += len(episode.steps)
        if len(self._rows["episodes"]) >= _SHARD_EPISODES:
            self._flush()

    def _add_content(self, table: str, name: str, item: Any) -> None:
        if name not in self._seen[table]:
            self._seen[table].add(name)
            self._rows[table].append(item)

    def _flush(self) -> None:
        for table, records in self._rows.items():
            if table in _KEYS:
                self._store.append(table, self._new(table, records))
            else:
                self._store.append(table, records, ingest_id=self.ingest_id)
        self._rows.clear()
        self._flushed = True

    def _new(self, table: str, records: list[Any]) -> list[Any]:
        key = _KEYS[table]
        names = [getattr(record, key) for record in records]
        there = set(self._store.raw(table).filter(pl.col(key).is_in(names)).select(key).collect().to_series())
        return [record for record in records if getattr(record, key) not in there]

    def commit(self) -> None:
        """Write what is left, then the run's row; a replaced run's children go last."""
        old = self._store.raw("runs").filter(pl.col("run") == self.run.run).collect().to_dicts()
        if old and not self._replace:
            raise RunExists(
                f"there is a run {self.run.run!r} already, from another source; --replace replaces it"
            )
        self._flush()
        row = {
            "ingest_id": self.ingest_id,
            "source_digest": self.source_digest,
            "n_episodes": self.n_episodes,
            "n_steps": self.n_steps,
            "ingested": datetime.now(UTC),
        }
        self._store.write_run_row(self.run, row)
        for replaced in old:
            self._store.delete_ingest(replaced["ingest_id"])

    def abandon(self) -> None:
        """Write no run; sweep what had been written."""
        if self._flushed:
            self._store.delete_ingest(self.ingest_id)
        self._rows.clear()

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.commit()
        else:
            self.abandon()


def geometry_of(run: Run) -> Geometry:
    """The run's geometry; StoreError where the source does not give it."""
    geometry = run.geometry()
    if geometry is None:
        raise StoreError(f"run {run.run!r} does not say window, stride and panel size")
    return geometry


def quote(text: str) -> str:
    """A SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def _retry(commit: Callable[[], T]) -> T:
    for attempt in range(_RETRIES):
        try:
            return commit()
        except CommitFailedError:
            if attempt == _RETRIES - 1:
                raise
            time.sleep(0.02 * (attempt + 1))
    raise AssertionError("unreachable")
