"""`table stopping`, `table survival`, `table risk-coverage` and the counterfactual report: rows with n and interval."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ..replay.counterfactual import Alternative, confidence
from ..replay.predictors import load
from ..schemas import Evidence
from .database import Database
from .measures import Row, Value, difference
from .statistics import (
    Interval,
    calibration,
    cluster_bootstrap,
    cumulative_incidence,
    logistic,
    paired_counts,
    proportion,
    risk_coverage,
)
from .stopping import (
    THRESHOLDS,
    Stop,
    accuracy_if_stopped,
    commit_hazard_rows,
    earliness,
    episode_row,
    load_stops,
    over_optimistic,
)
from .value import Worth, value_of_more

GRID = (0.25, 0.5, 0.75)
CAUSES = ("right", "wrong", "invalid")


def by_run(stops: Iterable[Stop]) -> dict[str, list[Stop]]:
    """Episodes by run, in the order given."""
    runs: dict[str, list[Stop]] = defaultdict(list)
    for stop in stops:
        runs[stop.run].append(stop)
    return dict(runs)


def _row(run: str, statistic: str, value: Interval, unit: str = "%", note: str = "") -> Row:
    """A row of a long table; `unit` % marks a fraction."""
    row: Row = {"run": run, "statistic": statistic, "n": value.n, "value": Value(value, unit == "%")}
    return row | {"unit": None if unit == "%" else unit or None, "note": note or None}


def _mean(values: Sequence[float | None], clusters: Sequence[str]) -> Interval:
    known = [(value, cluster) for value, cluster in zip(values, clusters, strict=True) if value is not None]
    if not known:
        return Interval(None, None, None, 0, "none")
    numbers, groups = zip(*known, strict=True)
    return cluster_bootstrap(np.array(numbers, float), np.array(groups))


def _share(values: Iterable[bool | None]) -> Interval:
    known = [value for value in values if value is not None]
    return proportion(sum(known), len(known))


def stopping_rows(stops: Sequence[Stop], worths: dict[tuple[str, str], Worth] | None = None) -> list[Row]:
    """Every row of the stopping table, run by run, the reader's own calibration first (docs/metrics.md 3.2)."""
    rows: list[Row] = []
    for run, members in by_run(stops).items():
        episodes = [episode_row(stop) for stop in members]
        clusters = [stop.canvas for stop in members]
        rows += _reader_rows(run, members)
        rows += _threshold_rows(run, episodes, clusters)
        rows += _agent_rows(run, members, episodes, clusters)
        if worths:
            rows += _worth_rows(run, [worths[run, stop.episode_id] for stop in members], clusters)
        rows += _sensitivity_rows(run, members)
    return rows


def _reader_rows(run: str, stops: list[Stop]) -> list[Row]:
    """How far the reference reader can be trusted on this run: accuracy and calibration at the agent's stop."""
    right = np.array([bool(stop.right[stop.tau]) for stop in stops])
    sure = np.array([float(stop.confidence[stop.tau]) for stop in stops])
    error = calibration(sure, right)
    note = "reference reader on the evidence where the agent stopped"
    ece = Interval(error.ece, None, None, error.n, "equal-mass bins")
    return [
        _row(run, "reader accuracy", proportion(int(right.sum()), len(right)), note=note),
        _row(
            run, "reader calibration error", ece, note="expected calibration error, at most 5 equal-mass bins"
        ),
    ]


def _threshold_rows(run: str, episodes: list[Row], clusters: list[str]) -> list[Row]:
    rows = []
    for threshold in THRESHOLDS:
        name = round(100 * threshold)
        gaps = [episode[f"gap_{name}"] for episode in episodes]
        censored = sum(gap is None for gap in gaps)
        answered = [e[f"premature_{name}"] for e in episodes if e["stop_reason"] == "answered"]
        sustained = [
            None if e[f"sustained_{name}"] is None else e["tau"] - e[f"sustained_{name}"] for e in episodes
        ]
        enough = f"evidence sufficient at confidence {threshold}"
        rows += [
            _row(run, f"premature {threshold}", _share(answered), note=f"of answers; {enough}, budget left"),
            _row(run, f"overshoot {threshold}", _share(e[f"overshoot_{name}"] for e in episodes)),
            _row(
                run,
                f"gap {threshold}",
                _mean(gaps, clusters),
                "glimpses",
                f"after the first sufficient one; {censored} never sufficient",
            ),
            _row(run, f"gap sustained {threshold}", _mean(sustained, clusters), "glimpses", "looks ahead"),
        ]
    return rows


