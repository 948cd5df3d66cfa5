"""Proportions, their differences, and tests on paired outcomes (docs/metrics.md, section 5)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import sqrt
from typing import Literal, NamedTuple

import numpy as np


class Interval(NamedTuple):
    """An estimate with its confidence interval.

    Attributes:
        estimate: None where there is nothing to estimate from.
        low: lower bound; None where the data do not give one.
        high: upper bound.
        n: how many observations it rests on.
        method: how the bounds were found.
    """

    estimate: float | None
    low: float | None
    high: float | None
    n: int
    method: str


class PairedCounts(NamedTuple):
    """Two conditions on the same episodes: how often both, only one, only the other, neither succeeded."""

    both: int
    only_a: int
    only_b: int
    neither: int


class McNemar(NamedTuple):
    """McNemar's exact test; `discordant` is the number of pairs that it rests on."""

    discordant: int
    p: float


class CochranQ(NamedTuple):
    """Cochran's Q over several conditions, and McNemar's test of each pair of them, adjusted after Holm.

    Attributes:
        statistic: Q; None where no episode tells the conditions apart.
        p: its p-value.
        pairs: (i, j, test, adjusted p) for each pair of conditions i < j.
    """

    statistic: float | None
    p: float | None
    pairs: list[tuple[int, int, McNemar, float]]


def proportion(
    successes: int, n: int, method: Literal["wilson", "exact"] = "wilson", level: float = 0.95
) -> Interval:
    """A proportion with its Wilson score or exact (Clopper-Pearson) interval; of nothing, none.

    >>> [round(100 * bound, 1) for bound in proportion(65, 100)[1:3]]
    [55.3, 73.6]
    """
    if n == 0:
        return Interval(None, None, None, 0, method)
    return Interval(successes / n, *_score(successes, n, method, level), int(n), method)


def paired_counts(a: np.ndarray, b: np.ndarray) -> PairedCounts:
    """Count the outcomes of two conditions on the same episodes: bool (n,) each, in the same order.

    Raises:
        ValueError: if the lengths differ.
    """
    a, b = np.asarray(a, bool), np.asarray(b, bool)
    if a.shape != b.shape:
        raise ValueError(f"paired outcomes must have one length, not {len(a)} and {len(b)}")
    return PairedCounts(*(int(np.sum(cell)) for cell in (a & b, a & ~b, ~a & b, ~a & ~b)))


def paired_difference(counts: PairedCounts, level: float = 0.95) -> Interval:
    """Difference of two paired proportions, first minus second, with Newcombe's interval.

    Newcombe 1998, Statistics in Medicine 17:2635, method 10: the two Wilson intervals, joined by the
    correlation of the outcomes with a continuity correction where it is positive. No library has it.
    """
    a, b, c, d = counts
    n = a + b + c + d
    if n == 0:
        return Interval(None, None, None, 0, "newcombe10")
    first, second = (a + b) / n, (a + c) / n
    low_1, high_1 = _score(a + b, n, "wilson", level)
    low_2, high_2 = _score(a + c, n, "wilson", level)
    agreement = a * d - b * c
    spread = sqrt((a + b) * (c + d) * (a + c) * (b + d))
    if agreement > 0:
        agreement = max(agreement - n / 2, 0)
    phi = agreement / spread if spread else 0.0
    difference = (b - c) / n
    below = _joined(first - low_1, high_2 - second, phi)
    above = _joined(high_1 - first, second - low_2, phi)
    return Interval(difference, difference - below, difference + above, n, "newcombe10")


def unpaired_difference(
    successes_a: int, n_a: int, successes_b: int, n_b: int, level: float = 0.95
) -> Interval:
    """Difference of two proportions over different episodes, first minus second (Newcombe's hybrid score)."""
    from statsmodels.stats.proportion import confint_proportions_2indep

    if n_a == 0 or n_b == 0:
        return Interval(None, None, None, n_a + n_b, "newcombe")
    low, high = confint_proportions_2indep(
        successes_a, n_a, successes_b, n_b, method="newcomb", alpha=1 - level
    )
    difference = successes_a / n_a - successes_b / n_b
    return Interval(difference, float(low), float(high), n_a + n_b, "newcombe")


def mcnemar(only_a: int, only_b: int) -> McNemar:
    """McNemar's exact test on the discordant pairs; without any, p is 1."""
    from statsmodels.stats.contingency_tables import mcnemar as exact

    result = exact([[0, only_a], [only_b, 0]], exact=True)
    return McNemar(only_a + only_b, float(result.pvalue))  # pyright: ignore[reportAttributeAccessIssue]


def cochrans_q(outcomes: np.ndarray) -> CochranQ:
    """Do several conditions on the same episodes differ, and which?

    Args:
        outcomes: bool (n, conditions), one row per episode.
    """
    from statsmodels.stats.contingency_tables import cochrans_q as test

    outcomes = np.asarray(outcomes, bool)
    columns = list(combinations(range(outcomes.shape[1]), 2))
    counts = [paired_counts(outcomes[:, i], outcomes[:, j]) for i, j in columns]
    tests = [mcnemar(count.only_a, count.only_b) for count in counts]
    adjusted = holm([test.p for test in tests])
    pairs = [(i, j, test, p) for (i, j), test, p in zip(columns, tests, adjusted, strict=True)]
    if not any(test.discordant for test in tests):
        return CochranQ(None, None, pairs)
    result = test(outcomes.astype(int))
    return CochranQ(float(result.statistic), float(result.pvalue), pairs)


def holm(p: Sequence[float]) -> list[float]:
    """P-values adjusted after Holm, for a family declared beforehand."""
    return _adjusted(p, "holm")


def benjamini_hochberg(p: Sequence[float]) -> list[float]:
    """P-values adjusted after Benjamini and Hochberg (false discovery rate), for exploration."""
    return _adjusted(p, "fdr_bh")


def _adjusted(p: Sequence[float], method: str) -> list[float]:
    from statsmodels.stats.multitest import multipletests

    return np.asarray(multipletests(p, method=method)[1]).tolist() if len(p) else []


def _score(successes: int, n: int, method: str, level: float) -> tuple[float, float]:
    """Bounds of a proportion."""
    from scipy.stats import binomtest

    bounds = binomtest(int(successes), int(n)).proportion_ci(level, method)
    return float(bounds.low), float(bounds.high)


def _joined(first: float, second: float, phi: float) -> float:
    """Half-width of a difference from the half-widths of its terms, which correlate by phi."""
    return sqrt(max(0.0, first**2 - 2 * phi * first * second + second**2))
