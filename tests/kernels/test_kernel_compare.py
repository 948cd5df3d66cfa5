"""Two paths over one canvas."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnistpro_replay.analysis.kernels.compare import (
    compare_paths,
    divergence_step,
    levenshtein_similarity,
    multimatch,
)
from mnistpro_replay.schemas import DIRECTIONS, Geometry, walk

LETTERS = {name[0]: name for name in DIRECTIONS}
GEOMETRY = Geometry()
CANVAS = np.full((224, 224), 255, np.uint8)
CANVAS[60:180, 60:180] = 0


def path(letters: str, start=(80, 80)) -> np.ndarray:
    return np.array(walk(GEOMETRY, start, [LETTERS[letter] for letter in letters]))


def compare(a: str, b: str, start=(80, 80), canvas=CANVAS):
    paths = path(a, start), path(b, start)
    seen = (GEOMETRY.seen(map(tuple, p.tolist())) for p in paths)
    return compare_paths(*paths, list(a), list(b), *seen, 64, 32, canvas)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("uurrdd", "uurrdd", (1, 1, 1, 1)),
        ("uurrdd", "ddlluu", (0.899, 0.000, 1.000, 0.572)),
        ("uurrdd", "uuuuuu", (0.949, 0.750, 0.924, 0.944)),
        ("drdduul", "dlrudll", (1.0, 1.0, 1.0, 0.872102)),
        ("rruld", "udul", (0.928571, 0.5, 1.0, 0.857143)),
        ("ldddu", "dlur", (0.971765, 0.75, 1.0, 0.857143)),
        ("lllururr", "urrrldl", (0.936051, 0.5, 1.0, 0.730874)),
        ("lldrl", "duur", (0.928571, 0.5, 1.0, 0.797969)),
        ("drddu", "dlluudu", (1.0, 1.0, 1.0, 0.774123)),
    ],
)
def test_multimatch_equals_the_published_program(a, b, expected):
    """What multimatch-gaze 0.1.3 prints: docs/metrics.md 1.4 (the third with no-ops), then paths without no-ops
    that have a single cheapest alignment."""
    assert multimatch(path(a), path(b), 224, 224) == pytest.approx(expected, abs=0.0005)


def test_multimatch_is_scaled_to_what_a_move_can_differ():
    same, opposite = compare("uurrdd", "uurrdd"), compare("uurrdd", "ddlluu")
    assert (same.shape, same.direction, same.position) == (1, 1, 1)
    assert opposite.shape == pytest.approx(0) and opposite.direction == pytest.approx(0)
    assert opposite.position == pytest.approx(multimatch(path("uurrdd"), path("ddlluu"), 224, 224).position)


def test_identical_paths_are_alike_in_everything():
    result = compare("urdl", "urdl")
    assert (result.lev_actions, result.lev_cells, result.dtw_px, result.dtw_px_mean) == (1, 1, 0, 0)
    assert (result.seen_iou, result.ink_iou, result.divergence_step) == (1, 1, None)
    assert result.reasons == {"divergence_step": "never_reached"}


def test_paths_that_part():
    result = compare("uur", "uul")
    assert result.lev_actions == pytest.approx(2 / 3)
    assert result.lev_cells == pytest.approx(3 / 4)
    assert (result.dtw_px, result.divergence_step) == (64, 2)
    assert result.dtw_px_mean == 64 / 4
    a, b = (GEOMETRY.seen(map(tuple, path(letters).tolist())) for letters in ("uur", "uul"))
    assert result.seen_iou == (a & b).sum() / (a | b).sum()
    strokes = CANVAS == 0
    assert result.ink_iou == (a & b & strokes).sum() / ((a | b) & strokes).sum()


def test_waiting_costs_nothing_in_time_warping():
    assert compare("ur", "uuur", start=(80, 32)).dtw_px == 0


@pytest.mark.parametrize(
    ("a", "b", "step", "likeness"),
    [
        ("", "", None, 1),
        ("", "u", 0, 0),
        ("uu", "uur", 2, 2 / 3),
        ("ud", "lr", 0, 0),
        ("udu", "dud", 0, 1 / 3),
    ],
)
def test_divergence_and_edit_distance(a, b, step, likeness):
    assert divergence_step(a, b) == divergence_step(b, a) == step
    assert levenshtein_similarity(a, b) == pytest.approx(likeness)


def test_too_short_for_multimatch():
    result = compare("ull", "uu", start=(0, 0))
    assert (result.shape, result.direction, result.position) == (None, None, None)
    assert {result.reasons[name] for name in ("shape", "direction", "position")} == {"too_short"}
    assert multimatch(path("u"), path("uu"), 224, 224) is None


def test_what_is_not_known():
    unknown = compare("uu", "uu", canvas=None)
    assert unknown.ink_iou is None and unknown.reasons["ink_iou"] == "canvas_unknown"
    assert unknown.seen_iou == 1
    blank = compare("uu", "uu", canvas=np.full((224, 224), 255, np.uint8))
    assert blank.ink_iou is None and blank.reasons["ink_iou"] == "no_strokes"
    windows, seen = path("uu"), np.ones((224, 224), bool)
    result = compare_paths(windows, windows, None, ["u", "u"], seen, seen, 64, 32, CANVAS)
    assert (result.lev_actions, result.divergence_step) == (None, None)
    assert result.reasons == {"lev_actions": "not_recorded", "divergence_step": "not_recorded"}
    empty = compare_paths(windows[:0], windows, None, None, seen, seen, 64, 32, CANVAS)
    assert set(empty.reasons.values()) == {"no_glimpses"}


texts = st.text("udlr", max_size=12)


@given(texts, texts)
def test_likeness_is_symmetric_and_a_share(a, b):
    ab, ba = compare(a, b), compare(b, a)
    for name in ("lev_actions", "lev_cells", "dtw_px", "seen_iou", "ink_iou", "divergence_step"):
        assert getattr(ab, name) == pytest.approx(getattr(ba, name)), name
    for name in ("lev_actions", "lev_cells", "shape", "direction", "position", "seen_iou", "ink_iou"):
        value = getattr(ab, name)
        assert value is None or -1e-12 <= value <= 1 + 1e-12, name
    assert (ab.divergence_step is None) == (a == b)


@given(texts, texts)
def test_edit_distance_by_the_book(a, b):
    table = {(i, 0): i for i in range(len(a) + 1)} | {(0, j): j for j in range(len(b) + 1)}
    for i, x in enumerate(a, 1):
        for j, y in enumerate(b, 1):
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (x != y))
    longest = max(len(a), len(b))
    expected = 1 - table[len(a), len(b)] / longest if longest else 1
    assert levenshtein_similarity(a, b) == pytest.approx(expected)
