"""Bootstrap over clusters and paired differences (docs/metrics.md, section 5).

Episodes on one canvas are no independent observations: a resample draws canvases and keeps all their
episodes. Where every resample gives the same value the bootstrap knows nothing, and an interval of no width
would hide that: outcomes that are all 0 or all 1 get Wilson's interval over the clusters, others none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import numpy as np

from .intervals import Interval, paired_counts, paired_difference, proportion

RESAMPLES = 2000
_BLOCK = 2_000_000  # numbers drawn at a time, to bound the memory
_KEPT = 500_000  # numbers of one draw that may stay in memory


def cluster_bootstrap(
    values: np.ndarray,
    clusters: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    *,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Mean, or pooled rate, with a percentile interval from resampled clusters.

    Args:
        values: float (n,); rows that are NaN are left out, and not counted.
        clusters: (n,), the canvas of each row; None makes each row its own cluster.
        weights: float (n,), denominators: the estimate is sum(values) / sum(weights), as in revisits over
            moves. None gives the mean.
        level: of the interval.
        resamples: number of resamples.
        seed: of the generator.
    """
    values, weights, clusters = _rows(values, weights, clusters)
    if len(values) == 0 or weights.sum() == 0:
        return Interval(None, None, None, len(values), "cluster bootstrap")
    sums, denominators = _per_cluster(values, weights, clusters)
    estimate = float(sums.sum() / denominators.sum())
    draws = _ratios(sums, denominators, _counts(len(sums), resamples, seed))
    if _is_constant(draws):
        return _constant(estimate, len(sums), len(values), level)
    return Interval(estimate, *_percentiles(draws, level), len(values), "cluster bootstrap")


