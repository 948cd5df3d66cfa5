"""Episodes of a store with what was measured of them: what the audit and the belief tables look at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from ..schemas.metrics import EpisodeMetrics, StepMetrics
from ..schemas.tables import TABLES
from ..traces.arrow import from_rows
from ..traces.store import Store
from .audit import Case
from .beliefs.events import digit_of
from .beliefs.extract import extract
from .beliefs.metrics import Episode as BeliefEpisode
from .beliefs.metrics import lines, spells

READ = "posterior_window"


def cases(store: Store, run: str, ids: Sequence[str] | None = None) -> Iterator[Case]:
    """Every episode of a run; its metrics must have been derived (`metrics.ensure`)."""
    record, ingest = store.run(run), store.run_row(run)["ingest_id"]
    mine = pl.col("ingest_id") == ingest
    rows = store.raw("episode_metrics").filter(mine).collect().to_dicts()
    metrics = {m.episode_id: m for m in from_rows(EpisodeMetrics, TABLES["episode_metrics"], rows)}
    glimpses: dict[str, list[StepMetrics]] = defaultdict(list)
    rows = store.raw("step_metrics").filter(mine).sort("episode_id", "glimpse").collect().to_dicts()
    for glimpse in from_rows(StepMetrics, TABLES["step_metrics"], rows):
        glimpses[glimpse.episode_id].append(glimpse)
    for episode in store.episodes(run, ids, texts=True):
        name = episode.episode_id
        if name in metrics:
            case = Case(record, episode, metrics[name], glimpses[name])
            yield Case(record, episode, metrics[name], glimpses[name], anchored_steps(case))


def belief_episode(case: Case) -> BeliefEpisode | None:
    """An episode's stated beliefs beside its evidence; None without thoughts, or with more than two digits."""
    digits = case.digits
    thoughts = {text.step: text.thought for text in case.episode.step_texts if text.thought}
    if not thoughts or digits not in (1, 2):
        return None
    steps = [step.step for step in case.episode.steps]
    stated = [extract(thoughts[step], digits) if step in thoughts else None for step in steps]
    read = [glimpse.posterior_window for glimpse in case.glimpses]
    ink = [glimpse.new_ink for glimpse in case.glimpses]
    return BeliefEpisode(
        stated,
        digits,
        case.episode.label,
        case.episode.answer,
        glimpse=[_last_glimpse(case.glimpses, step) for step in steps],
        posterior=None if not read or None in read else np.array(read, float),
        new_ink=None if not ink or None in ink else np.array(ink),
    )


def _last_glimpse(glimpses: Sequence[StepMetrics], step: int) -> int:
    """Number of the last glimpse shown before the thought of `step`."""
    before = [g.glimpse for g in glimpses if g.step is None or g.step < step]
    return before[-1] if before else 0


def anchored_steps(case: Case) -> list[int] | None:
    """Steps at which the evidence first refuted a wrong belief that was kept to the end and answered.

    None where thoughts or the posterior after each glimpse are missing.
    """
    stated = belief_episode(case)
    if stated is None or stated.posterior is None:
        return None
    found = []
    for line in lines(stated):
        given = digit_of(stated.answer, line.slot, stated.digits)
        for spell in spells(stated, line):
            if spell.outcome == "kept" and spell.belief != line.truth and spell.belief == given:
                found.append(spell.start)
    return sorted(found)
