"""Acquisition efficiency and its reference paths."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnistpro_replay.analysis.kernels.acquisition import (
    acquisition,
    greedy_path,
    held,
    steps_to,
    sweep_path,
)
from mnistpro_replay.analysis.kernels.coverage import canvas_tables, coverage_curve, inset, shown
from mnistpro_replay.schemas import DIRECTIONS, Geometry, walk


def curves_of(canvas: np.ndarray, path, window=64):
    path = np.array(path)
    arrays = canvas_tables(canvas[None]), np.zeros(1), path, np.array([0, len(path)]), window
    return coverage_curve(canvas, path, window), shown(*arrays)


def ink(*spots: tuple[int, int], size=224) -> np.ndarray:
    canvas = np.full((size, size), 255, np.uint8)
    for x, y in spots:
        canvas[y, x] = 0
    return canvas


def test_known_values():
    canvas = ink((0, 0), (80, 0), (100, 0), (200, 0))
    curves, seen = curves_of(canvas, [(0, 0), (32, 0), (64, 0)])
    assert curves.coverage.tolist() == [0.25, 0.5, 0.75]
    result = acquisition(curves, seen, t_max=5, greedy=np.array([0.25, 0.75, 1.0]))
    assert result.auc_coverage == 0.5
    assert result.auc_budget == pytest.approx((0.375 + 0.625 + 0.75 + 0.75) / 4)
    assert result.new_ink_per_move == 1.0
    assert result.redundancy == pytest.approx(1 - 128 / 192)
    assert result.coverage_vs_greedy == pytest.approx(0.5 / ((0.5 + 0.875) / 2))
    assert result.reasons == {}


def test_greedy_is_compared_over_as_many_moves():
    canvas = ink((0, 0), (80, 0))
    curves, seen = curves_of(canvas, [(0, 0), (32, 0), (32, 0), (32, 0)])
    assert acquisition(curves, seen, 36, greedy=curves.coverage[:2]).coverage_vs_greedy == 1.0
    short, seen = curves_of(canvas, [(0, 0), (32, 0)])
    assert acquisition(short, seen, 36, greedy=curves.coverage).coverage_vs_greedy == 1.0


def test_undefined():
    canvas = ink((0, 0), (80, 0))
    still = acquisition(*curves_of(canvas, [(0, 0)]), t_max=36)
    assert (still.auc_coverage, still.auc_budget, still.redundancy) == (None, 0.5, 0.0)
    assert set(still.reasons.values()) == {"no_moves"} and "auc_budget" not in still.reasons
    blank = acquisition(*curves_of(ink(), [(0, 0), (32, 0)]), t_max=36)
    assert (blank.auc_coverage, blank.auc_budget, blank.redundancy) == (None, None, 0.25)
    assert set(blank.reasons.values()) == {"no_strokes"}
    curves, seen = curves_of(canvas, np.empty((0, 2), int))
    assert set(acquisition(curves, seen, 36).reasons.values()) == {"no_glimpses"}
    alone = acquisition(*curves_of(canvas, [(0, 0), (32, 0)]), t_max=36)
    assert (alone.coverage_vs_greedy, alone.reasons) == (None, {"coverage_vs_greedy": "not_recorded"})


def test_steps_to_is_censored_where_never_reached():
    curve = np.array([0.2, 0.5, 0.5, 0.9])
    assert [steps_to(curve, q) for q in (0.2, 0.5, 0.9, 0.95)] == [0, 1, 3, None]
    assert steps_to(np.array([np.nan]), 0.5) is None


def test_held_cuts_or_extends():
    assert held(np.array([0.1, 0.4]), 3).tolist() == [0.1, 0.4, 0.4, 0.4]
    assert held(np.array([0.1, 0.4, 0.8]), 1).tolist() == [0.1, 0.4]
    assert held(np.array([0.3]), 0).tolist() == [0.3]


geometries = st.builds(
    Geometry,
    window=st.integers(16, 80),
    stride=st.integers(5, 40),
    panel=st.sampled_from([64, 90]),
    n_panels=st.integers(1, 3),
).filter(lambda g: g.stride <= g.window)
seeds = st.integers(0, 2**32 - 1)


def start_of(geometry: Geometry, rng: np.random.Generator) -> tuple[int, int]:
    x, y = geometry.limits
    return int(rng.integers(x + 1)), int(rng.integers(y + 1))


def legal(geometry: Geometry, path: np.ndarray) -> bool:
    """Whether every step of the path is a move that changes the position."""
    here = [tuple(p) for p in path.tolist()]
    return all(to != at and to in {geometry.move(at, d)[0] for d in DIRECTIONS} for at, to in pairwise(here))


@given(geometries, seeds)
def test_sweep_shows_everything_by_legal_moves(geometry, seed):
    start = start_of(geometry, np.random.default_rng(seed))
    path = sweep_path(start, geometry.window, geometry.stride, geometry.panel, geometry.n_panels)
    assert tuple(path[0]) == start and legal(geometry, path)
    assert geometry.seen(map(tuple, path.tolist())).all()


@pytest.mark.parametrize(("n_panels", "most"), [(1, 31), (2, 56)])
def test_sweep_of_the_published_canvases_fits_the_budget(n_panels, most):
    x_max, y_max = Geometry(n_panels=n_panels).limits
    starts = [(x, y) for x in range(0, x_max + 1, 5) for y in range(0, y_max + 1, 5)]
    assert max(len(sweep_path(start, 64, 32, 224, n_panels)) - 1 for start in starts) == most


@given(geometries, seeds, st.sampled_from(["window", "visible_exact"]))
def test_greedy_takes_the_most_new_ink_and_sees_all_it_can(geometry, seed, evidence):
    rng = np.random.default_rng(seed)
    canvas = np.where(rng.random((geometry.height, geometry.width)) < 0.005, 0, 255).astype(np.uint8)
    start, unseen = start_of(geometry, rng), canvas == 0
    path = greedy_path(canvas, start, geometry.window, geometry.stride, inset(evidence))
    positions = [tuple(p) for p in path.tolist()]
    assert positions[0] == start and legal(geometry, path)
    for at, to in pairwise(positions):
        unseen = unseen & ~geometry.seen([at], evidence)
        options = {geometry.move(at, d)[0] for d in DIRECTIONS} - {at}
        gains = {p: (unseen & geometry.seen([p], evidence)).sum() for p in options}
        assert gains[to] == max(gains.values())
    unseen = unseen & ~geometry.seen(positions, evidence)
    everywhere = reachable(geometry, positions[-1])
    assert not (unseen & geometry.seen(everywhere, evidence)).any()


def reachable(geometry: Geometry, start: tuple[int, int]) -> set[tuple[int, int]]:
    found, queue = {start}, [start]
    for at in queue:
        for to in {geometry.move(at, d)[0] for d in DIRECTIONS} - found:
            found.add(to)
            queue.append(to)
    return found


def test_greedy_breaks_ties_towards_the_nearest_unseen_ink():
    assert greedy_path(ink((10, 10), (200, 10)), (0, 0), 64, 32).tolist() == [[32 * i, 0] for i in range(6)]
    detour = greedy_path(ink((100, 100), (100, 215)), (80, 80), 64, 32)
    assert detour.tolist() == [[80, 80], [80, 112], [80, 144], [80, 160]]


def test_greedy_breaks_ties_between_moves_that_show_ink():
    path = greedy_path(ink((100, 60), (100, 150), (100, 190)), (80, 80), 64, 32)
    assert path[:, 1].tolist() == [80, 112, 144, 112, 80, 48]
    mirrored = greedy_path(ink((100, 163), (100, 73), (100, 33)), (80, 80), 64, 32)
    assert mirrored[:, 1].tolist() == [80, 48, 16, 48, 80, 112]


def test_greedy_ends_at_once_when_all_is_seen_or_nothing_is_there():
    for canvas in (ink(), ink((10, 10))):
        assert greedy_path(canvas, (0, 0), 64, 32).tolist() == [[0, 0]]


@pytest.mark.parametrize("start", [(-1, 0), (0, 161), (224, 224)])
def test_greedy_refuses_a_start_off_the_canvas(start):
    with pytest.raises(ValueError, match="no window of 64 px starts at"):
        greedy_path(ink((10, 10)), start, 64, 32)


def test_ink_that_no_window_can_show_does_not_keep_greedy_going():
    corner = ink((0, 0), (70, 70))
    path = greedy_path(corner, (0, 0), 64, 32, inset("visible_exact"))
    assert coverage_curve(corner, path, 64, inset=inset("visible_exact")).coverage[-1] == 0.5
    assert len(path) == 3


@given(seeds)
def test_no_walk_of_one_move_beats_greedy(seed):
    rng = np.random.default_rng(seed)
    canvas = np.where(rng.random((224, 224)) < 0.01, 0, 255).astype(np.uint8)
    start = start_of(Geometry(), rng)
    greedy = coverage_curve(canvas, greedy_path(canvas, start, 64, 32), 64).coverage
    for direction in DIRECTIONS:
        curves, seen = curves_of(canvas, walk(Geometry(), start, [direction]))
        assert acquisition(curves, seen, 36, greedy).coverage_vs_greedy <= 1