def paired_bootstrap(
    a: np.ndarray,
    b: np.ndarray,
    clusters: np.ndarray | None = None,
    *,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Mean difference a - b of two conditions on the same episodes, BCa, or percentile over clusters.

    Episodes on which either is NaN are left out. Where all differences are equal, 0/1 outcomes get Newcombe's
    interval and other values none.

    Raises:
        ValueError: if the lengths differ.
    """
    a, b = np.asarray(a, float), np.asarray(b, float)
    if a.shape != b.shape:
        raise ValueError(f"paired values must have one length, not {len(a)} and {len(b)}")
    known = ~np.isnan(a - b)
    a, b = a[known], b[known]
    difference = a - b
    if len(difference) and _is_constant(difference):
        if np.isin([a, b], (0, 1)).all():
            return paired_difference(paired_counts(a, b), level)
        return Interval(float(difference[0]), None, None, len(a), "constant")
    if clusters is not None or len(difference) == 0:
        clusters = None if clusters is None else np.asarray(clusters)[known]
        return cluster_bootstrap(difference, clusters, level=level, resamples=resamples, seed=seed)
    from scipy.stats import bootstrap

    result = bootstrap(
        (difference,), np.mean, n_resamples=resamples, confidence_level=level, rng=np.random.default_rng(seed)
    )
    low, high = map(float, result.confidence_interval)
    return Interval(float(difference.mean()), low, high, len(difference), "paired bootstrap")


def sign_flip_test(differences: np.ndarray, *, resamples: int = 9999, seed: int = 0) -> float | None:
    """Two-sided p-value of a mean paired difference under random signs; None without any."""
    from scipy.stats import permutation_test

    differences = np.asarray(differences, float)
    differences = differences[~np.isnan(differences)]
    if len(differences) == 0:
        return None
    if len(differences) == 1 or not differences.any():
        return 1.0
    result = permutation_test(
        (differences,),
        lambda d, axis: d.mean(axis=axis),
        permutation_type="samples",
        n_resamples=resamples,
        rng=np.random.default_rng(seed),
        vectorized=True,
    )
    return float(result.pvalue)


def macro_average(
    levels: Sequence[np.ndarray],
    clusters: Sequence[np.ndarray] | None = None,
    *,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Unweighted mean of the means of several levels, each level resampled by itself.

    Where a level is constant, the half-widths of the levels' own intervals are joined instead (Zou and Donner
    2008, Statistics in Medicine 27:1693), so that its uncertainty is not taken for none.
    """
    rng = np.random.default_rng(seed)
    draws, intervals = [], []
    for values, groups in zip(levels, clusters or [None] * len(levels), strict=True):
        sums, weights = _per_cluster(*_rows(values, None, groups))
        if len(sums) == 0:
            return Interval(None, None, None, 0, "macro bootstrap")
        draws.append(_ratios(sums, weights, resampled_counts(len(sums), resamples, rng)))
        intervals.append(cluster_bootstrap(values, groups, level=level, resamples=resamples, seed=seed))
    estimate = float(np.mean([interval.estimate for interval in intervals]))
    n = sum(interval.n for interval in intervals)
    if not any(map(_is_constant, draws)):
        return Interval(estimate, *_percentiles(np.mean(draws, axis=0), level), n, "macro bootstrap")
    if any(interval.low is None for interval in intervals):
        return Interval(estimate, None, None, n, "constant")
    bounds = np.array([[i.estimate - i.low, i.high - i.estimate] for i in intervals])
    below, above = np.sqrt((bounds**2).sum(axis=0)) / len(levels)
    return Interval(estimate, float(estimate - below), float(estimate + above), n, "joined intervals")


def resampled_counts(n: int, resamples: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """How often each of n clusters is drawn, int (resamples, n) in blocks of rows."""
    block = max(1, _BLOCK // max(n, 1))
    for done in range(0, resamples, block):
        yield rng.multinomial(n, np.full(n, 1 / n), size=min(block, resamples - done))


def _rows(values, weights, clusters) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    values = np.asarray(values, float)
    weights = np.ones(len(values)) if weights is None else np.asarray(weights, float)
    clusters = np.arange(len(values)) if clusters is None else np.asarray(clusters)
    if not len(values) == len(weights) == len(clusters):
        raise ValueError("values, weights and clusters must have one length")
    known = ~np.isnan(values) & ~np.isnan(weights)
    return values[known], weights[known], clusters[known]


def _per_cluster(values, weights, clusters) -> tuple[np.ndarray, np.ndarray]:
    index = np.unique(clusters, return_inverse=True)[1]
    return np.bincount(index, values), np.bincount(index, weights)


def _counts(n: int, resamples: int, seed: int) -> Iterable[np.ndarray]:
    """`resampled_counts` of a fresh generator, kept where small: a table asks for the same many times."""
    if n * resamples <= _KEPT:
        return _kept_counts(n, resamples, seed)
    return resampled_counts(n, resamples, np.random.default_rng(seed))


@lru_cache(maxsize=16)
def _kept_counts(n: int, resamples: int, seed: int) -> tuple[np.ndarray, ...]:
    drawn = resampled_counts(n, resamples, np.random.default_rng(seed))
    return tuple(count.astype(float) for count in drawn)


def _ratios(sums, denominators, counts: Iterable[np.ndarray]) -> np.ndarray:
    """Resampled sum over sum; resamples that drew only zero denominators are left out."""
    drawn = np.concatenate([np.stack([count @ sums, count @ denominators]) for count in counts], axis=1)
    return drawn[0, drawn[1] > 0] / drawn[1, drawn[1] > 0]


def _is_constant(values: np.ndarray) -> bool:
    """Whether the values differ by no more than rounding."""
    return bool(np.ptp(values) <= 1e-12 * np.abs(values).max())


def _percentiles(draws: np.ndarray, level: float) -> tuple[float, float]:
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _constant(estimate: float, n_clusters: int, n: int, level: float) -> Interval:
    if estimate in (0.0, 1.0):
        wilson = proportion(int(estimate) * n_clusters, n_clusters, level=level)
        return Interval(estimate, wilson.low, wilson.high, n, "wilson")
    return Interval(estimate, None, None, n, "constant")
