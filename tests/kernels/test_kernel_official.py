"""The official figures against what the official runner stored, and against their plain definition."""

from __future__ import annotations

import importlib.util
import json
import re
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnistpro_replay.analysis.kernels.coverage import canvas_tables, coverage_curve, inset
from mnistpro_replay.analysis.kernels.official import Official, official_figures
from mnistpro_replay.traces.world import build_canvas, embedded

STORED = {
    "official_stroke_coverage": "stroke_coverage",
    "official_stroke_coverage_readable": "stroke_coverage_readable",
    "official_area_coverage": "area_coverage",
    "official_revisit_rate": "revisit_rate",
}
OUTLINE = inset("visible_exact")


def test_equal_to_what_the_official_runner_stored(shared):
    digits = embedded()
    lines = (shared / "upstream" / "reference_metrics.jsonl").read_text().splitlines()
    rows = [row for row in map(json.loads, lines) if row["windows"] and all(map(digits.has, row["indices"]))]
    assert len(rows) > 700

    def world(row):
        return int(re.search(r"_box(\d+)_", row["run"])[1]), len(row["indices"])

    for (box, n_panels), group in groupby(sorted(rows, key=world), key=world):
        group = list(group)
        keys = sorted({tuple(row["indices"]) for row in group})
        canvases = np.stack([build_canvas([digits.image(i) for i in key]) for key in keys])
        figures = official_figures(
            canvas_tables(canvases, n_panels),
            np.array([keys.index(tuple(row["indices"])) for row in group]),
            np.concatenate([row["windows"] for row in group]),
            np.cumsum([0] + [len(row["windows"]) for row in group]),
            box,
        )
        for ours, theirs in STORED.items():
            np.testing.assert_allclose(
                getattr(figures, ours), [row[theirs] for row in group], atol=1e-6, rtol=0
            )


def test_equal_to_the_plain_definition(shared, rng):
    spec = importlib.util.spec_from_file_location(
        "official_metrics", shared / "baselines" / "official_metrics.py"
    )
    plain = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plain)
    for window in (3, 4, 5, 31, 64):
        canvas = np.where(rng.random((80, 160)) < 0.1, 0, 255).astype(np.uint8)
        windows = rng.integers(0, 80 - window, (20, 2)).repeat(2, axis=0)
        assert values(canvas, windows, window) == plain.end_of_episode(canvas, windows.tolist(), window)


def test_no_strokes_is_0_as_stored_and_no_window_is_nan():
    blank = np.full((8, 8), 255, np.uint8)
    assert values(blank, np.array([[0, 0]]), 4) == (0.0, 0.0, 0.25, 0.0)
    assert np.isnan(values(blank, np.empty((0, 2), int), 4)).all()


@pytest.mark.parametrize(
    ("windows", "rate"),
    [([[0, 0]], 0.0), ([[0, 0], [0, 0]], 0.5), ([[0, 0], [1, 0], [0, 0], [0, 1]], 0.25)],
)
def test_revisit_rate_divides_by_all_windows(windows, rate):
    assert values(np.zeros((8, 8), np.uint8), np.array(windows), 4)[3] == rate


@given(st.integers(0, 2**32 - 1), st.integers(8, 64))
def test_readable_never_exceeds_what_is_visible_under_an_outline(seed, window):
    rng = np.random.default_rng(seed)
    canvas = np.where(rng.random((80, 80)) < 0.2, 0, 255).astype(np.uint8)
    windows = rng.integers(0, 80 - window + 1, (rng.integers(1, 12), 2))
    readable = values(canvas, windows, window)[1]
    assert readable <= coverage_curve(canvas, windows, window, inset=OUTLINE).coverage[-1]


def values(canvas: np.ndarray, windows: np.ndarray, window: int) -> tuple[float, ...]:
    figures: Official = official_figures(
        canvas_tables(canvas[None]), np.array([0]), windows, np.array([0, len(windows)]), window
    )
    return tuple(float(column[0]) for column in figures)
