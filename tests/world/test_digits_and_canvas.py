"""The drawing half of the world, against published constants and real pictures."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnistpro_replay.schemas import Geometry, walk
from mnistpro_replay.traces.world import build_canvas, embedded, from_png, load, observe, sample, start_window
from mnistpro_replay.traces.world.sampler import published

PUBLISHED = [
    (1, 0, (6841,), (130, 130), ["up", "up"], [(130, 98), (130, 66)]),
    (1, 7, (2730,), (36, 110), ["up", "right"], [(36, 78), (68, 78)]),
    (2, 0, (4931, 2777), (78, 18), ["down", "down"], [(78, 50), (78, 82)]),
    (2, 4, (6184, 401), (325, 69), ["left", "left"], [(293, 69), (261, 69)]),
]


@pytest.mark.parametrize(("level", "episode", "indices", "start", "moves", "windows"), PUBLISHED)
def test_published_episodes_come_out_of_the_embedded_digits(
    level, episode, indices, start, moves, windows
) -> None:
    digits, geometry = embedded(), Geometry(n_panels=level)
    drawn = sample(digits, level)
    assert len(drawn) == 100
    assert drawn[episode] == indices
    canvas = build_canvas([digits.image(index) for index in indices])
    assert canvas.shape == (224, 224 * level) and set(np.unique(canvas)) == {0, 255}
    assert start_window(canvas, geometry) == start
    assert walk(geometry, start, moves)[1:] == windows


def test_every_published_episode_is_embedded_and_labelled() -> None:
    digits = embedded()
    for level in (1, 2):
        for indices in sample(digits, level):
            assert all(digits.has(index) for index in indices)
    assert sample(digits, 1, evalsets=2) == sample(digits, 1)[:20]
    assert [int(digits.labels[i]) for (i,) in sample(digits, 1)[:10]] == list(range(10))
    assert np.bincount(digits.labels).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]


def test_other_seeds_stay_within_the_embedded_digits() -> None:
    digits = embedded()
    assert (
        published(digits, 1, 42, 10) and not published(digits, 1, 7, 10) and not published(digits, 3, 42, 10)
    )
    for level in (1, 3):
        assert all(digits.has(i) for indices in sample(digits, level, seed=7) for i in indices)


def test_budget_is_the_papers() -> None:
    assert [Geometry(n_panels=n).budget for n in (1, 2)] == [36, 78]
    assert Geometry(window=32, stride=16).budget == 169
    assert [Geometry(window=128, stride=64, n_panels=n).budget for n in (1, 2)] == [9, 18]
    assert Geometry(window=32, n_panels=2).budget == 98
    assert Geometry(window=300).budget == 1


def test_outline_covers_two_columns_before_and_one_after() -> None:
    canvas = np.full((224, 224), 255, np.uint8)
    frame = observe(canvas, (50, 60), Geometry())
    cyan = (frame == (0, 229, 255)).all(axis=2)
    assert np.flatnonzero(cyan.any(axis=0)).tolist()[0] == 50
    assert np.flatnonzero(cyan[90]).tolist() == [50, 51, 113, 114]
    inside = ~cyan & (frame == 255).all(axis=2)
    assert inside.sum() == 61 * 61
    assert np.array_equal(inside, Geometry().seen([(50, 60)], "visible_exact"))


def test_recorded_pictures_are_drawn_alike(sample_folders: dict[int, Path]) -> None:
    import json

    for level, folder in sample_folders.items():
        digits, geometry = embedded(), Geometry(n_panels=level)
        for number in range(3):
            episode = folder / f"episode_{number}"
            data = json.loads((episode / "trajectory.json").read_text())
            canvas = build_canvas([digits.image(index) for index in data["indices"]])
            assert np.array_equal(canvas, from_png((episode / "original.png").read_bytes()))
            first = from_png((episode / "step_0.png").read_bytes(), "RGB")
            assert np.array_equal(first, observe(canvas, tuple(data["windows"][0]), geometry))


def test_a_canvas_without_strokes_is_looked_at_in_its_middle() -> None:
    blank = np.full((224, 448), 255, np.uint8)
    assert start_window(blank, Geometry(n_panels=2)) == (192, 80)


@given(
    geometry=st.builds(
        Geometry,
        window=st.integers(1, 300),
        stride=st.integers(1, 90),
        panel=st.sampled_from([28, 224]),
        n_panels=st.integers(1, 4),
        draw_border=st.booleans(),
    ),
    data=st.data(),
)
def test_moves_stay_on_the_canvas_and_evidence_is_nested(geometry: Geometry, data: st.DataObject) -> None:
    x_max, y_max = geometry.limits
    start = data.draw(st.integers(0, x_max)), data.draw(st.integers(0, y_max))
    moves = data.draw(st.lists(st.sampled_from(["up", "down", "left", "right"]), max_size=12))
    windows = walk(geometry, start, moves)
    assert all(0 <= x <= x_max and 0 <= y <= y_max for x, y in windows)
    window, visible = geometry.seen(windows), geometry.seen(windows, "visible_exact")
    assert not (visible & ~window).any()
    assert geometry.draw_border or np.array_equal(window, visible)


def write_idx(folder: Path, split: str, images: np.ndarray, labels: np.ndarray, zipped: bool) -> None:
    name = {"test": "t10k", "train": "train"}[split]
    header = np.array([0x803, len(images), 28, 28], ">u4").tobytes()
    for stem, data in (
        (f"{name}-images-idx3-ubyte", header + images.tobytes()),
        (f"{name}-labels-idx1-ubyte", np.array([0x801, len(labels)], ">u4").tobytes() + labels.tobytes()),
    ):
        path = folder / (stem + (".gz" if zipped else ""))
        path.write_bytes(gzip.compress(data) if zipped else data)


@pytest.mark.parametrize("layout", ["idx", "idx.gz", "torchvision", "npz"])
def test_full_set_from_the_users_files(tmp_path: Path, layout: str) -> None:
    images = embedded().images[:50]
    labels = embedded().labels[embedded().index[:50]]
    if layout == "npz":
        np.savez(tmp_path / "mnist.npz", x_test=images, y_test=labels, x_train=images, y_train=labels)
        digits = load(tmp_path / "mnist.npz")
    else:
        folder = tmp_path / "MNIST" / "raw" if layout == "torchvision" else tmp_path
        folder.mkdir(parents=True, exist_ok=True)
        write_idx(folder, "test", images, labels, layout == "idx.gz")
        digits = load(tmp_path)
    assert digits.complete and not digits.genuine
    assert np.array_equal(digits.image(7), images[7])
    assert sample(digits, 1, seed=7, evalsets=1)


def test_bad_digit_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load(tmp_path)
    (tmp_path / "t10k-images-idx3-ubyte").write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="IDX"):
        load(tmp_path)
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(ValueError, match="x_test"):
        load(tmp_path / "other.npz")
