"""Recurrence measures: golden values of docs/metrics.md 1.4, and identities."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnistpro_replay.analysis.kernels.recurrence import recurrence

GOLDEN = [
    ("ABABAB", 6, 40.00, 100, 0, 66.7, 53.3),
    ("ABCBA", 2, 20.00, 0, 0, 100, 75.0),
    ("ABCDEDCBA", 4, 11.11, 0, 0, 100, 62.5),
    ("AAAAA", 10, 100, 90, 90, 60, 50.0),
    ("ABCDABCD", 4, 14.29, 100, 0, 0, 57.1),
]


def places(letters: str) -> np.ndarray:
    return np.array([[100 * (ord(letter) - ord("A")), 0] for letter in letters]).reshape(-1, 2)


@pytest.mark.parametrize(("letters", "n", "rec", "det", "lam", "retr", "corm"), GOLDEN)
def test_golden(letters, n, rec, det, lam, retr, corm):
    result = recurrence(places(letters))
    assert result.n_recurrences == n
    percent = [100 * share for share in (result.rec, result.det, result.lam, result.retr, result.corm)]
    assert percent == pytest.approx([rec, det, lam, retr, corm], abs=0.05)
    assert result.reasons == {}


def test_no_recurrence_is_a_rate_of_0_and_nothing_else():
    result = recurrence(places("ABCDE"))
    assert (result.n_recurrences, result.rec) == (0, 0.0)
    assert (result.det, result.lam, result.corm, result.retr) == (None,) * 4
    assert result.reasons == dict.fromkeys(("det", "lam", "corm", "retr"), "never_reached")


@pytest.mark.parametrize(("letters", "reason"), [("A", "too_short"), ("", "no_glimpses")])
def test_too_short(letters, reason):
    result = recurrence(places(letters))
    assert set(result[:-1]) == {None} and set(result.reasons.values()) == {reason}


def test_radius_counts_the_larger_coordinate_and_its_edge():
    windows = np.array([[0, 0], [16, 16]])
    assert [recurrence(windows, radius).n_recurrences for radius in (0, 15.9, 16)] == [0, 0, 1]


@given(st.text("ABCD", min_size=2, max_size=30))
def test_walking_backwards_changes_nothing_but_the_lines_in_space(letters):
    there, back = recurrence(places(letters)), recurrence(places(letters[::-1]))
    assert there == back
    if there.n_recurrences:
        assert all(0 <= share <= 1 for share in (there.rec, there.det, there.lam, there.retr, there.corm))


@given(st.text("AB", min_size=2, max_size=20))
def test_lines_by_tracing_them(letters):
    """Points on lines of length two or more, found by walking along every line."""
    n = len(letters)
    recurs = {(i, j) for i in range(n) for j in range(i + 1, n) if letters[i] == letters[j]}

    def on_lines(di, dj):
        total = 0
        for i, j in recurs:
            length = 1
            for sign in (1, -1):
                k = sign
                while (i + k * di, j + k * dj) in recurs:
                    length, k = length + 1, k + sign
            total += length >= 2
        return total

    result = recurrence(places(letters))
    if recurs:
        assert result.det == on_lines(1, 1) / len(recurs)
        assert result.retr == on_lines(1, -1) / len(recurs)
        assert result.lam == (on_lines(0, 1) + on_lines(1, 0)) / (2 * len(recurs))
        assert result.corm == pytest.approx(sum(j - i for i, j in recurs) / ((n - 1) * len(recurs)))
