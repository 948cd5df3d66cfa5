"""When do agents stop, and how? Survival with competing causes (docs/metrics.md, sections 3.2 and 5)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .intervals import proportion
from .resampling import resampled_counts


class Incidence(NamedTuple):
    """Survival and cumulative incidence at the T times at which an episode ended.

    Attributes:
        time: (T,), sorted.
        at_risk: int (T,), episodes still running just before each time.
        survival: float (T,), share that has met no cause; with censoring not the share that never did.
        incidence: float (causes, T), share that has met each cause. Their sum and the survival make 1.
        survival_band: float (2, T), pointwise bounds.
        incidence_band: float (2, causes, T), pointwise bounds.
        n: episodes.
    """

    time: np.ndarray
    at_risk: np.ndarray
    survival: np.ndarray
    incidence: np.ndarray
    survival_band: np.ndarray
    incidence_band: np.ndarray
    n: int


def cumulative_incidence(
    times: np.ndarray,
    causes: np.ndarray,
    n_causes: int,
    clusters: np.ndarray | None = None,
    *,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Incidence:
    """Aalen-Johansen estimate with a bootstrap band (percentile, pointwise).

    Written out because the variance that statsmodels gives is NaN once nobody is at risk, and because a
    bootstrap needs it a thousand times over. Where a band would have no width it is Wilson's interval.

    Args:
        times: (n,), when each episode ended.
        causes: int (n,), 0 for censored, else 1 to n_causes.
        n_causes: number of competing causes.
        clusters: (n,), the canvas of each episode; None makes each episode its own cluster.
        level: of the bands.
        resamples: number of resamples.
        seed: of the generator.

    Raises:
        ValueError: without episodes, for a cause out of range, or for lengths that differ.
    """
    times, causes = np.asarray(times), np.asarray(causes, int)
    clusters = np.arange(len(times)) if clusters is None else np.asarray(clusters)
    if not len(times) == len(causes) == len(clusters) > 0:
        raise ValueError("times, causes and clusters must have one length, and some episode")
    if np.any((causes < 0) | (causes > n_causes)):
        raise ValueError(f"causes must lie between 0 and {n_causes}")
    grid, at_risk, events = _per_cluster(times, causes, n_causes, clusters)
    curves = _aalen_johansen(np.ones((1, len(at_risk))), at_risk, events)[0]
    counts = resampled_counts(len(at_risk), resamples, np.random.default_rng(seed))
    draws = np.concatenate([_aalen_johansen(count, at_risk, events) for count in counts])
    band = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    for cell in np.argwhere(band[0] == band[1]):
        share = curves[tuple(cell)]
        wilson = proportion(round(share * len(times)), len(times), level=level)
        band[(slice(None), *cell)] = wilson.low, wilson.high
    return Incidence(grid, at_risk.sum(axis=0), curves[0], curves[1:], band[:, 0], band[:, 1:], len(times))


def kaplan_meier(
    times: np.ndarray, observed: np.ndarray, clusters: np.ndarray | None = None, **options: Any
) -> Incidence:
    """Kaplan-Meier survival: `cumulative_incidence` with a single cause.

    Args:
        times: (n,), when each episode ended.
        observed: bool (n,), whether the event happened then; else the episode was censored.
        clusters: (n,), the canvas of each episode.
        options: `level`, `resamples`, `seed`.
    """
    return cumulative_incidence(times, np.asarray(observed).astype(int), 1, clusters, **options)


def paired_logrank(
    times_a: np.ndarray,
    observed_a: np.ndarray,
    times_b: np.ndarray,
    observed_b: np.ndarray,
    *,
    resamples: int = 9999,
    seed: int = 0,
) -> float:
    """P-value of the log-rank difference of two conditions on the same episodes.

    The usual log-rank test takes the groups for independent; here conditions are exchanged within episodes.

    Raises:
        ValueError: without episodes, or for lengths that differ.
    """
    if not len(times_a) == len(times_b) == len(observed_a) == len(observed_b) > 0:
        raise ValueError("paired times must have one length, and some episode")
    times, events = np.stack([times_a, times_b]), np.stack([observed_a, observed_b]).astype(bool)
    grid = np.unique(times)
    at_risk = times[:, :, None] >= grid
    happened = (times[:, :, None] == grid) & events[:, :, None]
    share = happened.sum(axis=(0, 1)) / np.maximum(at_risk.sum(axis=(0, 1)), 1)
    excess = (happened - at_risk * share).sum(axis=2)
    difference = excess[0] - excess[1]
    signs = np.random.default_rng(seed).choice([-1, 1], size=(resamples, len(difference)))
    extreme = np.abs(signs @ difference) >= abs(difference.sum()) - 1e-9
    return float((1 + extreme.sum()) / (1 + resamples))


def _per_cluster(
    times: np.ndarray, causes: np.ndarray, n_causes: int, clusters: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The times, and for each cluster the episodes at risk (clusters, T) and events (causes, clusters, T)."""
    grid = np.unique(times)
    names, member = np.unique(clusters, return_inverse=True)
    at_risk = np.zeros((len(names), len(grid)), int)
    np.add.at(at_risk, member, times[:, None] >= grid)
    events = np.zeros((n_causes, len(names), len(grid)), int)
    happened = causes > 0
    np.add.at(events, (causes[happened] - 1, member[happened], np.searchsorted(grid, times[happened])), 1)
    return grid, at_risk, events


def _aalen_johansen(counts: np.ndarray, at_risk: np.ndarray, events: np.ndarray) -> np.ndarray:
    """Survival, then each cause's incidence, of resamples given by how often each cluster is in them.

    Returns:
        float (resamples, 1 + causes, T).
    """
    hazards = np.moveaxis(counts @ events, 0, 1) / np.maximum(counts @ at_risk, 1)[:, None]
    survival = np.cumprod(1 - hazards.sum(axis=1), axis=1)
    before = np.concatenate([np.ones((len(counts), 1)), survival[:, :-1]], axis=1)
    incidence = np.cumsum(before[:, None] * hazards, axis=2)
    return np.concatenate([survival[:, None], incidence], axis=1)
