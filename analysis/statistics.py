"""Intervals and tests (metrics page §5), with the named scipy and statsmodels functions."""

from __future__ import annotations

from math import sqrt

Interval = tuple[float, float]


def wilson(successes: int, n: int, level: float = 0.95) -> Interval | None:
    """Wilson score interval of a proportion; None for n = 0."""
    if n == 0:
        return None
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(successes, n, alpha=1 - level, method="wilson")
    return float(low), float(high)


def mcnemar(b: int, c: int) -> float | None:
    """Exact McNemar p of the discordant pairs; 1 where there are none."""
    from scipy.stats import binomtest

    return float(binomtest(b, b + c).pvalue) if b + c else 1.0


def newcombe_paired(a: int, b: int, c: int, d: int, level: float = 0.95) -> Interval | None:
    """Interval of the paired difference (b - c) / n by Newcombe's method 10 (1998); None for n = 0.

    Args:
        a: pairs right both times.
        b: pairs right only in the first condition.
        c: pairs right only in the second condition.
        d: pairs wrong both times.
        level: confidence level.
    """
    n = a + b + c + d
    if n == 0:
        return None
    p1, p2 = (a + b) / n, (a + c) / n
    (l1, u1), (l2, u2) = wilson(a + b, n, level), wilson(a + c, n, level)  # type: ignore[misc]
    product = (a + b) * (c + d) * (a + c) * (b + d)
    excess = a * d - b * c
    phi = 0.0 if product == 0 else (max(excess - n / 2, 0) if excess > 0 else excess) / sqrt(product)
    difference = p1 - p2
    low = sqrt(max((p1 - l1) ** 2 - 2 * phi * (p1 - l1) * (u2 - p2) + (u2 - p2) ** 2, 0))
    high = sqrt(max((u1 - p1) ** 2 - 2 * phi * (u1 - p1) * (p2 - l2) + (p2 - l2) ** 2, 0))
    return difference - low, difference + high
