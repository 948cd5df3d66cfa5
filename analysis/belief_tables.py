"""`table beliefs` and `table revision`: stated beliefs against the evidence, run by run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from .beliefs.metrics import Episode, belief_rows, lines, pooled
from .beliefs.probability import conservatism, martingale, probability_steps
from .cases import belief_episode, cases
from .database import Database
from .measures import Row, Value
from .statistics import Interval, cluster_bootstrap, kaplan_meier, proportion

Runs = dict[str, list[tuple[str, Episode]]]
"""By run: (canvas, stated beliefs) of every episode that has thoughts."""


def stated(database: Database) -> Runs:
    """Beliefs of the selected runs; the database must have been opened with `posterior="each"`."""
    runs: Runs = {}
    for run, ids in database.selected:
        found = (
            (case.episode.canvas or "", belief_episode(case)) for case in cases(database.store, run, ids)
        )
        runs[run] = [(canvas, episode) for canvas, episode in found if episode is not None]
    return runs


def belief_table(runs: Runs) -> list[Row]:
    """Rates and lags of every run, each with its n (docs/metrics.md 3.4)."""
    rows: list[Row] = []
    for run, episodes in runs.items():
        slots = [(canvas, row) for canvas, episode in episodes for row in belief_rows(episode)]
        rows += [_share(run, "thoughts with a belief", *_explicit(episodes))]
        for found in pooled(row for _, row in slots):
            value = Interval(found["rate"], found["low"], found["high"], found["n"], "wilson")
            rows.append(_row(run, found["metric"].replace("_", " "), value, percent=True))
        rows += list(_means(run, slots))
        rows += list(_slopes(run, [episode for _, episode in episodes]))
    return rows


def _explicit(episodes: Sequence[tuple[str, Episode]]) -> tuple[int, int]:
    thoughts = [e for _, episode in episodes for e in episode.extractions if e is not None]
    return sum(e.explicit for e in thoughts), len(thoughts)


def _share(run: str, statistic: str, k: int, n: int) -> Row:
    return _row(run, statistic, proportion(k, n), percent=True)


def _row(run: str, statistic: str, value: Interval, *, percent: bool, unit: str | None = None) -> Row:
    return {"run": run, "statistic": statistic, "n": value.n, "value": Value(value, percent), "unit": unit}


def _means(run: str, slots: Sequence[tuple[str, dict[str, Any]]]) -> Iterator[Row]:
    named = {
        "adoption_glimpse": "first belief",
        "evidence_right_glimpse": "evidence right from",
        "belief_right_glimpse": "belief right from",
        "lag": "belief behind the evidence",
    }
    for field, statistic in named.items():
        known = [(row[field], canvas) for canvas, row in slots if row.get(field) is not None]
        values = np.array([value for value, _ in known], float)
        mean = cluster_bootstrap(values, np.array([canvas for _, canvas in known]))
        yield _row(run, statistic, mean, percent=False, unit="glimpses")


def _slopes(run: str, episodes: Sequence[Episode]) -> Iterator[Row]:
    """Slopes over numeric confidences; nothing where no thought gives one."""
    steps = [step for episode in episodes for step in probability_steps(episode)]
    if not steps:
        return
    for name, measure in (("martingale slope", martingale), ("conservatism slope", conservatism)):
        slope = measure(steps)
        value = Interval(slope.slope, slope.low, slope.high, slope.n, "least squares")
        yield _row(run, name, value, percent=False)


def revision_table(runs: Runs) -> list[Row]:
    """Events of every run by kind and direction, and how long wrong beliefs live."""
    rows: list[Row] = []
    for run, episodes in runs.items():
        events = [
            event for _, episode in episodes for event in episode.events() if event.slot != "unassigned"
        ]
        total = sum(event.event not in ("SILENT", "COMMIT") for event in events)
        counts = Counter((event.event, event.direction) for event in events if event.event not in ("SILENT",))
        for (name, direction), count in sorted(
            counts.items(), key=lambda item: (item[0][0], str(item[0][1]))
        ):
            share = (
                proportion(count, total) if name != "COMMIT" else Interval(None, None, None, total, "none")
            )
            rows.append(
                {
                    "run": run,
                    "event": name.lower(),
                    "direction": direction,
                    "n": total,
                    "count": count,
                    "share": Value(share, True),
                }
            )
        rows += _wrong_lives(run, episodes)
    return rows


def _wrong_lives(run: str, episodes: Sequence[tuple[str, Episode]]) -> list[Row]:
    """Kaplan-Meier survival of wrong beliefs: thoughts until given up, the episode's end censors."""
    lives = [(canvas, *life) for canvas, episode in episodes for life in _wrong_spans(episode)]
    if not lives:
        return []
    canvases, times, ended = zip(*lives, strict=True)
    curve = kaplan_meier(np.array(times), np.array(ended), np.array(canvases))
    bands = [(float(low), float(high)) for low, high in curve.survival_band.T]
    return [
        {
            "run": run,
            "event": f"wrong belief held {int(time)} thought(s)",
            "direction": None,
            "n": curve.n,
            "count": int(curve.at_risk[i]),
            "share": Value(Interval(float(curve.survival[i]), *band, curve.n, "bootstrap"), True),
        }
        for i, (time, band) in enumerate(zip(curve.time, bands, strict=True))
    ]


def _wrong_spans(episode: Episode) -> Iterable[tuple[int, bool]]:
    """(thoughts held, given up) of every wrong belief."""
    for line in lines(episode):
        if line.truth is None:
            continue
        held: int | None = None
        since = 0
        for step, belief in enumerate(line.held):
            if belief == held:
                continue
            if held is not None and held != line.truth:
                yield step - since, True
            held, since = belief, step
        if held is not None and held != line.truth:
            yield len(line.held) - since, False


def table(build: Callable[[Runs], list[Row]]) -> Callable[[Database, Any], list[Row]]:
    """A table of `tables.TABLES` from one of the builders above."""
    return lambda database, options: build(stated(database))
