"""The derived tables `episode_metrics` and `step_metrics`: computed once, again only when something changed.

Rows are keyed by ingest. `ensure` computes those that are missing, of another version of kernels or derivation, or
without the posterior that is asked for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import polars as pl
from deltalake import DeltaTable, write_deltalake

from ..schemas import Episode
from ..schemas.metrics import Posterior
from ..traces.arrow import arrow_schema
from ..traces.store import Store, quote
from .derive import VERSION, Canvases, derive
from .posterior import EvidenceReader

DERIVED = ("step_metrics", "episode_metrics")
_EXTENTS: tuple[Posterior, ...] = ("none", "last", "each")
_EPISODES_PER_COMMIT = 2000


def ensure(
    store: Store,
    runs: Sequence[str],
    posterior: Posterior = "none",
    *,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> int:
    """Compute and store the metrics of runs that lack them; how many episodes were computed.

    Args:
        store: where traces are and metrics go.
        runs: names.
        posterior: `none`, after the `last` shown glimpse of each episode, or after `each`; never takes away.
        progress: called with episodes done and to do.
    """
    reader = EvidenceReader() if posterior != "none" else None
    if all(store.exists(t) and is_current(store, t) for t in DERIVED) and not _stale(
        store, runs, posterior, reader
    ):
        return 0
    with _locked(store):
        _renew(store)
        stale = _stale(store, runs, posterior, reader)
        names = ", ".join(quote(ingest) for _, ingest, _ in stale)
        if stale:
            for table in DERIVED:
                store.delete_rows(table, f"ingest_id IN ({names})")
        total = sum(n for *_, n in stale)
        done = 0
        for run, ingest, _ in stale:
            for part in _parts(store, run):
                derived = derive(store.run(run), part, canvases_of(store, part), posterior, reader)
                store.append("step_metrics", derived.steps, ingest_id=ingest)
                store.append("episode_metrics", derived.episodes, ingest_id=ingest)
                done += len(part)
                progress(done, total)
    return done


def is_current(store: Store, table: str) -> bool:
    """Whether a table has the columns of this version (derived tables of another one are computed again)."""
    names = [field.name for field in DeltaTable(store.uri(table)).schema().fields]
    return names == arrow_schema(table).names


def _renew(store: Store) -> None:
    """Empty derived tables that have the columns of another version."""
    for table in DERIVED:
        if store.exists(table) and not is_current(store, table):
            empty = arrow_schema(table).empty_table()
            write_deltalake(store.uri(table), empty, mode="overwrite", schema_mode="overwrite")


def _stale(
    store: Store, runs: Sequence[str], posterior: Posterior, reader: EvidenceReader | None
) -> list[tuple[str, str, int]]:
    """Runs whose metrics are not what is asked for: (name, ingest, episodes)."""
    enough = _EXTENTS[_EXTENTS.index(posterior) :]
    good = (pl.col("version") == VERSION) & pl.col("posterior").is_in(enough)
    if reader is not None:
        good &= pl.col("posterior_version") == reader.version
    mine = store.raw("runs").filter(pl.col("run").is_in(list(runs)) & (pl.col("n_episodes") > 0))
    there = store.raw("episode_metrics").group_by("ingest_id").agg(good=good.sum(), rows=pl.len())
    frame = mine.join(there, on="ingest_id", how="left", maintain_order="left")
    whole = (pl.col("good") == pl.col("n_episodes")) & (pl.col("rows") == pl.col("n_episodes"))
    stale = frame.filter(~whole.fill_null(False)).sort("run")
    return list(stale.select("run", "ingest_id", "n_episodes").collect().iter_rows())


def _parts(store: Store, run: str) -> Iterator[list[Episode]]:
    """The run's episodes, a bounded number at a time."""
    ingest = store.run_row(run)["ingest_id"]
    mine = store.raw("episodes").filter(pl.col("ingest_id") == ingest)
    ids = mine.select(pl.col("source_episode_id").unique().sort()).collect().to_series().to_list()
    for at in range(0, len(ids), _EPISODES_PER_COMMIT):
        yield store.episodes(run, ids[at : at + _EPISODES_PER_COMMIT])


def canvases_of(store: Store, episodes: Iterable[Episode]) -> Canvases:
    """Hidden canvases of episodes, and which of them are known in part only."""
    hashes = {episode.canvas for episode in episodes if episode.canvas}
    partial = store.raw("canvases").filter(
        pl.col("known").is_not_null() & pl.col("canvas").is_in(list(hashes))
    )
    return Canvases(store.canvases(hashes), frozenset(partial.select("canvas").collect().to_series()))


@contextmanager
def _locked(store: Store) -> Iterator[None]:
    """One process at a time derives metrics for a store; others wait and then find them there."""
    while True:
        try:
            journal = store.journal("metrics")
            break
        except BlockingIOError:
            time.sleep(0.1)
    with journal:
        yield
