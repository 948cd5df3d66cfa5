"""What the pages draw from: a store, the views over it, and the reference reader."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from threading import Lock
from typing import Any

import polars as pl

from ..analysis.audit import Case, Verdict, audit
from ..analysis.cases import cases
from ..analysis.database import Database, Selected
from ..analysis.drilldown import one_more
from ..analysis.metrics import ensure
from ..analysis.overview import category_shares, episode_list, overview, run_sums, with_intervals
from ..analysis.pairs import compare
from ..analysis.posterior import EvidenceReader
from ..analysis.stopping import Stop, load_stops
from ..analysis.tracks import tracks
from ..replay.scene import scene
from ..schemas import Episode
from ..traces.store import Store, geometry_of, natural


class Source:
    """A store as the dashboard sees it: a picture of the moment of opening.

    Args:
        store: where everything is.
        selected: runs and episodes to show; all of them by default.
    """

    CLOSE = 6
    """Runs that are looked at episode by episode at once (audit, beliefs): it takes a while."""

    def __init__(self, store: Store, selected: Sequence[Selected] | None = None) -> None:
        self.store = store
        self.selected = selected
        self._lock = Lock()
        self._cases: dict[str, list[Case]] = {}
        self._worths: dict[str, list[dict[str, Any]]] = {}

    @cached_property
    def database(self) -> Database:
        """Views over the store; nothing is derived here."""
        return Database(self.store, self.selected, posterior=None)

    @cached_property
    def sums(self) -> pl.DataFrame:
        """One row a run (`analysis.overview.run_sums`)."""
        return run_sums(self.database)

    @cached_property
    def episodes(self) -> pl.DataFrame:
        """One row an episode (`analysis.overview.episode_list`)."""
        return episode_list(self.database)

    @cached_property
    def reader(self) -> EvidenceReader | None:
        """The reference reader, None where its weights are not installed."""
        try:
            return EvidenceReader()
        except (ImportError, FileNotFoundError):
            return None

    def warm(self) -> None:
        """Load what the first page would otherwise wait for."""
        for row in self.episodes.head(1).to_dicts():
            self.episode(row["run"], row["source_episode_id"])
        with_intervals(overview(self.sums).head(1))

    def close(self, picked: Sequence[str] | None, chosen: Sequence[str] | None) -> list[str]:
        """Runs to look at episode by episode: those picked, else those chosen, else the first."""
        return list(picked or chosen or self.sums["run"].to_list()[:1])[: self.CLOSE]

    def cases(self, run: str) -> list[Case]:
        """The run's episodes with what was measured of them; those of the last runs are kept."""
        with self._lock:
            if run not in self._cases:
                self._cases[run] = list(cases(self.store, run))
                while len(self._cases) > 2 * self.CLOSE:
                    self._cases.pop(next(iter(self._cases)))
            return self._cases[run]

    def read_each(self, run: str) -> None:
        """See that every glimpse of a run has been read, as `analyze --posterior each` does; does nothing twice."""
        with self._lock:
            if ensure(self.store, [run], "each"):
                self._cases.pop(run, None)

    def stops(self, run: str) -> list[Stop]:
        """Episodes of a run as stopping sees them."""
        self.read_each(run)
        return load_stops(Database(self.store, [(run, None)], posterior=None))

    def worths(self, run: str) -> list[dict[str, Any]]:
        """What one more glimpse would have been worth, an episode a row; kept, for it takes a while."""
        if run not in self._worths:
            stops = self.stops(run)
            with self._lock:
                self._worths[run] = one_more(self.database, stops)
        return self._worths[run]

    def audit(self, runs: Sequence[str], *, leads: bool) -> tuple[list[dict[str, Any]], list[Verdict], int]:
        """Rows of `figures.bars`, the verdicts on failed episodes, and how many episodes were looked at.

        Args:
            runs: names.
            leads: count each episode under the category that leads only.
        """
        found = [case for run in runs for case in self.cases(run)]
        verdicts = [verdict for case in found if (verdict := audit(case))]
        return category_shares(verdicts, leads=leads), verdicts, len(found)

    def episode(self, run: str, source_id: str) -> dict[str, Any]:
        """Everything that the player shows of an episode; StoreError or LookupError where there is none."""
        return {
            **self._scene(run, self.record(run, source_id)),
            "neighbours": self.neighbours(run, source_id),
        }

    def record(self, run: str, source_id: str) -> Episode:
        """An episode with its steps and texts; StoreError or LookupError where there is none."""
        found = self.store.episodes(run, [source_id], texts=True)
        if not found:
            raise LookupError(f"run {run!r} has no episode {source_id!r}")
        return found[0]

    def _scene(self, run: str, episode: Episode) -> dict[str, Any]:
        record = self.store.run(run)
        with self._lock:  # the reader keeps what it has read
            beside = tracks(self.store, record, episode, self.reader)
        known = bool(episode.canvas) and bool(self.store.canvases([episode.canvas or ""]))
        content = scene(record, episode, lambda kind, name: f"/picture/{kind}/{name}.png", canvas_known=known)
        return {**content, "tracks": beside}

    def comparison(self, pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
        """Scenes of episodes of one world, and how alike every two of their paths are.

        Raises:
            ValueError: where they are fewer than two, or not of one world.
        """
        if not 2 <= len(pairs) <= 4:
            raise ValueError("two to four episodes can be compared")
        episodes = [self.record(run, source_id) for run, source_id in pairs]
        geometry = geometry_of(self.store.run(pairs[0][0]))
        canvas = next(iter(self.store.canvases([episodes[0].canvas or ""]).values()), None)
        return {
            "comparisons": compare(episodes, geometry, canvas),
            "scenes": [self._scene(run, episode) for (run, _), episode in zip(pairs, episodes, strict=True)],
        }

    def neighbours(self, run: str, source_id: str) -> list[str | None]:
        """Source ids before and after an episode in its run."""
        rows = self.database.query(
            "SELECT DISTINCT source_episode_id AS id FROM episodes WHERE run = $run", {"run": run}
        )
        ids: list[str | None] = [None, *sorted(rows["id"], key=natural), None]
        at = ids.index(source_id, 1) if source_id in ids else 0
        return [ids[at - 1], ids[at + 1]] if at else [None, None]

    def thought(self, run: str, source_id: str, step: int) -> str:
        """The whole thought of a step, empty where there is none."""
        texts = self.record(run, source_id).step_texts
        return next((text.thought or "" for text in texts if text.step == step), "")
