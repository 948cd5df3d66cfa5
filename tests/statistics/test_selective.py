"""Risk-coverage and calibration."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnistpro_replay.analysis.statistics import calibration, risk_coverage

answered = st.lists(st.tuples(st.sampled_from([0.1, 0.4, 0.5, 0.9]), st.booleans()), min_size=1, max_size=40)


def test_known_values():
    result = risk_coverage(np.array([0.9, 0.8, 0.7, 0.6]), np.array([1, 0, 1, 1]))
    assert result.risk == pytest.approx([0, 1 / 2, 1 / 3, 1 / 4])
    assert result.aurc == pytest.approx((1 / 2 + 1 / 3 + 1 / 4) / 4)
    assert result.e_aurc == pytest.approx(result.aurc - (1 / 4) / 4)
    assert result.augrc == pytest.approx((1 / 2 + 1 + 1) / 16)
    assert result.auroc == pytest.approx(1 / 3)
    assert (result.accuracy.estimate, result.n) == (0.75, 4)


@given(st.permutations(list(range(30))), st.lists(st.booleans(), min_size=30, max_size=30))
def test_augrc_identity_without_ties(order, correct):
    result = risk_coverage(np.array(order) / 30, np.array(correct))
    acc = result.accuracy.estimate
    if result.auroc is not None:
        assert result.augrc == pytest.approx((1 - result.auroc) * acc * (1 - acc) + (1 - acc) ** 2 / 2)
    assert result.e_aurc >= -1e-12


@given(answered)
def test_identity_holds_with_ties_too_and_order_is_irrelevant(episodes):
    confidence, correct = (np.array(column) for column in zip(*episodes, strict=True))
    result = risk_coverage(confidence, correct)
    acc = result.accuracy.estimate
    if result.auroc is not None:
        assert result.augrc == pytest.approx((1 - result.auroc) * acc * (1 - acc) + (1 - acc) ** 2 / 2)
    backwards = risk_coverage(confidence[::-1], correct[::-1])
    assert result.aurc == pytest.approx(backwards.aurc)
    assert calibration(confidence, correct).ece == pytest.approx(
        calibration(confidence[::-1], correct[::-1]).ece
    )


def test_ties_are_the_mean_of_their_orders():
    correct = np.array([1, 0, 0, 1])
    untied = np.array([0.9, 0.8, 0.7, 0.6])
    orders = [risk_coverage(untied, correct[list(order)]) for order in permutations(range(4))]
    tied = risk_coverage(np.full(4, 0.5), correct)
    assert tied.aurc == pytest.approx(np.mean([each.aurc for each in orders]))
    assert tied.augrc == pytest.approx(np.mean([each.augrc for each in orders]))
    assert tied.auroc == 0.5


def test_all_right_or_all_wrong_has_no_auroc():
    right, wrong = (risk_coverage(np.array([0.1, 0.2]), np.array([x, x])) for x in (True, False))
    assert (right.auroc, right.aurc, right.augrc) == (None, 0, 0)
    assert (wrong.auroc, wrong.aurc, wrong.e_aurc, wrong.augrc) == (None, 1, 0, 0.5)


def test_nothing_answered():
    result = risk_coverage(np.empty(0), np.empty(0))
    assert (result.aurc, result.augrc, result.auroc, result.accuracy.estimate, result.n) == (None,) * 4 + (0,)
    assert calibration(np.empty(0), np.empty(0)) == (None, None, [], 0)


def test_calibration_by_hand():
    result = calibration(np.array([0.2, 0.2, 0.8, 0.8]), np.array([0, 1, 1, 1]), n_bins=2)
    assert [(each.confidence, each.accuracy.estimate, each.accuracy.n) for each in result.bins] == [
        (pytest.approx(0.2), 0.5, 2),
        (pytest.approx(0.8), 1.0, 2),
    ]
    assert result.ece == pytest.approx(0.25)
    assert result.brier == pytest.approx((0.04 + 0.64 + 0.04 + 0.04) / 4)


def test_bins_have_equal_mass_and_ties_stay_together(rng):
    result = calibration(rng.random(100), rng.random(100) < 0.5, 5)
    assert [each.accuracy.n for each in result.bins] == [20] * 5
    tied = calibration(np.repeat([0.3, 0.9], [90, 10]), np.ones(100), 5)
    assert [each.accuracy.n for each in tied.bins] == [90, 10]


def test_perfect_calibration_has_small_error(rng):
    p = rng.random(20_000)
    assert calibration(p, rng.random(20_000) < p).ece < 0.01
    assert calibration(p**3, rng.random(20_000) < p).ece > 0.2


def test_lengths_and_gaps_are_refused():
    for confidence in ([0.5], [0.5, np.nan]):
        for function in (risk_coverage, calibration):
            with pytest.raises(ValueError, match="every episode"):
                function(np.array(confidence), np.array([1, 0]))
