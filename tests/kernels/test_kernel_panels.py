"""How episodes move between panels."""

from __future__ import annotations

import numpy as np
import pytest

from mnistpro_replay.analysis.kernels.coverage import canvas_tables, coverage_curve, shown
from mnistpro_replay.analysis.kernels.panels import panel_process


def canvas(*spots: tuple[int, int, int, int], n_panels=2) -> np.ndarray:
    pixels = np.full((224, 224 * n_panels), 255, np.uint8)
    for x, y, width, height in spots:
        pixels[y : y + height, x : x + width] = 0
    return pixels


def process(pixels: np.ndarray, windows: list[tuple[int, int]]):
    n_panels = pixels.shape[1] // 224
    tables, path = canvas_tables(pixels[None], n_panels), np.array(windows)
    ink = shown(tables, np.zeros(1), path, np.array([0, len(path)]), 64).ink
    return panel_process(
        path, 64, 224, n_panels, ink, coverage_curve(pixels, path, 64, n_panels).panel_coverage
    )


TWO = canvas((50, 100, 20, 10), (300, 100, 10, 10))


def test_entry_dwell_and_order():
    result = process(TWO, [(32, 80), (64, 80), (128, 80), (192, 80), (256, 80), (256, 80)])
    assert result.first_entry_ink == (0, 4)
    assert result.first_entry_area == (0, 3)
    assert result.ink_dwell_share == pytest.approx((260 / 460, 200 / 460))
    assert result.panel_order == (0, 1)
    assert (result.first_panel, result.second_entry, result.c_first_at_entry) == (0, 4, 1.0)
    assert (result.min_coverage, result.missed_panel) == (1.0, False)
    assert result.reasons == {}


def test_coverage_at_entry_includes_the_glimpse_of_entry():
    both = canvas((200, 0, 24, 100), (224, 0, 24, 100))
    result = process(both, [(150, 0), (192, 36)])
    assert result.first_panel == 0
    assert result.second_entry == 1
    assert result.c_first_at_entry == pytest.approx((14 * 64 + 24 * 36 + 10 * 28) / 2400)


@pytest.mark.parametrize(
    ("xs", "crossings"),
    [
        ([160, 192, 224], 1),
        ([160, 192, 160], 0),
        ([192, 224], 0),
        ([160, 224, 160, 224], 3),
        ([160, 192, 192, 224, 192, 160], 2),
        ([192], 0),
    ],
)
def test_a_centre_on_the_seam_keeps_its_side(xs, crossings):
    assert process(TWO, [(x, 0) for x in xs]).n_crossings == crossings


def test_odd_windows_have_their_centre_between_pixels():
    assert panel_process(np.array([[189, 0], [194, 0]]), 65, 224, 2).n_crossings == 1
    assert panel_process(np.array([[189, 0], [191, 0]]), 65, 224, 2).n_crossings == 0


def test_the_panel_with_more_ink_is_first_whatever_is_under_the_centre():
    pixels = canvas((220, 0, 4, 10), (224, 0, 4, 20))
    assert process(pixels, [(170, 0)]).first_panel == 1
    tie = canvas((220, 0, 4, 10), (224, 0, 4, 10))
    assert process(tie, [(170, 0)]).first_panel == 0
    assert process(tie, [(200, 0)]).first_panel == 1
    assert process(tie, [(200, 0)]).panel_order == (1, 0)


def test_a_panel_that_was_never_entered():
    result = process(TWO, [(32, 80), (64, 80)])
    assert result.first_entry_ink == result.first_entry_area == (0, None)
    assert (result.second_entry, result.c_first_at_entry) == (None, None)
    assert (result.min_coverage, result.missed_panel, result.panel_order) == (0.0, True, (0,))
    names = ("first_entry_ink", "first_entry_area", "second_entry", "c_first_at_entry")
    assert result.reasons == dict.fromkeys(names, "never_reached")


def test_one_panel_has_no_second():
    result = process(canvas((50, 50, 10, 10), n_panels=1), [(40, 40)])
    assert (result.second_entry, result.n_crossings, result.reasons) == (None, 0, {})
    assert (result.min_coverage, result.missed_panel) == (1.0, False)


def test_four_panels():
    pixels = canvas(*((224 * k + 100, 100, 10, 10) for k in range(4)), n_panels=4)
    result = process(pixels, [(300, 80), (60, 80), (740, 80), (520, 80)])
    assert result.panel_order == (1, 0, 3, 2)
    assert result.first_entry_ink == (1, 0, 3, 2)
    assert (result.first_panel, result.second_entry, result.n_crossings) == (1, 1, 3)


def test_panel_without_strokes():
    result = process(canvas((50, 100, 20, 10)), [(32, 80), (256, 80)])
    assert (result.min_coverage, result.missed_panel) == (None, None)
    assert result.reasons["min_coverage"] == result.reasons["missed_panel"] == "no_strokes"


def test_unknown_canvas_and_no_glimpses():
    result = panel_process(np.array([[0, 0], [300, 0]]), 64, 224, 2)
    assert (result.first_entry_area, result.n_crossings) == ((0, 1), 1)
    assert result.reasons["min_coverage"] == "canvas_unknown" and result.first_panel is None
    empty = panel_process(np.empty((0, 2), int), 64, 224, 2)
    assert set(empty.reasons.values()) == {"no_glimpses"}
