"""Sample sizes, and logistic regression on clusters."""

from __future__ import annotations

import numpy as np
import pytest

from mnistpro_replay.analysis.statistics import (
    logistic,
    mcnemar,
    power_paired,
    sample_size_paired,
    sample_size_unpaired,
)


def test_unpaired_sample_size_is_the_textbook_one():
    assert sample_size_unpaired(0.5, 0.6) == pytest.approx(388, abs=2)
    assert sample_size_unpaired(0.6, 0.5) == sample_size_unpaired(0.5, 0.6)
    assert sample_size_unpaired(0.5, 0.6, power=0.9) > sample_size_unpaired(0.5, 0.6)
    with pytest.raises(ValueError, match="equal"):
        sample_size_unpaired(0.3, 0.3)


def test_paired_sample_size_and_exact_power_agree():
    n = sample_size_paired(0.25, 0.10)
    assert n == pytest.approx(120, abs=3)
    assert 0.72 < power_paired(n, 0.25, 0.10) < 0.83
    assert sample_size_paired(0.10, 0.25) == n
    for shares in ((0.2, 0.2), (0.9, 0.2)):
        with pytest.raises(ValueError, match="discordant"):
            sample_size_paired(*shares)


def test_exact_power_by_simulation(rng):
    n, only_a, only_b = 60, 0.25, 0.05
    wins = rng.multinomial(n, [only_a, only_b, 1 - only_a - only_b], size=1500)
    found = np.mean([mcnemar(b, c).p <= 0.05 for b, c, _ in wins])
    assert power_paired(n, only_a, only_b) == pytest.approx(found, abs=0.04)


def test_power_is_below_the_level_without_a_difference():
    assert power_paired(100, 0.2, 0.2) <= 0.05
    assert power_paired(5, 0.9, 0.1) == 0.0
    assert power_paired(50, 0.0, 0.0) == 0.0


@pytest.mark.parametrize("method", ["logit", "gee"])
def test_logistic_finds_the_slope(method, rng):
    canvas = np.repeat(np.arange(150), 4)
    x = rng.normal(size=600)
    y = rng.random(600) < 1 / (1 + np.exp(-(0.5 + 1.2 * x)))
    fit = logistic(y, {"coverage": x}, canvas, method)
    intercept, slope = fit.coefficients
    assert (intercept.name, slope.name, fit.n, fit.n_clusters) == ("intercept", "coverage", 600, 150)
    assert slope.low < 1.2 < slope.high and intercept.low < 0.5 < intercept.high
    assert slope.p < 1e-6


@pytest.mark.parametrize("method", ["logit", "gee"])
def test_copies_of_an_episode_do_not_make_it_surer(method, rng):
    x = rng.normal(size=80)
    y = rng.random(80) < 1 / (1 + np.exp(-x))
    once = logistic(y, {"x": x}, np.arange(80), method).coefficients[1]
    copied = logistic(
        np.repeat(y, 9), {"x": np.repeat(x, 9)}, np.repeat(np.arange(80), 9), method
    ).coefficients[1]
    assert copied.estimate == pytest.approx(once.estimate, rel=1e-3)
    assert copied.high - copied.low == pytest.approx(once.high - once.low, rel=0.1)


@pytest.mark.parametrize("method", ["logit", "gee"])
def test_what_the_data_do_not_determine_is_not_printed(method):
    x = np.arange(20.0)
    clusters = np.arange(20)
    for outcome, predictor, groups in (
        (x > 9.5, x, clusters),
        (np.ones(20), x, clusters),
        (x % 2 == 0, np.ones(20), clusters),
        (x % 3 == 0, x, np.zeros(20)),
    ):
        fit = logistic(outcome, {"x": predictor}, groups, method)
        assert (fit.coefficients, fit.converged, fit.n) == ([], False, 20)


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="one length"):
        logistic(np.ones(3), {"x": np.ones(3)}, np.zeros(2))
