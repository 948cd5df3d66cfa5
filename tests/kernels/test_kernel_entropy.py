"""Entropies of places and actions."""

from __future__ import annotations

from math import log, log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnistpro_replay.analysis.kernels.entropy import (
    Entropies,
    cells,
    entropies,
    entropy,
    transition_counts,
    transition_entropy,
)
from mnistpro_replay.schemas import DIRECTIONS, Geometry, walk


def of_walk(directions: list[str], start=(0, 0)) -> Entropies:
    return entropies(np.array(walk(Geometry(), start, directions)), directions, 64, 32, 224, 224)


def test_known_values():
    result = of_walk(["right", "left", "right"])
    assert (result.h_s, result.h_s_normalised) == (1.0, 0.5)
    assert result.h_s_mm == pytest.approx(1 + 1 / (2 * 4 * log(2)))
    share = 2 / 3
    h_a = -share * log2(share) - (1 - share) * log2(1 - share)
    assert result.h_a == pytest.approx(h_a)
    assert result.h_a_normalised == pytest.approx(h_a / 2)
    assert result.h_a_mm == pytest.approx(h_a + 1 / (2 * 3 * log(2)))


def test_the_whole_lattice_once_is_as_spread_out_as_can_be():
    windows = np.array([(x, y) for x in range(0, 161, 32) for y in range(0, 161, 32)])
    result = entropies(windows, None, 64, 32, 224, 224)
    assert result.h_s == pytest.approx(log2(36)) and result.h_s_normalised == pytest.approx(1)
    twice = entropies(np.concatenate([windows, windows]), None, 64, 32, 224, 224)
    assert twice.h_s_normalised == pytest.approx(1)


def test_cells_are_a_stride_wide_and_hold_the_centre():
    assert cells(np.array([[0, 31], [32, 33]]), 64, 32).tolist() == [[1, 1], [2, 2]]
    assert cells(np.array([[0, 3], [2, 4]]), 9, 5).tolist() == [[0, 1], [1, 1]]


def test_undefined():
    start = of_walk([])
    assert (start.h_s, start.h_s_mm, start.h_s_normalised) == (0.0, 0.0, None)
    assert start.reasons["h_s_normalised"] == "too_short"
    assert {start.reasons[name] for name in ("h_a", "h_a_mm", "h_a_normalised", "h_t", "h_t_mm")} == {
        "no_moves"
    }
    short = of_walk(["right"] * 8)
    assert (short.h_t, short.reasons) == (None, {"h_t": "too_short", "h_t_mm": "too_short"})
    assert of_walk(["right"] * 9).h_t == 0
    unknown = entropies(np.array([[0, 0], [32, 0]]), None, 64, 32, 224, 224)
    assert unknown.h_s == 1 and unknown.reasons["h_a"] == "not_recorded"
    empty = entropies(np.empty((0, 2), int), [], 64, 32, 224, 224)
    assert set(empty.reasons.values()) == {"no_glimpses"}
    pinned = entropies(np.array([[0, 0], [0, 0]]), None, 64, 32, 64, 64)
    assert (pinned.h_s, pinned.h_s_normalised) == (0, None)


def test_transition_entropy_pools_over_episodes():
    episodes = [["up", "down"] * 3, ["up", "left"], ["right"], []]
    counts = sum(transition_counts(directions) for directions in episodes)
    assert counts.sum() == 6 and counts[0].tolist() == [0, 3, 1, 0] and counts[1].tolist() == [2, 0, 0, 0]
    result = transition_entropy(counts)
    h_up = -(3 / 4) * log2(3 / 4) - (1 / 4) * log2(1 / 4)
    assert result.bits == pytest.approx(4 / 6 * h_up)
    assert result.bits_mm == pytest.approx(result.bits + (3 - 2) / (2 * 6 * log(2)))
    assert result.n == 6


def test_nothing_counted_has_no_entropy():
    assert entropy(np.zeros(3)) == transition_entropy(np.zeros((4, 4))) == (None, None, 0)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=12).filter(any))
def test_entropy_lies_between_certainty_and_uniformity(counts):
    result = entropy(np.array(counts))
    assert -1e-12 <= result.bits <= log2(sum(count > 0 for count in counts)) + 1e-12
    assert result.bits_mm >= result.bits
    assert result.n == sum(counts)


@given(st.lists(st.sampled_from(list(DIRECTIONS)), min_size=2, max_size=60))
def test_knowing_the_last_action_never_hurts(directions):
    counts = transition_counts(directions)
    assert transition_entropy(counts).bits <= entropy(counts.sum(axis=0)).bits + 1e-9
