"""Which readings a swap has to make: evidence of episodes, up to a shown glimpse, in one representation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from ..schemas import Episode, Evidence, Geometry, Predictor, PredictorInput, Run
from ..traces.store import Store
from .representations import Frozen, Representation, representation

At = Literal["last", "each"] | int
"""Which shown glimpse ends the evidence: the last one, each in turn, or one by number."""


class Source(NamedTuple):
    """Episodes of one run, ready to be replayed."""

    run: Run
    ingest_id: str
    episodes: list[Episode]
    canvases: dict[str, np.ndarray]


class Task(NamedTuple):
    """One reading to be made: evidence of an episode up to a shown glimpse."""

    source: Source
    episode: Episode
    glimpse: int
    representation: Representation
    evidence: Evidence
    input_hash: str

    def input(self) -> PredictorInput:
        """The predictor input, built anew (a plan over many episodes does not fit in memory)."""
        return _build(self.source, self.episode, self.glimpse, self.representation, self.evidence)


@dataclass
class Plan:
    """Readings to be made, and why some cannot be.

    `hypothetical` marks evidence that no agent was shown: its inputs are not remembered as those of the
        episodes.
    """

    tasks: list[Task] = field(default_factory=list)
    not_applicable: Counter[str] = field(default_factory=Counter)
    hypothetical: bool = False

    def distinct(self) -> dict[str, Task]:
        """One task for each distinct input."""
        return {task.input_hash: task for task in reversed(self.tasks)}


def load_source(store: Store, run: str, ids: Sequence[str] | None = None, *, texts: bool = False) -> Source:
    """Episodes of a run with their canvases; StoreError for an unknown run."""
    row = store.run_row(run)
    episodes = store.episodes(run, ids, texts=texts)
    canvases = store.canvases(episode.canvas for episode in episodes if episode.canvas)
    return Source(store.run(run), row["ingest_id"], episodes, canvases)


def _build(
    source: Source, episode: Episode, glimpse: int, form: Representation, evidence: Evidence
) -> PredictorInput:
    geometry = source.run.geometry()
    assert geometry is not None and episode.canvas is not None
    windows = (episode.windows() or [])[: glimpse + 1]
    return form.input(Frozen(episode, source.canvases[episode.canvas], geometry, windows, evidence))


def make_plan(
    sources: Iterable[Source], form: Representation, evidence: Evidence, at: At, *, supported: Sequence[str]
) -> Plan:
    """Readings of `form` that the episodes allow.

    Args:
        sources: runs with their episodes.
        form: representation.
        evidence: which pixels of a glimpse count as seen.
        at: which glimpse ends the evidence.
        supported: representations that the predictor reads.

    Raises:
        ValueError: where the predictor does not read this representation.
    """
    if form.name not in supported:
        raise ValueError(f"this predictor reads {', '.join(supported)}, not {form.name}")
    plan = Plan()
    for source in sources:
        geometry = source.run.geometry()
        for episode in source.episodes:
            reason = _obstacle(source, episode, geometry, form)
            if reason:
                plan.not_applicable[reason] += 1
                continue
            for glimpse in _glimpses(episode, form, at):
                item = _build(source, episode, glimpse, form, evidence)
                plan.tasks.append(Task(source, episode, glimpse, form, evidence, item.hash))
            if isinstance(at, int) and not form.whole and at >= len(episode.windows() or []):
                plan.not_applicable["too_short"] += 1
    return plan


def _obstacle(
    source: Source, episode: Episode, geometry: Geometry | None, form: Representation
) -> str | None:
    if geometry is None:
        return "geometry_unknown"
    if episode.canvas not in source.canvases:
        return "canvas_unknown"
    if form.whole:
        return None
    windows = episode.windows()
    if windows is None:
        return (episode.reasons or {}).get("glimpses", "no_glimpses")
    if form.needs_texts and not episode.step_texts:
        return "not_recorded"
    return None


def _glimpses(episode: Episode, form: Representation, at: At) -> Iterable[int]:
    if form.whole:
        return (-1,)
    count = len(episode.windows() or [])
    if at == "each":
        return range(count)
    if at == "last":
        return (count - 1,)
    return (at,) if at < count else ()


def plan_for(
    store: Store,
    selections: Iterable[tuple[str, Sequence[str] | None]],
    predictor: Predictor,
    *,
    form: str = "canvas",
    evidence: Evidence = "window",
    at: At = "last",
) -> Plan:
    """The plan over runs of the store, each with the ids of its episodes or None for all.

    Raises:
        KeyError: for an unknown representation.
        ValueError: where the predictor does not read it.
        StoreError: for an unknown run.
    """
    chosen = representation(form)
    sources = [load_source(store, run, ids, texts=chosen.needs_texts) for run, ids in selections]
    return make_plan(sources, chosen, evidence, at, supported=predictor.representations)
