"""What the stopping and belief figures plot, each point with the episodes behind it (docs/metrics.md 3.2, 3.4)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .audit import Case
from .beliefs.metrics import belief_rows, lines, pooled, spells
from .cases import belief_episode
from .database import Database
from .measures import Row
from .statistics import cumulative_incidence, kaplan_meier, risk_coverage
from .stopping import Stop, episode_row
from .stopping_tables import CAUSES, SCORES, causes, worths

Steps = dict[str, int]
"""By source id of an episode, the step to open it at."""


def endings(stops: Sequence[Stop]) -> dict[str, Any]:
    """Competing ways to end by actions taken, for `figures.incidence`, and the episodes that ended at each time.

    Returns:
        `time`, `at_risk`, by cause `curves` and `bands`, `episodes` (by cause, a list of source ids for each time),
        and `n`.
    """
    times, kinds = np.array([stop.n_actions for stop in stops]), causes(stops)
    found = cumulative_incidence(times, kinds, len(CAUSES), np.array([stop.canvas for stop in stops]))
    ids: dict[tuple[int, int], list[str]] = defaultdict(list)
    for stop, kind in zip(stops, kinds, strict=True):
        ids[int(kind), stop.n_actions].append(stop.source_episode_id)
    return {
        "time": [0, *found.time.tolist()],
        "at_risk": [found.n, *found.at_risk.tolist()],
        "n": found.n,
        "curves": {cause: [0.0, *found.incidence[k]] for k, cause in enumerate(CAUSES)},
        "bands": {
            cause: [[0.0, *bound] for bound in found.incidence_band[:, k]] for k, cause in enumerate(CAUSES)
        },
        "episodes": {
            cause: [[], *(ids[k, int(time)] for time in found.time)] for k, cause in enumerate(CAUSES, 1)
        },
    }


def risk_curves(stops: Sequence[Stop]) -> dict[str, Row]:
    """Risk-coverage curves of answered episodes by score, for `figures.risk_coverage`, most confident first."""
    answered = [stop for stop in stops if stop.answered]
    if not answered:
        return {}
    correct = np.array([stop.correct for stop in answered])
    curves = {}
    for name, score in SCORES.items():
        confidence = np.array([score(stop) for stop in answered], float)
        found = risk_coverage(confidence, correct)
        order = np.argsort(-confidence, kind="stable")
        curves[name] = {
            "coverage": found.coverage,
            "risk": found.risk,
            "n": found.n,
            "augrc": found.augrc,
            "episodes": [answered[i].source_episode_id for i in order],
        }
    return curves


def stop_points(stops: Sequence[Stop]) -> list[Row]:
    """An episode each (`stopping.episode_row`): where it stopped, and where its evidence first sufficed."""
    return [{**episode_row(stop), "n_glimpses": stop.tau + 1} for stop in stops]


def one_more(database: Database, stops: Sequence[Stop], limit: int = 150) -> list[Row]:
    """What one more glimpse would have been worth (hindsight, `value.Worth`), for `figures.worth`.

    Args:
        database: the views.
        stops: of one run.
        limit: only that many, evenly spread: each takes some readings.
    """
    some = [stops[i] for i in np.unique(np.linspace(0, len(stops) - 1, min(limit, len(stops))).astype(int))]
    found = worths(database, some, "window")
    rows = []
    for stop in some:
        worth = found.get((stop.run, stop.episode_id))
        if worth is not None:
            sure = float(stop.confidence[stop.tau])
            rows.append(
                {
                    "episode": stop.source_episode_id,
                    "confidence": sure,
                    "voi_max": worth.voi_max,
                    "flip": worth.flip,
                }
            )
    return rows


def belief_view(cases: Iterable[Case]) -> dict[str, Any]:
    """Stated beliefs of a run against its evidence, for the figures of the belief page.

    Returns:
        `rates` (rows of `figures.bars`) with the episodes of each, `events` (name, direction, count, episodes),
        `lags` (glimpses that a belief came after the evidence, episode), `latency` (Kaplan-Meier curve of steps until a
        contradicted belief was given up, None without any), and `n`, episodes with thoughts.
    """
    rows: list[tuple[Case, Row]] = []
    events: dict[tuple[str, str | None], Steps] = defaultdict(dict)
    counts: dict[tuple[str, str | None], int] = defaultdict(int)
    found: list[tuple[str, Any, str]] = []
    n = 0
    for case in cases:
        stated = belief_episode(case)
        if stated is None:
            continue
        n += 1
        rows += [(case, row) for row in belief_rows(stated)]
        for event in stated.events():
            if event.event != "SILENT" and event.slot != "unassigned":
                counts[event.event, event.direction] += 1
                events[event.event, event.direction].setdefault(case.episode.source_episode_id, event.step)
        for line in lines(stated) if stated.posterior is not None else ():
            name = case.episode.source_episode_id
            found += [(name, spell, case.episode.canvas or name) for spell in spells(stated, line)]
    return {
        "n": n,
        "rates": _rates(rows),
        "events": [
            {
                "name": name.lower(),
                "direction": direction,
                "count": counts[name, direction],
                "episodes": steps,
            }
            for (name, direction), steps in sorted(
                events.items(), key=lambda item: (item[0][0], str(item[0][1]))
            )
        ],
        "lags": [
            {"episode": case.episode.source_episode_id, "lag": row["lag"]}
            for case, row in rows
            if row.get("lag") is not None
        ],
        "latency": _latency(found),
    }


def _rates(rows: Sequence[tuple[Case, Row]]) -> list[Row]:
    return [
        {
            "name": row["metric"],
            "estimate": row["rate"],
            **{key: row[key] for key in ("low", "high", "k", "n")},
        }
        for row in pooled(row for _, row in rows)
        if row["n"]
    ]


def _latency(found: Sequence[tuple[str, Any, str]]) -> dict[str, Any] | None:
    """How long contradicted beliefs stood; those that faded or were kept are censored."""
    if not found:
        return None
    times = np.array([spell.latency for _, spell, _ in found])
    revised = np.array([spell.outcome == "revised" for _, spell, _ in found])
    curve = kaplan_meier(times, revised, np.array([canvas for *_, canvas in found]))
    return {
        "time": [0, *curve.time.tolist()],
        "survival": [1.0, *curve.survival],
        "band": [[1.0, *bound] for bound in curve.survival_band],
        "n": curve.n,
        "kept": sum(spell.outcome == "kept" for _, spell, _ in found),
        "episodes": [
            {},
            *(
                {name: spell.start for name, spell, _ in found if spell.latency == time}
                for time in curve.time
            ),
        ],
    }
