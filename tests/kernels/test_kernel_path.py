"""Revisits, edge waste, turns and shape of single paths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnistpro_replay.analysis.kernels.coverage import coverage_curve
from mnistpro_replay.analysis.kernels.path import (
    KINDS,
    edge_waste,
    glimpse_kinds,
    revisits,
    shape,
    turns,
    without_noops,
)
from mnistpro_replay.schemas import DIRECTIONS, Geometry, walk

LETTERS = {name[0]: name for name in DIRECTIONS}
PUBLISHED = Geometry()


def path(letters: str, start=(80, 80), geometry=PUBLISHED) -> tuple[np.ndarray, list[str]]:
    directions = [LETTERS[letter] for letter in letters]
    return np.array(walk(geometry, start, directions)), directions


def kinds(windows: np.ndarray, geometry=PUBLISHED):
    blank = np.full((geometry.height, geometry.width), 255, np.uint8)
    return glimpse_kinds(windows, geometry.stride, coverage_curve(blank, windows, geometry.window).new_area)


walks = st.builds(
    path,
    st.text("udlr", max_size=40),
    st.tuples(st.integers(0, 160), st.integers(0, 160)),
    st.builds(Geometry, stride=st.sampled_from([32, 31, 7, 64])),
)


@given(walks)
def test_three_kinds_of_revisit_are_all_there_are(walked):
    windows, _ = walked
    result = revisits(kinds(windows))
    n, unique = len(windows), len(np.unique(windows, axis=0))
    assert result.n_revisits == result.n_noop + result.n_backtrack + result.n_loop == n - unique
    if n > 1:
        assert result.revisit_rate_obs == pytest.approx(result.revisit_rate_moves * (n - 1) / n)
        assert result.near_revisit_rate >= result.revisit_rate_moves
        assert result.redundant_glimpse_rate >= result.revisit_rate_moves


@pytest.mark.parametrize(
    ("letters", "expected"),
    [
        ("", ["new"]),
        ("ud", ["new", "new", "backtrack"]),
        ("urdl", ["new", "new", "new", "new", "loop"]),
        ("uuuu", ["new", "new", "new", "new", "noop"]),
        ("uuuud", ["new", "new", "new", "new", "noop", "new"]),
        ("uduu", ["new", "new", "backtrack", "backtrack", "new"]),
        ("rrrlr", ["new", "new", "new", "new", "new", "backtrack"]),
    ],
)
def test_kinds(letters, expected):
    windows, _ = path(letters)
    assert [KINDS[k] for k in kinds(windows).kind] == expected


def test_backtrack_looks_past_blocked_moves():
    windows, _ = path("lrrl", start=(0, 0))
    assert windows.tolist() == [[0, 0], [0, 0], [32, 0], [64, 0], [32, 0]]
    assert [KINDS[k] for k in kinds(windows).kind] == ["new", "noop", "new", "new", "backtrack"]
    windows, _ = path("rul", start=(0, 0))
    assert windows.tolist() == [[0, 0], [32, 0], [32, 0], [0, 0]]
    assert [KINDS[k] for k in kinds(windows).kind] == ["new", "new", "noop", "backtrack"]


def test_lag_is_from_the_latest_visit():
    windows, _ = path("udud")
    result = kinds(windows)
    assert result.lag.tolist() == [0, 0, 2, 2, 2]
    assert revisits(result).revisit_lag_median == 2


def test_near_revisit_leaves_out_the_glimpse_before_a_partial_clip():
    windows, _ = path("l", start=(10, 80))
    assert windows.tolist() == [[10, 80], [0, 80]]
    assert kinds(windows).near.tolist() == [False, False]
    windows, _ = path("lr", start=(10, 80))
    assert kinds(windows).near.tolist() == [False, False, False]
    windows, _ = path("rll", start=(10, 80))
    assert windows[-1].tolist() == [0, 80]
    assert kinds(windows).near.tolist() == [False, False, True, True]
    assert kinds(windows).kind.tolist() == [0, 0, 2, 0]


def test_near_is_strictly_less_than_half_a_stride():
    for distance, near in ((15, True), (16, False)):
        windows = np.array([[0, 0], [100, 100], [distance, 0]])
        assert kinds(windows).near[2] == near


def test_redundant_glimpse_may_be_at_a_new_position():
    windows = np.array([[0, 0], [32, 0], [16, 0]])
    assert kinds(windows).redundant.tolist() == [False, False, True]
    assert kinds(windows).kind[2] == 0


def test_revisits_without_moves_or_glimpses():
    still = revisits(kinds(np.array([[5, 5]])))
    assert (still.n_revisits, still.revisit_rate_obs, still.revisit_rate_moves) == (0, 0.0, None)
    assert set(still.reasons.values()) == {"no_moves"}
    none = revisits(kinds(np.empty((0, 2), int)))
    assert none.n_revisits is None and set(none.reasons.values()) == {"no_glimpses"}
    fresh = revisits(kinds(path("ur")[0]))
    assert (fresh.revisit_lag_median, fresh.reasons) == (None, {"revisit_lag_median": "never_reached"})


def test_edge_waste():
    windows, directions = path("lllldul", start=(40, 80))
    assert windows[:, 0].tolist() == [40, 8, 0, 0, 0, 0, 0, 0]
    result = edge_waste(windows, directions, 32)
    assert result.blocked_rate == 3 / 7
    assert result.partial_clip_rate == 1 / 7
    assert (result.phase_shifted_x, result.phase_shifted_y) == (True, False)
    assert result.repeat_blocked_max == 2
    assert result.reasons == {}


def test_blocked_moves_in_two_directions_are_two_runs():
    assert edge_waste(*path("llu", start=(0, 0)), 32).repeat_blocked_max == 2
    assert edge_waste(*path("lulu", start=(0, 0)), 32).repeat_blocked_max == 1
    assert edge_waste(*path("rd", start=(0, 0)), 32).repeat_blocked_max == 0


def test_edge_waste_without_directions_or_moves():
    windows, directions = path("ll")
    unknown = edge_waste(windows, None, 32)
    assert unknown.reasons == {"repeat_blocked_max": "not_recorded"} and unknown.blocked_rate == 0
    assert set(edge_waste(windows[:1], [], 32).reasons.values()) == {"no_moves"}
    with pytest.raises(ValueError, match="3 glimpses need 2 directions, not 1"):
        edge_waste(windows, directions[:1], 32)


@pytest.mark.parametrize(
    ("letters", "reversals", "turned", "runs"),
    [("ud", 1, 0, 2), ("ur", 0, 1, 2), ("uu", 0, 0, 1), ("urdl", 0, 3, 4), ("uudl", 1, 1, 3)],
)
def test_turns(letters, reversals, turned, runs):
    result = turns(*path(letters))
    pairs = len(letters) - 1
    assert (result.n_pairs, result.n_reversals, result.n_turns) == (pairs, reversals, turned)
    assert result.reversal_rate == reversals / pairs
    assert result.turn_rate == turned / pairs
    assert result.straight_run_mean == len(letters) / runs
    assert result.reversal_rate_raw == reversals / pairs


def test_blocked_moves_are_no_turns_but_count_raw():
    result = turns(*path("lrl", start=(0, 0)))
    assert (result.n_pairs, result.reversal_rate, result.reversal_rate_raw) == (1, 1.0, 1.0)
    result = turns(*path("rur", start=(0, 0)))
    assert (result.n_pairs, result.reversal_rate, result.reversal_rate_raw) == (1, 0.0, 0.0)
    assert (result.turn_rate, result.straight_run_mean) == (0.0, 2.0)


@pytest.mark.parametrize(
    ("letters", "reason"), [("", "no_moves"), ("l", "no_effective_moves"), ("llr", "too_short")]
)
def test_turns_undefined(letters, reason):
    result = turns(*path(letters, start=(0, 0)))
    assert result.reversal_rate is None and result.reasons["reversal_rate"] == reason
    assert (result.reversal_rate_raw is None) == (len(letters) < 2)
    assert ("reversal_rate_raw" in result.reasons) == (len(letters) < 2)


def test_turns_without_directions():
    result = turns(path("urd")[0], None)
    assert (result.turn_rate, result.reversal_rate_raw) == (1.0, None)
    assert result.reasons == {"reversal_rate_raw": "not_recorded"}


def test_shape():
    straight, bent, back = (shape(path(letters)[0]) for letters in ("uu", "ur", "ud"))
    assert (straight.straightness, straight.straightness_l2) == (1.0, 1.0)
    assert bent.straightness == 1.0 and bent.straightness_l2 == pytest.approx(0.5**0.5)
    assert (back.straightness, back.net_displacement, back.gross_displacement) == (0.0, 0.0, 64.0)
    assert straight.radius_of_gyration == pytest.approx(32 * (2 / 3) ** 0.5)


def test_shape_undefined():
    for letters, reason in (("", "no_moves"), ("l", "no_effective_moves")):
        result = shape(path(letters, start=(0, 0))[0])
        assert result.reasons == {"straightness": reason, "straightness_l2": reason}
        assert (result.radius_of_gyration, result.net_displacement) == (0.0, 0.0)


@given(walks)
def test_without_noops_moves_every_time(walked):
    kept = without_noops(walked[0])
    assert (np.diff(kept, axis=0) != 0).any(axis=1).all()
    assert kept[0].tolist() == walked[0][0].tolist() and kept[-1].tolist() == walked[0][-1].tolist()