def _agent_rows(run: str, stops: list[Stop], episodes: list[Row], clusters: list[str]) -> list[Row]:
    answered = [e for e in episodes if e["stop_reason"] == "answered"]
    groups = [c for e, c in zip(episodes, clusters, strict=True) if e["stop_reason"] == "answered"]
    optimism = [1 - e["confidence"] for e in answered]
    against = [None if e["answer_probability"] is None else 1 - e["answer_probability"] for e in answered]
    excess = [e["confidence"] - e["correct"] for e in answered]
    timing = earliness(stops)
    rows = [
        _row(run, "budget use", _mean([e["budget_use"] for e in episodes], clusters)),
        _row(
            run,
            "over-optimistic",
            _share(e["over_optimistic"] for e in episodes),
            note="use < .5, coverage < .5",
        ),
        _row(run, "evidence optimism", _mean(optimism, groups), note="mean 1 - confidence over answers"),
        _row(run, "against the evidence", _mean(against, groups), note="mean 1 - probability of the answer"),
        _row(run, "confidence - accuracy", _mean(excess, groups), note="> 0: worse than the evidence allows"),
    ]
    for use in GRID:
        for coverage in GRID:
            flags = (over_optimistic(stop, use, coverage) for stop in stops)
            rows.append(
                _row(run, f"over-optimistic {use}/{coverage}", _share(flags), note="use / coverage below")
            )
    for name in (key for key in episodes[0] if key.startswith("regret_")):
        rows.append(_row(run, name.replace("_", " "), _mean([e[name] for e in episodes], clusters)))
    for name, value in timing.items():
        known = Interval(value, None, None, sum(bool(stop.t_max) for stop in stops), "mean")
        rows.append(_row(run, name.replace("_", " "), known, note="never alone: rewards instant guessing"))
    for t, right, n in accuracy_if_stopped(stops):
        rows.append(_row(run, f"reader accuracy if stopped at {t}", proportion(right, n)))
    return rows


def _worth_rows(run: str, worths: list[Worth], clusters: list[str]) -> list[Row]:
    note = "hindsight: knows canvas and label"
    return [
        _row(run, "one more glimpse, best", _mean([w.voi_max for w in worths], clusters), note=note),
        _row(run, "one more glimpse, mean", _mean([w.voi_mean for w in worths], clusters), note=note),
        _row(run, "one more glimpse flips", _share(w.flip for w in worths), note=note),
        _row(run, "three more, greedy", _mean([w.voi_steps for w in worths], clusters), note=note),
        _row(
            run, "expected information", _mean([w.eig for w in worths], clusters), "bits", "not clairvoyant"
        ),
    ]


def _sensitivity_rows(run: str, stops: list[Stop]) -> list[Row]:
    """Does the agent stop because of what it saw? Log odds of committing, errors robust to shared canvases."""
    data = commit_hazard_rows(stops)
    if not data["commit"].any() or data["commit"].all():
        return []
    names = ("confidence", "coverage", "new_ink", "time")
    varying = {name: data[name] for name in names if np.ptp(data[name]) > 0}
    model = logistic(data["commit"], varying, data["canvas"])
    note = "log odds of committing per unit" if model.converged else "not determined by these episodes"
    return [
        _row(
            run,
            f"commit on {c.name}",
            Interval(c.estimate, c.low, c.high, model.n, "cluster"),
            "log odds",
            note,
        )
        for c in model.coefficients
        if c.name != "intercept"
    ]


def causes(stops: Sequence[Stop]) -> np.ndarray:
    """1 answered rightly, 2 answered wrongly, 3 ended invalid, 0 censored (budget, no answer); int (n,)."""
    return np.array(
        [
            (1 if stop.correct else 2) if stop.answered else 3 if stop.stop_reason == "invalid_action" else 0
            for stop in stops
        ]
    )


def survival_rows(stops: Sequence[Stop]) -> list[Row]:
    """Kaplan-Meier survival and cumulative incidence of right, wrong and invalid endings, by actions taken."""
    rows: list[Row] = []
    for run, members in by_run(stops).items():
        times = np.array([stop.n_actions for stop in members])
        kinds = causes(members)
        curve = cumulative_incidence(times, kinds, len(CAUSES), np.array([stop.canvas for stop in members]))
        for i, time in enumerate(curve.time):
            row: Row = {"run": run, "actions": int(time), "at_risk": int(curve.at_risk[i]), "n": curve.n}
            row["survival"] = _banded(curve.survival[i], curve.survival_band[:, i], curve.n)
            for k, cause in enumerate(CAUSES):
                row[cause] = _banded(curve.incidence[k, i], curve.incidence_band[:, k, i], curve.n)
            row["never_answered"] = int((kinds != 1).sum() - (kinds == 2).sum())
            rows.append(row)
    return rows


