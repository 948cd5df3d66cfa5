"""Bootstraps: what they cover, what they refuse to claim."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnistpro_replay.analysis.statistics import (
    PairedCounts,
    cluster_bootstrap,
    macro_average,
    paired_bootstrap,
    paired_difference,
    proportion,
    sign_flip_test,
)


def test_interval_is_near_the_textbook_one(rng):
    values = rng.normal(3, 2, 400)
    result = cluster_bootstrap(values)
    half = 1.96 * values.std() / 20
    assert result.estimate == pytest.approx(values.mean())
    assert (result.low, result.high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.03)
    assert (result.n, result.method) == (400, "cluster bootstrap")


def test_clusters_are_drawn_whole(rng):
    """Ten copies of each of 40 values say no more than the values once."""
    values = rng.normal(size=40)
    canvases = np.repeat(np.arange(40), 10)
    once = cluster_bootstrap(values)
    copied = cluster_bootstrap(np.repeat(values, 10), canvases)
    naive = cluster_bootstrap(np.repeat(values, 10))
    assert (copied.low, copied.high) == pytest.approx((once.low, once.high))
    assert copied.n == 400
    assert naive.high - naive.low < (copied.high - copied.low) / 2


def test_coverage_of_the_true_mean(rng):
    """Clusters with a shared part: nominal 95 %, at 30 clusters a little less is normal."""
    inside = 0
    for trial in range(200):
        shared = rng.normal(size=30).repeat(4)
        result = cluster_bootstrap(
            shared + rng.normal(size=120), np.arange(30).repeat(4), resamples=400, seed=trial
        )
        inside += result.low <= 0 <= result.high
    assert 0.88 <= inside / 200 <= 0.99


def test_pooled_rate_weights_long_episodes():
    revisits, moves = np.array([0.0, 9.0]), np.array([1.0, 9.0])
    assert cluster_bootstrap(revisits, weights=moves).estimate == 0.9
    assert cluster_bootstrap(revisits / moves).estimate == 0.5


def test_undefined_rows_are_left_out():
    result = cluster_bootstrap(np.array([1.0, np.nan, 3.0]), np.array([0, 0, 1]))
    assert (result.estimate, result.n) == (2.0, 2)
    for nothing in (cluster_bootstrap(np.array([np.nan])), cluster_bootstrap(np.empty(0))):
        assert nothing[:4] == (None, None, None, 0)
    assert cluster_bootstrap(np.zeros(2), weights=np.zeros(2)).estimate is None


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_constant_outcomes_get_wilson_over_the_clusters(value):
    result = cluster_bootstrap(np.full(100, value), np.repeat(np.arange(50), 2))
    wilson = proportion(int(50 * value), 50)
    assert (result.low, result.high) == (wilson.low, wilson.high) and result.low < result.high
    assert (result.n, result.method) == (100, "wilson")


def test_other_constants_get_no_interval():
    assert cluster_bootstrap(np.full(9, 0.4)) == (pytest.approx(0.4), None, None, 9, "constant")
    assert cluster_bootstrap(np.array([0.2, 0.6]), np.zeros(2))[:3] == (pytest.approx(0.4), None, None)


def test_seed_decides(rng):
    values = rng.random(30)
    assert cluster_bootstrap(values, seed=1) == cluster_bootstrap(values, seed=1)
    assert cluster_bootstrap(values, seed=1) != cluster_bootstrap(values, seed=2)


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="one length"):
        cluster_bootstrap(np.ones(3), np.zeros(2))
    with pytest.raises(ValueError, match="one length"):
        paired_bootstrap(np.ones(3), np.ones(2))


def test_paired_differences_are_narrower_than_the_values(rng):
    skill = rng.normal(0, 5, 80)
    result = paired_bootstrap(skill + 1 + rng.normal(0, 0.5, 80), skill)
    assert 0.7 < result.low < 1 < result.high < 1.3
    assert (result.n, result.method) == (80, "paired bootstrap")
    clustered = paired_bootstrap(skill + 1, skill + rng.normal(size=80), np.arange(80) // 2)
    assert clustered.low < clustered.estimate < clustered.high
    assert clustered.method == "cluster bootstrap"


def test_paired_rows_with_a_gap_are_left_out():
    result = paired_bootstrap(np.array([1, 2, np.nan, 4.0]), np.array([0, np.nan, 0, 1.0]))
    assert (result.estimate, result.n) == (2.0, 2)


def test_paired_constant_differences():
    a = np.array([1, 0, 1, 1.0])
    assert paired_bootstrap(a, a) == paired_difference(PairedCounts(3, 0, 0, 1))
    assert paired_bootstrap(a + 0.5, a) == (0.5, None, None, 4, "constant")
    assert paired_bootstrap(np.empty(0), np.empty(0)).estimate is None


def test_sign_flips(rng):
    assert sign_flip_test(np.ones(6)) == pytest.approx(2 / 64)
    assert sign_flip_test(np.array([1.0, -1.0])) == 1.0
    assert sign_flip_test(np.zeros(5)) == sign_flip_test(np.array([3.0])) == 1.0
    assert sign_flip_test(np.array([np.nan])) is None
    assert sign_flip_test(rng.normal(1, 1, 60)) < 0.001


def test_macro_average_weights_levels_equally(rng):
    levels = [(rng.random(400) < 0.8).astype(float), (rng.random(50) < 0.2).astype(float)]
    result = macro_average(levels)
    assert result.estimate == pytest.approx((levels[0].mean() + levels[1].mean()) / 2)
    variance = sum(values.var() / len(values) for values in levels) / 4
    assert (result.high - result.low) / 2 == pytest.approx(1.96 * variance**0.5, rel=0.1)
    assert (result.n, result.method) == (450, "macro bootstrap")


def test_macro_average_does_not_take_0_of_100_for_certain(rng):
    solved = (rng.random(100) < 0.5).astype(float)
    result = macro_average([solved, np.zeros(100)])
    one = cluster_bootstrap(solved)
    ceiling = proportion(0, 100).high
    assert result.low == pytest.approx(result.estimate - (one.estimate - one.low) / 2)
    expected = ((one.high - one.estimate) ** 2 + ceiling**2) ** 0.5 / 2
    assert result.high == pytest.approx(result.estimate + expected)
    assert macro_average([np.zeros(100), np.zeros(100)]).high > 0


def test_macro_average_without_bounds_or_data():
    assert macro_average([np.full(5, 0.3), np.zeros(5)])[1:3] == (None, None)
    assert macro_average([np.ones(5), np.empty(0)]).estimate is None


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=30), st.integers(1, 10))
def test_no_interval_has_zero_width(values, n_clusters):
    clusters = np.arange(len(values)) % n_clusters
    result = cluster_bootstrap(np.array(values), clusters, resamples=200)
    assert result.low is None or result.low < result.high
