"""Coverage curves against pixel masks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnistpro_replay.analysis.kernels.coverage import (
    CanvasTables,
    canvas_tables,
    coverage_curve,
    coverage_curves,
    inset,
    shown,
)
from mnistpro_replay.schemas import DIRECTIONS, EVIDENCE_MODES, Geometry, walk


class Case(NamedTuple):
    geometry: Geometry
    canvases: np.ndarray
    canvas_of: list[int]
    paths: list[list[tuple[int, int]]]

    @property
    def tables(self) -> CanvasTables:
        return canvas_tables(self.canvases, self.geometry.n_panels)

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        windows = np.array([p for path in self.paths for p in path], int).reshape(-1, 2)
        return np.array(self.canvas_of), windows, np.cumsum([0] + [len(path) for path in self.paths])


@st.composite
def geometries(draw) -> Geometry:
    window = draw(st.integers(32, 128))
    return Geometry(
        window=window,
        stride=draw(st.integers(1, window)),
        panel=draw(st.sampled_from([40, 97, 224])),
        n_panels=draw(st.integers(1, 4)),
        draw_border=draw(st.booleans()),
    )


@st.composite
def cases(draw) -> Case:
    geometry = draw(geometries())
    n = draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    density = draw(st.sampled_from([0.0, 0.01, 0.5, 1.0]))
    canvases = np.where(rng.random((n, geometry.height, geometry.width)) < density, 0, 255).astype(np.uint8)
    x_max, y_max = geometry.limits
    corner = st.sampled_from([(0, 0), (x_max, 0), (0, y_max), (x_max, y_max)])
    start = st.tuples(st.integers(0, x_max), st.integers(0, y_max)) | corner
    walks = st.builds(
        walk, st.just(geometry), start, st.lists(st.sampled_from(list(DIRECTIONS)), max_size=25)
    )
    anywhere = st.tuples(st.integers(0, geometry.width - 1), st.integers(0, geometry.height - 1))
    paths = draw(st.lists(walks | st.lists(anywhere, max_size=8), min_size=1, max_size=4))
    return Case(geometry, canvases, [draw(st.integers(0, n - 1)) for _ in paths], paths)


@given(cases(), st.sampled_from(EVIDENCE_MODES))
def test_curves_equal_pixel_masks(case, evidence):
    g = case.geometry
    curves = coverage_curves(case.tables, *case.arrays, g.window, inset(evidence, g.draw_border))
    row = 0
    for n, path in zip(case.canvas_of, case.paths, strict=True):
        ink = (case.canvases[n] == 0).reshape(g.height, g.n_panels, g.panel)
        before = np.zeros(ink.shape, bool)
        for t in range(len(path)):
            seen = g.seen(path[: t + 1], evidence).reshape(ink.shape)
            with np.errstate(invalid="ignore"):
                panels = (ink & seen).sum((0, 2)) / ink.sum((0, 2))
                coverage = (ink & seen).sum() / ink.sum()
            np.testing.assert_array_equal(curves.coverage[row], coverage)
            np.testing.assert_array_equal(curves.panel_coverage[row], panels)
            np.testing.assert_array_equal(curves.new_ink[row], (ink & seen & ~before).sum((0, 2)))
            assert curves.area[row] == seen.mean()
            assert curves.new_area[row] == (seen & ~before).sum()
            before, row = seen, row + 1
    assert row == len(curves.coverage)


@given(cases())
def test_curves_rise_and_what_is_visible_is_in_the_window(case):
    g = case.geometry
    window, visible = (
        coverage_curves(case.tables, *case.arrays, g.window, inset(mode, g.draw_border))
        for mode in EVIDENCE_MODES
    )
    known = ~np.isnan(window.coverage)
    assert (visible.coverage[known] <= window.coverage[known]).all()
    assert (visible.area <= window.area).all()
    first = np.isin(np.arange(len(known)), case.arrays[2])
    for curve in (window.coverage, window.area, visible.coverage, visible.area):
        assert (np.diff(curve)[known[1:] & ~first[1:]] >= 0).all()
    if not g.draw_border:
        np.testing.assert_array_equal(visible.coverage, window.coverage)


@given(cases(), st.sampled_from(EVIDENCE_MODES))
def test_shown_counts_each_glimpse_anew(case, evidence):
    g = case.geometry
    result = shown(case.tables, *case.arrays, g.window, inset(evidence, g.draw_border))
    owner = np.repeat(case.canvas_of, [len(path) for path in case.paths])
    for row, (n, position) in enumerate(zip(owner, case.arrays[1].tolist(), strict=True)):
        mask = g.seen([position], evidence)
        ink = (mask & (case.canvases[n] == 0)).reshape(g.height, g.n_panels, g.panel).sum((0, 2))
        assert result.ink[row].tolist() == ink.tolist()
        assert result.area[row] == mask.sum()


def test_batch_equals_one_at_a_time(rng):
    canvases = np.where(rng.random((2, 50, 100)) < 0.3, 0, 255).astype(np.uint8)
    paths = [rng.integers(0, 40, (n, 2)) for n in (3, 0, 7, 1)]
    canvas_of = np.array([1, 0, 0, 1])
    batch = coverage_curves(
        canvas_tables(canvases, 2), canvas_of, np.concatenate(paths), np.array([0, 3, 3, 10, 11]), 12
    )
    single = [coverage_curve(canvases[n], path, 12, 2) for n, path in zip(canvas_of, paths, strict=True)]
    for name in batch._fields:
        np.testing.assert_array_equal(
            getattr(batch, name), np.concatenate([getattr(s, name) for s in single])
        )


@pytest.mark.parametrize("panel", [255, 256, 257])
def test_canvases_with_more_ink_than_a_small_integer_counts(panel):
    canvas = np.zeros((panel, 3 * panel), np.uint8)
    tables = canvas_tables(canvas[None], 3)
    assert tables.ink.tolist() == [[panel**2] * 3]
    everything = np.array([[k * panel, 0] for k in range(3)])
    curves = coverage_curve(canvas, everything, panel, 3)
    assert curves.coverage == pytest.approx([1 / 3, 2 / 3, 1])
    assert curves.new_ink.sum() == 3 * panel**2
    seen = shown(tables, np.zeros(1), everything[:1], np.array([0, 1]), 3 * panel)
    assert seen.ink.tolist() == [[panel**2] * 3] and seen.area.tolist() == [3 * panel**2]


def test_no_strokes_is_nan_and_area_is_known():
    blank = np.full((64, 64), 255, np.uint8)
    curves = coverage_curve(blank, np.array([[0, 0], [16, 0]]), 32)
    assert np.isnan(curves.coverage).all() and np.isnan(curves.panel_coverage).all()
    assert curves.area.tolist() == [0.25, 0.375]


def test_no_episodes_give_empty_curves():
    empty = coverage_curves(
        canvas_tables(np.full((1, 8, 8), 255, np.uint8)),
        np.empty(0, int),
        np.empty((0, 2), int),
        np.zeros(1),
        4,
    )
    assert [len(column) for column in empty] == [0] * 5


@pytest.mark.parametrize(
    ("canvas_of", "windows", "offsets", "message"),
    [
        ([0], [[0, 0]], [0, 2], "offsets"),
        ([0], [[0, 0]], [1, 1], "offsets"),
        ([0, 0], [[0, 0]], [0, 1], "offsets"),
        ([0, 0, 0], [[0, 0]], [0, 1, 0, 1], "decrease"),
        ([1], [[0, 0]], [0, 1], "canvas_of"),
        ([-1], [[0, 0]], [0, 1], "canvas_of"),
        ([0], [[-1, 0]], [0, 1], "outside"),
        ([0], [[0, 20]], [0, 1], "outside"),
        ([0], [[40, 0]], [0, 1], "outside"),
        ([0], [0, 0], [0, 1], "shape"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(canvas_of, windows, offsets, message):
    tables = canvas_tables(np.zeros((1, 20, 40), np.uint8), 2)
    for kernel in (coverage_curves, shown):
        with pytest.raises(ValueError, match=message):
            kernel(tables, np.array(canvas_of), np.array(windows), np.array(offsets), 8)


@pytest.mark.parametrize("shape", [(20, 40), (1, 20, 41)])
def test_canvases_of_the_wrong_shape_are_refused(shape):
    with pytest.raises(ValueError, match="panels"):
        canvas_tables(np.zeros(shape, np.uint8), 2)


def test_inset_is_what_the_geometry_leaves_out():
    for evidence in EVIDENCE_MODES:
        for border in (True, False):
            before, after = inset(evidence, border)
            box = Geometry(draw_border=border).box((50, 60), evidence)
            assert box == (50 + before, 60 + before, 114 - after, 124 - after)