def _banded(estimate: float, bounds: np.ndarray, n: int) -> Value:
    return Value(Interval(float(estimate), float(bounds[0]), float(bounds[1]), n, "bootstrap"), True)


SCORES: dict[str, Callable[[Stop], float]] = {
    "confidence": lambda stop: float(stop.confidence[stop.tau]),
    "min coverage": lambda stop: float(stop.min_coverage[stop.tau]),
    "negative entropy": lambda stop: -_entropy(stop.posterior[stop.tau]),
    "actions": lambda stop: float(stop.n_actions),
}


def _entropy(panels: np.ndarray) -> float:
    return float(-(panels * np.log2(np.maximum(panels, 1e-12))).sum())


def risk_coverage_rows(stops: Sequence[Stop]) -> list[Row]:
    """How well scores tell right answers from wrong ones: AURC, E-AURC, AUGRC and AUROC over answered episodes."""
    rows: list[Row] = []
    for run, members in by_run(stops).items():
        answered = [stop for stop in members if stop.answered]
        correct = np.array([stop.correct for stop in answered], dtype=bool)
        for name, score in SCORES.items():
            result = risk_coverage(np.array([score(stop) for stop in answered], dtype=float), correct)
            rows.append(
                {
                    "run": run,
                    "score": name,
                    "n": result.n,
                    "accuracy": Value(result.accuracy, True),
                    "auroc": result.auroc,
                    "aurc": result.aurc,
                    "e_aurc": result.e_aurc,
                    "augrc": result.augrc,
                }
            )
    return rows


def counterfactual_rows(run: str, made: Sequence[Alternative]) -> list[Row]:
    """What the predictor reads where the agent stopped, on the other path, and how the agent itself answered.

    Returns:
        two rows: the counterfactual against the predictor at the agent's own stop, and against the agent's answers.
    """
    usable = [a for a in made if a.actual.correct is not None and a.counterfactual.correct is not None]
    if not usable:
        return []
    there = np.array([bool(a.counterfactual.correct) for a in usable])
    clusters = [a.actual.task.episode.canvas or "" for a in usable]
    added = _mean([a.glimpse - a.actual_glimpse for a in usable], clusters)
    sure = _mean([_sure(a) for a in usable], clusters)
    baselines = {
        "predictor at the agent's stop": np.array([bool(a.actual.correct) for a in usable]),
        "the agent's own answer": np.array([a.actual.task.episode.correct is True for a in usable]),
    }
    return [
        {
            "run": run,
            "against": name,
            "n": len(usable),
            "baseline": Value(proportion(int(before.sum()), len(usable)), True),
            "counterfactual": Value(proportion(int(there.sum()), len(usable)), True),
            "difference": difference(paired_counts(there, before)),
            "mean_confidence": Value(sure, True),
            "moves_added": Value(added),
            "moves_saved": Value(_saved(usable, clusters), True),
        }
        for name, before in baselines.items()
    ]


def _saved(usable: Sequence[Alternative], clusters: Sequence[str]) -> Interval:
    """Share of the agent's moves that the other path does without; negative where it goes on."""
    saved = np.array([a.actual_glimpse - a.glimpse for a in usable], float)
    made = np.array([a.actual_glimpse for a in usable], float)
    return cluster_bootstrap(saved, np.array(clusters), made)


def _sure(alternative: Alternative) -> float | None:
    prediction = alternative.counterfactual.prediction
    return confidence(prediction.probabilities) if prediction and prediction.probabilities else None


def stopping(database: Database, evidence: Evidence) -> list[Row]:
    """`table stopping`: the database must have been opened with `posterior="each"`."""
    stops = load_stops(database, evidence)
    return stopping_rows(stops, worths(database, stops, evidence))


def worths(database: Database, stops: Sequence[Stop], evidence: Evidence) -> dict[tuple[str, str], Worth]:
    """What more glimpses would have been worth, by run and episode."""
    reader, found = load("reference"), {}
    for run, members in by_run(stops).items():
        geometry = database.store.run(run).geometry()
        episodes = database.store.episodes(run, [stop.source_episode_id for stop in members])
        canvases = database.store.canvases(episode.canvas for episode in episodes if episode.canvas)
        for episode in episodes:
            if geometry is not None and episode.canvas in canvases:
                canvas = canvases[episode.canvas]
                found[run, episode.episode_id] = value_of_more(episode, canvas, geometry, reader, evidence)
    return found
