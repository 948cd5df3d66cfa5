"""Proportions, differences and paired tests: golden values of docs/metrics.md, section 5, and identities."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, false_discovery_control

from mnistpro_replay.analysis.statistics import (
    PairedCounts,
    benjamini_hochberg,
    cochrans_q,
    holm,
    mcnemar,
    paired_counts,
    paired_difference,
    proportion,
    unpaired_difference,
)

counts = st.builds(PairedCounts, *[st.integers(0, 60)] * 4).filter(any)


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [(0, 100, 0, 3.7), (65, 100, 55.3, 73.6), (13, 100, 7.8, 21.0), (15, 17, 66, 97)],
)
def test_wilson_golden(k, n, low, high):
    result = proportion(k, n)
    digits = 0 if n == 17 else 1
    assert (round(100 * result.low, digits), round(100 * result.high, digits)) == (low, high)
    assert (result.estimate, result.n, result.method) == (k / n, n, "wilson")


@given(st.integers(0, 80), st.integers(1, 80))
def test_exact_is_wider_than_nothing_and_contains_the_estimate(k, n):
    k = min(k, n)
    wilson, exact = proportion(k, n), proportion(k, n, "exact")
    for interval in (wilson, exact):
        assert 0 <= interval.low <= k / n + 1e-12 and k / n - 1e-12 <= interval.high <= 1
        assert interval.low < interval.high
    assert exact.low == pytest.approx(binomtest(k, n).proportion_ci(method="exact").low)


def test_nothing_observed_has_no_interval():
    for result in (
        proportion(0, 0),
        unpaired_difference(0, 0, 3, 5),
        paired_difference(PairedCounts(0, 0, 0, 0)),
    ):
        assert result[:3] == (None, None, None)


def test_newcombe_golden():
    result = paired_difference(PairedCounts(14, 5, 0, 22))
    assert result.estimate == pytest.approx(5 / 41)
    assert (result.low, result.high) == pytest.approx((0.012, 0.227), abs=6e-4)


@pytest.mark.parametrize(
    "cells", [(36, 12, 2, 0), (20, 12, 2, 16), (0, 0, 0, 50), (53, 0, 0, 1), (30, 29, 1, 40), (14, 5, 0, 22)]
)
def test_newcombe_by_its_definition(cells):
    """Correlation below 0, above 0, undefined, 0 after the correction, and in large samples."""
    result = paired_difference(PairedCounts(*cells))
    assert (result.low, result.high) == pytest.approx(by_definition(*cells, sum(cells)), abs=1e-9)


def by_definition(a, b, c, d, n):
    """Newcombe's method 10 straight from the page."""

    def wilson(k, z=1.959963984540054):
        centre, spread = (2 * k + z * z), z * np.sqrt(z * z + 4 * k * (1 - k / n))
        return (centre - spread) / (2 * (n + z * z)), (centre + spread) / (2 * (n + z * z))

    p1, p2 = (a + b) / n, (a + c) / n
    (l1, u1), (l2, u2) = wilson(a + b), wilson(a + c)
    product = (a + b) * (c + d) * (a + c) * (b + d)
    top = a * d - b * c
    top = max(top - n / 2, 0) if top > 0 else top
    phi = top / np.sqrt(product) if product else 0
    low = np.sqrt((p1 - l1) ** 2 - 2 * phi * (p1 - l1) * (u2 - p2) + (u2 - p2) ** 2)
    high = np.sqrt((u1 - p1) ** 2 - 2 * phi * (u1 - p1) * (p2 - l2) + (p2 - l2) ** 2)
    return p1 - p2 - low, p1 - p2 + high


@given(counts)
def test_paired_difference_mirrors_and_stays_in_bounds(cells):
    result = paired_difference(cells)
    mirrored = paired_difference(PairedCounts(cells.both, cells.only_b, cells.only_a, cells.neither))
    assert (mirrored.low, mirrored.high) == pytest.approx((-result.high, -result.low))
    assert -1 <= result.low <= result.estimate <= result.high <= 1
    assert result.low < result.high


def test_unpaired_difference_is_newcombes_score_interval():
    result = unpaired_difference(56, 70, 48, 80)
    assert result.estimate == pytest.approx(0.2)
    assert (result.low, result.high) == pytest.approx((0.0524, 0.3339), abs=5e-4)
    assert result.n == 150


def test_paired_counts():
    assert paired_counts([1, 1, 0, 0, 1], [1, 0, 1, 0, 1]) == (2, 1, 1, 1)
    with pytest.raises(ValueError, match="one length"):
        paired_counts(np.ones(3), np.ones(2))


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_binomial_test(b, c):
    result = mcnemar(b, c)
    assert result.discordant == b + c
    assert result.p == pytest.approx(binomtest(b, b + c).pvalue if b + c else 1.0)


@pytest.mark.parametrize(
    ("won", "lost"), [(6, 0), (8, 1), (10, 2), (12, 3), (13, 4), (15, 5), (21, 9), (29, 15)]
)
def test_smallest_significant_splits(won, lost):
    assert mcnemar(won, lost).p < 0.05 <= mcnemar(won - 1, lost).p


def test_cochrans_q_and_its_pairs():
    rng = np.random.default_rng(1)
    base = rng.random(60)
    outcomes = np.column_stack([base < 0.5, base < 0.5, base < 0.9])
    result = cochrans_q(outcomes)
    assert result.statistic == pytest.approx(2 * (outcomes[:, 2] & ~outcomes[:, 0]).sum())
    assert result.p < 1e-6
    assert [(i, j) for i, j, *_ in result.pairs] == [(0, 1), (0, 2), (1, 2)]
    same, first, second = (pair[2:] for pair in result.pairs)
    assert (same[0].discordant, same[1]) == (0, 1.0)
    assert first[1] == second[1] == pytest.approx(3 * first[0].p)


def test_cochrans_q_of_conditions_that_never_differ():
    result = cochrans_q(np.repeat([[1], [0]], 3, axis=1))
    assert (result.statistic, result.p) == (None, None)
    assert [p for *_, p in result.pairs] == [1, 1, 1]


def test_adjusted_p_values():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == benjamini_hochberg([]) == []
    p = [0.001, 0.2, 0.03, 0.04]
    assert benjamini_hochberg(p) == pytest.approx(false_discovery_control(p).tolist())
