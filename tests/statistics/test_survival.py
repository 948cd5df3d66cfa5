"""Survival and competing risks against statsmodels, SciPy and their identities."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import CensoredData, ecdf
from statsmodels.duration.survfunc import CumIncidenceRight, SurvfuncRight

from mnistpro_replay.analysis.statistics import (
    cumulative_incidence,
    kaplan_meier,
    paired_logrank,
    proportion,
)

ended = st.lists(st.tuples(st.integers(1, 12), st.integers(0, 3)), min_size=1, max_size=40)


@given(ended)
def test_incidences_and_survival_make_one(episodes):
    times, causes = np.array(episodes).T
    result = cumulative_incidence(times, causes, 3, resamples=20)
    np.testing.assert_allclose(result.survival + result.incidence.sum(axis=0), 1)
    assert (np.diff(result.survival) <= 1e-12).all() and (np.diff(result.incidence) >= -1e-12).all()
    assert result.at_risk.tolist() == [(times >= t).sum() for t in result.time]
    for band in (result.survival_band, result.incidence_band):
        assert (band[0] < band[1]).all()


@given(ended)
def test_equal_to_statsmodels_and_scipy(episodes):
    times, causes = np.array(episodes).T
    result = cumulative_incidence(times, causes, 3, resamples=1)
    if (causes > 0).any():
        theirs = CumIncidenceRight(times, causes)
        at = np.searchsorted(result.time, theirs.times)
        for cause, curve in enumerate(theirs.cinc):
            np.testing.assert_allclose(result.incidence[cause, at], curve, atol=1e-12)
        km = SurvfuncRight(times, causes > 0)
        at = np.searchsorted(result.time, km.surv_times)
        np.testing.assert_allclose(result.survival[at], km.surv_prob, atol=1e-12)
        np.testing.assert_array_equal(result.at_risk[at], km.n_risk)
    data = CensoredData(uncensored=times[causes > 0], right=times[causes == 0])
    np.testing.assert_allclose(result.survival, ecdf(data).sf.evaluate(result.time), atol=1e-12)


def test_known_values():
    result = cumulative_incidence([1, 2, 2, 3], [1, 2, 0, 1], 2, resamples=50)
    assert result.time.tolist() == [1, 2, 3]
    assert result.survival == pytest.approx([3 / 4, 1 / 2, 0])
    assert result.incidence == pytest.approx(np.array([[1 / 4, 1 / 4, 3 / 4], [0, 1 / 4, 1 / 4]]))
    assert result.n == 4


def test_band_narrows_with_episodes_and_widens_with_clusters(rng):
    times, causes = rng.integers(1, 10, 300), rng.integers(0, 3, 300)

    def width(*arrays):
        return np.ptp(cumulative_incidence(*arrays, resamples=300).incidence_band, axis=0)[:, 4]

    many = width(times, causes, 2)
    assert (width(times[:30], causes[:30], 2) > 2 * many).all()
    copies = np.repeat(np.arange(30), 10)
    assert (width(np.repeat(times[:30], 10), np.repeat(causes[:30], 10), 2, copies) > 2 * many).all()


def test_a_cause_that_never_came_is_bounded_by_wilson():
    result = cumulative_incidence(np.ones(100), np.ones(100), 2, resamples=50)
    wilson = proportion(0, 100)
    assert result.incidence_band[:, 1, 0].tolist() == [wilson.low, wilson.high]
    assert result.survival_band[:, 0].tolist() == [wilson.low, wilson.high]


def test_kaplan_meier_with_everything_censored():
    result = kaplan_meier(np.array([3, 5]), np.array([False, False]), resamples=20)
    assert result.survival.tolist() == [1, 1]
    assert (result.survival_band[0] < 1).all()


@pytest.mark.parametrize(
    ("times", "causes", "clusters"), [([], [], None), ([1], [3], None), ([1], [1], [0, 1])]
)
def test_bad_input_is_refused(times, causes, clusters):
    with pytest.raises(ValueError, match="causes"):
        cumulative_incidence(times, causes, 2, clusters)


def test_paired_logrank_sees_what_pairing_shows(rng):
    base = rng.integers(1, 30, 60)
    certain = np.ones(60, bool)
    assert paired_logrank(base, certain, base, certain) == 1.0
    assert paired_logrank(base, certain, base + 3, certain, resamples=999) < 0.01
    independent = rng.permutation(base)
    assert paired_logrank(base, certain, independent, certain, resamples=999) > 0.05
    with pytest.raises(ValueError, match="one length"):
        paired_logrank(base, certain, base[:5], certain[:5])


def test_paired_logrank_keeps_its_level(rng):
    p = []
    for trial in range(100):
        base = rng.integers(1, 20, 25)
        a, b = base + rng.integers(0, 5, 25), base + rng.integers(0, 5, 25)
        p.append(paired_logrank(a, a < 18, b, b < 18, resamples=199, seed=trial))
    assert np.mean(np.array(p) < 0.05) <= 0.13
