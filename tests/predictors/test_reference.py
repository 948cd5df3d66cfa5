"""The reference reader: rules, accuracy and calibration on the bundled digits, and its evidence generator."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnistpro_replay.replay.predictors.reference import evaluate, features, predictor, walks
from mnistpro_replay.replay.predictors.reference.predictor import Reference, best
from mnistpro_replay.schemas import EVIDENCE_MODES, UNSEEN, Geometry, Predictor, PredictorInput, walk
from mnistpro_replay.traces.runner.policies.sweep import boustrophedon
from mnistpro_replay.traces.world import build_canvas, embedded, offline_canvas, start_window

DIGITS = embedded()
LABELS = DIGITS.labels[DIGITS.index].astype(int)
FOLDER = predictor.WEIGHTS.parent


@pytest.fixture(scope="module")
def reader() -> Reference:
    return Reference()


@pytest.fixture(scope="module")
def posterior(reader: Reference) -> np.ndarray:
    """Random walks over the bundled digits, (1000, 6, 1, 10): after 1, 3, 6, 12, 20 glimpses, and in full."""
    return evaluate.walk_posteriors(reader, [[image] for image in DIGITS.images], evaluate.GLIMPSES, "window")


def item(canvas: np.ndarray, n_panels: int = 1, representation: str = "canvas@1") -> PredictorInput:
    return PredictorInput(representation, (canvas,), n_panels)


def partial(i: int, windows: list[tuple[int, int]], n_panels: int = 1) -> np.ndarray:
    canvas = build_canvas(DIGITS.images[i : i + n_panels])
    return offline_canvas(canvas, windows, Geometry(n_panels=n_panels))


def test_is_a_predictor_with_a_version_that_names_its_weights(reader: Reference) -> None:
    assert isinstance(reader, Predictor)
    assert reader.name == "reference"
    assert re.fullmatch(r"[0-9a-f]{12}\+canvas@1", reader.version)
    assert json.loads((FOLDER / "figures.json").read_text())["weights"] == reader.version


def test_weights_are_small() -> None:
    assert predictor.WEIGHTS.stat().st_size <= 1.2e6


@pytest.mark.parametrize("value", [UNSEEN, 255])
def test_panel_without_ink_is_flat_and_no_answer(reader: Reference, value: int) -> None:
    reading = reader.predict(item(np.full((224, 224), value, dtype=np.uint8)))
    assert reading.answer is None
    assert reading.probabilities is not None
    assert reading.probabilities[0] == pytest.approx([0.1] * 10)


def test_one_blank_panel_takes_the_whole_answer_away(reader: Reference) -> None:
    canvas = build_canvas(DIGITS.images[:2])
    canvas[:, 224:] = UNSEEN
    reading = reader.predict(item(canvas, 2))
    assert reading.answer is None
    assert reading.probabilities is not None
    assert max(reading.probabilities[0]) > 0.5
    assert reading.probabilities[1] == pytest.approx([0.1] * 10)


def test_ties_are_no_digit() -> None:
    tied = np.array([[0.4, 0.4, 0.2], [0.3, 0.3, 0.4], [1 / 3, 1 / 3, 1 / 3]])
    assert best(tied).tolist() == [-1, 2, -1]


def test_batch_equals_single_whatever_the_sizes(reader: Reference) -> None:
    items = [item(partial(i, [(20 * i, 60), (80, 30 + i)])) for i in range(7)]
    items.insert(3, item(partial(10, [(100, 60), (250, 80)], 2), 2))
    items.append(item(build_canvas([DIGITS.images[4]], panel=112)))
    for one, many in zip(map(reader.predict, items), reader.predict_batch(items), strict=True):
        assert one.answer == many.answer
        np.testing.assert_allclose(one.probabilities, many.probabilities, atol=1e-5)


def test_posterior_does_not_depend_on_the_batch(reader: Reference) -> None:
    canvases = np.stack([partial(i, [(60, 60), (100, 40)]) for i in range(predictor._CHUNK + 3)])
    whole = reader.posterior(canvases)
    alone = np.concatenate([reader.posterior(canvas[None]) for canvas in canvases])
    assert whole.shape == (len(canvases), 1, 10)
    np.testing.assert_allclose(whole, alone, atol=1e-5)
    np.testing.assert_allclose(whole.sum(axis=2), 1, atol=1e-5)


def test_no_canvases_give_no_posteriors(reader: Reference) -> None:
    assert reader.posterior(np.zeros((0, 224, 448), dtype=np.uint8)).shape == (0, 2, 10)
    assert reader.predict_batch([]) == []


def test_panels_are_read_apart_and_in_order(reader: Reference) -> None:
    canvas = build_canvas(DIGITS.images[:3])
    together = reader.posterior(canvas[None])[0]
    apart = [reader.posterior(canvas[None, :, 224 * i : 224 * (i + 1)])[0, 0] for i in range(3)]
    np.testing.assert_allclose(together, apart, atol=1e-5)


@pytest.mark.parametrize("panel", [56, 100, 112, 336, 448])
def test_other_panel_sizes_are_read_as_well(reader: Reference, panel: int) -> None:
    canvases = np.stack([build_canvas([image], panel=panel) for image in DIGITS.images[:200]])
    assert (best(reader.posterior(canvases))[:, 0] == LABELS[:200]).mean() > 0.95


@pytest.mark.parametrize(
    "wrong",
    [
        item(np.zeros((224, 224), dtype=np.uint8), 2),
        item(np.zeros((224, 300), dtype=np.uint8)),
        item(np.zeros((20, 20), dtype=np.uint8)),
        item(np.zeros((224, 224), dtype=np.float32)),
        item(np.zeros((224, 224, 3), dtype=np.uint8)),
        item(np.zeros((224, 224), dtype=np.uint8), representation="glimpses@1"),
        PredictorInput("canvas@1", (), 1),
    ],
    ids=["panels", "width", "tiny", "dtype", "rgb", "representation", "empty"],
)
def test_other_inputs_are_refused(reader: Reference, wrong: PredictorInput) -> None:
    with pytest.raises(ValueError, match=r"reference reads|fit|panels|uint8"):
        reader.predict(wrong)


def test_accuracy_on_the_bundled_digits(posterior: np.ndarray) -> None:
    right = (best(posterior)[:, :, 0] == LABELS[:, None]).mean(axis=0)
    for share, target in zip(right, [*evaluate.FIRST_ATTEMPT.values(), evaluate.FULL_TARGET[1]], strict=True):
        assert share > target - 3 * np.sqrt(target * (1 - target) / len(LABELS))


def test_calibration_on_the_bundled_digits(posterior: np.ndarray) -> None:
    right = best(posterior)[:, :, 0] == LABELS[:, None]
    confidence = posterior[:, :, 0].max(axis=2)
    error = np.sqrt((confidence * (1 - confidence)).mean(axis=0) / len(LABELS))
    assert (np.abs(confidence.mean(axis=0) - right.mean(axis=0)) < 3 * error + 0.015).all()


def test_more_evidence_makes_it_surer_and_nearer_the_truth(posterior: np.ndarray) -> None:
    assert (np.diff(posterior[:, :, 0].max(axis=2).mean(axis=0)) > 0).all()
    of_label = np.take_along_axis(posterior[:, :, 0], LABELS[:, None, None], axis=2)
    assert (np.diff(np.log(of_label[:, :, 0]).mean(axis=0)) > 0).all()


def test_two_digits_in_full(reader: Reference) -> None:
    canvases = np.stack([build_canvas(DIGITS.images[i : i + 2]) for i in range(0, 400, 2)])
    right = (best(reader.posterior(canvases)) == LABELS[:400].reshape(-1, 2)).all(axis=1)
    assert right.mean() > 0.975 - 3 * np.sqrt(0.975 * 0.025 / len(right))


def test_calibration_error_over_equal_mass_bins() -> None:
    confidence = np.array([0.9, 0.9, 0.6, 0.6])
    assert evaluate.calibration_error(confidence, np.array([1, 0, 1, 0]), bins=2) == pytest.approx(0.25)
    assert evaluate.calibration_error(confidence, np.array([1, 1, 1, 0]), bins=2) == pytest.approx(0.1)
    assert evaluate.calibration_error(np.ones(30), np.ones(30)) == 0


def test_random_walk_counts_the_start_and_blocked_moves() -> None:
    geometry = Geometry()
    path = evaluate.random_walk(geometry, (0, 0), 40, (1, 2))
    assert len(path) == 40
    assert path[0] == (0, 0)
    assert path == evaluate.random_walk(geometry, (0, 0), 40, (1, 2))
    assert path != evaluate.random_walk(geometry, (0, 0), 40, (1, 3))
    assert any(a == b for a, b in zip(path, path[1:], strict=False))


def test_card_and_figures_agree_and_meet_the_targets() -> None:
    figures = json.loads((FOLDER / "figures.json").read_text())
    assert evaluate.tables(figures) in (FOLDER / "MODEL_CARD.md").read_text()
    for row in figures["accuracy"]:
        assert row["low"] <= row["value"] <= row["high"]
        if row["target"] and row["evidence"] != "visible_exact":
            assert row["value"] >= row["target"]
    assert [row["seen"][0] for row in figures["calibration"]] == [t / 10 for t in range(10)]
    for row in figures["calibration"]:
        assert row["n"] >= 20_000
        assert row["ece"] <= 0.02


@pytest.mark.parametrize("i", range(0, 1000, 97))
def test_drawing_equals_the_world(i: int) -> None:
    ink = np.empty((224, 224), dtype=np.uint8)
    walks.draw(DIGITS.images[i], ink)
    np.testing.assert_array_equal(ink == 1, build_canvas([DIGITS.images[i]]) == 0)


@settings(max_examples=40, deadline=None)
@given(
    i=st.integers(0, 990),
    n=st.integers(1, 3),
    window=st.integers(24, 160),
    evidence=st.sampled_from(EVIDENCE_MODES),
)
def test_one_glimpse_equals_the_geometry(i: int, n: int, window: int, evidence: str) -> None:
    geometry = Geometry(window=window, stride=window, n_panels=n)
    canvas = build_canvas(DIGITS.images[i : i + n])
    x, y = start_window(canvas, geometry)
    seen = np.zeros(canvas.shape, dtype=bool)
    ink = (canvas == 0).view(np.uint8)
    walks.look(ink, ink, seen, x, y, window, window, walks.RANDOM, 0.0, 1, evidence == "visible_exact")
    np.testing.assert_array_equal(seen, geometry.seen([(x, y)], evidence))
    shown = features.cells(features.panels(offline_canvas(canvas, [(x, y)], geometry, evidence)[None]))
    out = np.empty((8, 28, 28), dtype=np.uint8)
    for p in range(n):
        part = slice(224 * p, 224 * (p + 1))
        count = walks.cells(ink[:, part], seen[:, part], out)
        np.testing.assert_array_equal(out, shown[p])
        assert count == out[:4].sum() == (seen & (canvas == 0))[:, part].sum()


def test_random_moves_are_legal_and_uniform() -> None:
    geometry = Geometry(window=64, stride=32)
    ends = {geometry.move((96, 0), d)[0]: 0 for d in ("up", "down", "left", "right")}
    ink = np.zeros((224, 224), dtype=np.uint8)
    for _ in range(2_000):
        seen = np.zeros((224, 224), dtype=bool)
        walks.look(ink, ink, seen, 96, 0, 64, 32, walks.RANDOM, 0.0, 2, False)
        matches = [end for end in ends if np.array_equal(seen, geometry.seen([(96, 0), end]))]
        ends[matches[0]] += 1
    assert all(abs(count - 500) < 4 * np.sqrt(2_000 * 0.25 * 0.75) for count in ends.values())


@pytest.mark.parametrize("start", [(325, 69), (0, 0), (200, 150), (384, 10)])
@pytest.mark.parametrize("k", [1, 5, 20, 57])
def test_sweep_is_the_runners(start: tuple[int, int], k: int) -> None:
    geometry = Geometry(n_panels=2)
    seen = np.zeros((224, 448), dtype=bool)
    ink = np.zeros((224, 448), dtype=np.uint8)
    walks.look(ink, ink, seen, *start, 64, 32, walks.SWEEP, 0.0, k, False)
    path = walk(geometry, start, boustrophedon(geometry, start))
    np.testing.assert_array_equal(seen, geometry.seen(path[:k]))
    assert k < 57 or seen.all()


def test_greedy_sees_more_ink_than_chance() -> None:
    ink = (build_canvas(DIGITS.images[:1]) == 0).view(np.uint8)
    found = {}
    for policy in (walks.GREEDY, walks.RANDOM):
        total = 0
        for x, y in [(60, 60), (100, 90), (20, 110), (150, 60)]:
            seen = np.zeros((224, 224), dtype=bool)
            walks.look(ink, ink, seen, x, y, 64, 32, policy, 0.0, 6, False)
            total += (ink[seen]).sum()
        found[policy] = total
    assert found[walks.GREEDY] > found[walks.RANDOM]


def test_batches_are_determined_by_their_seed() -> None:
    prior = walks.mean_ink(DIGITS.images[:50])
    first, again, other = (
        walks.batch(DIGITS.images, LABELS, prior, 64, 1.0, 2.0, seed) for seed in (5, 5, 6)
    )
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1], again[1])
    assert (first[0] != other[0]).any()
    assert first[0][:, :4].any(axis=(1, 2, 3)).all()
    assert (first[0][:, :4] <= first[0][:, 4:]).all()
    assert first[0].max() == 16


def test_official_walk_equals_the_geometry() -> None:
    canvas = build_canvas([DIGITS.image(6841)])
    start = start_window(canvas, Geometry())
    path = walk(Geometry(), start, ["up", "up"])
    assert path == [(130, 130), (130, 98), (130, 66)]
