"""Information gain and self-localisation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnistpro_replay.analysis.kernels.information import information
from mnistpro_replay.analysis.kernels.localisation import (
    claimed_new_but_seen,
    drift_from_commands,
    drift_from_truth,
)
from mnistpro_replay.analysis.kernels.path import Shape
from mnistpro_replay.analysis.kernels.undefined import undefined
from mnistpro_replay.schemas import Geometry, walk


def test_known_values():
    result = information(np.array([[0.25] * 4, [0.5, 0.5, 0, 0], [1, 0, 0, 0]]))
    assert result.entropy.tolist() == [2, 1, 0]
    assert result.ig.tolist() == [1, 1]
    assert result.surprise == pytest.approx([1, 1])
    assert result.entropy_auc == 1.0


def test_revived_class_surprises_by_a_finite_amount():
    surprise = information(np.array([[1.0, 0.0], [0.0, 1.0]])).surprise
    assert surprise == pytest.approx([-np.log2(1e-12)])


def test_no_moves_or_glimpses():
    assert information(np.array([[0.5, 0.5]])).reasons == {"entropy_auc": "no_moves"}
    empty = information(np.empty((0, 10)))
    assert (empty.entropy_auc, empty.reasons) == (None, {"entropy_auc": "no_glimpses"})
    assert len(empty.ig) == len(empty.surprise) == 0


@given(st.integers(0, 2**32 - 1), st.integers(1, 30))
def test_gains_telescope_and_surprise_is_not_negative(seed, n):
    q = np.random.default_rng(seed).dirichlet(np.full(10, 0.2), size=n)
    result = information(q)
    assert result.ig.sum() == pytest.approx(result.entropy[0] - result.entropy[-1], abs=1e-9)
    assert (result.surprise >= -1e-9).all()
    assert ((result.entropy >= -1e-12) & (result.entropy <= np.log2(10) + 1e-12)).all()


DIRECTIONS = ["left", "left", "up"]
WINDOWS = np.array(walk(Geometry(), (40, 80), DIRECTIONS))


def test_blocked_moves_part_the_two_errors():
    told = np.array([[0, 0], [-1, 0], [-2, 0], [-2, -1]], float)
    by_command, by_truth = drift_from_commands(told, DIRECTIONS), drift_from_truth(told, WINDOWS, 32)
    assert by_command.errors.tolist() == [0, 0, 0, 0]
    assert (by_command.mean, by_command.first_error, by_command.slope) == (0, None, 0)
    assert by_command.reasons == {"first_error": "never_reached"}
    assert by_truth.errors.tolist() == [0, 0, 0.75, 0.75]
    assert (by_truth.mean, by_truth.first_error) == (0.375, 2)
    assert by_truth.slope == pytest.approx(0.3)


def test_an_agent_that_noticed_the_edge():
    told = np.array([[0, 0], [-1, 0], [-1.25, 0], [-1.25, -1]])
    assert drift_from_truth(told, WINDOWS, 32).mean == 0
    assert drift_from_commands(told, DIRECTIONS).first_error == 2


def test_gaps_in_what_was_stated():
    told = np.array([[0, 0], [np.nan, np.nan], [1, 0], [np.nan, 3]])
    result = drift_from_commands(told, DIRECTIONS)
    assert np.isnan(result.errors).tolist() == [False, True, False, True]
    assert (result.mean, result.first_error, result.slope) == (1.5, 2, pytest.approx(1.5))
    once = drift_from_commands(np.array([[0, 0]] + [[np.nan] * 2] * 3), DIRECTIONS)
    assert (once.mean, once.slope) == (0, None) and once.reasons["slope"] == "too_short"


def test_coordinates_that_do_not_exist_or_fit():
    for result in (
        drift_from_commands(None, DIRECTIONS),
        drift_from_commands(np.zeros((4, 2)), None),
        drift_from_truth(None, WINDOWS, 32),
        drift_from_truth(np.full((4, 2), np.nan), WINDOWS, 32),
    ):
        assert result.mean is None and set(result.reasons.values()) == {"not_recorded"}
    assert drift_from_truth(np.empty((0, 2)), WINDOWS[:0], 32).reasons["mean"] == "no_glimpses"
    with pytest.raises(ValueError, match="3 coordinates for 4 glimpses"):
        drift_from_commands(np.zeros((3, 2)), DIRECTIONS)


def test_claims_of_new_regions():
    near, redundant = np.array([0, 1, 0, 0], bool), np.array([0, 0, 1, 0], bool)
    result = claimed_new_but_seen(np.array([1, 1, 1, 0], bool), near, redundant)
    assert result == (3, 2, pytest.approx(2 / 3), {})
    none = claimed_new_but_seen(np.zeros(4, bool), near, redundant)
    assert (none.n_claims, none.claimed_new_but_seen) == (0, None)
    assert none.reasons == {"claimed_new_but_seen": "never_reached"}
    assert set(claimed_new_but_seen(None, near, redundant).reasons.values()) == {"not_recorded"}


def test_reasons_come_from_the_closed_list():
    with pytest.raises(KeyError):
        undefined(Shape, "because")
