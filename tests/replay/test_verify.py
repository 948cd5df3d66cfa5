"""Verification finds what differs, and says what it could not check."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnistpro_replay.replay.verify import Finding, compare, verify, verify_episode
from mnistpro_replay.schemas import Episode, Geometry
from mnistpro_replay.traces.adapters.pictures import WindowNotFound, find_window
from mnistpro_replay.traces.store import Store
from mnistpro_replay.traces.world import build_canvas, embedded, from_png, observe, to_png


def scene(store: Store, level: int) -> tuple[Episode, Geometry, np.ndarray, dict[str, bytes]]:
    episode = store.episodes(f"l{level}", ["0"])[0]
    geometry = store.run(f"l{level}").geometry()
    canvas = store.canvases([episode.canvas])[episode.canvas]
    names = [episode.start_image, *(s.image for s in episode.steps)]
    return episode, geometry, canvas, store.images(n for n in names if n)


def verdicts(findings: Iterator[Finding]) -> list[str]:
    return [finding.verdict for finding in findings]


@pytest.mark.parametrize("level", [1, 2])
def test_genuine_pictures_are_exact(sample_store: Store, level: int) -> None:
    findings = list(verify(sample_store, f"l{level}", ["0", "1", "2", "3", "4", "5"]))
    assert len(findings) > 30
    assert set(verdicts(iter(findings))) == {"exact"}


@pytest.mark.parametrize("level", [1, 2])
def test_one_changed_pixel_is_found(sample_store: Store, level: int) -> None:
    episode, geometry, canvas, images = scene(sample_store, level)
    name = episode.steps[1].image
    picture = from_png(images[name], "RGB").copy()
    x, y = episode.steps[1].window_after
    picture[y + 30, x + 30] = 255 - picture[y + 30, x + 30]
    found = [
        f
        for f in verify_episode("r", episode, geometry, canvas, images | {name: to_png(picture)})
        if f.verdict != "exact"
    ]
    assert found and all(f.verdict == "mismatch" and "1 pixels differ" in f.reason for f in found)
    assert {f.step for f in found} == {s.step for s in episode.steps if s.image == name}


def test_a_missing_outline_is_told_apart(sample_store: Store) -> None:
    episode, geometry, canvas, images = scene(sample_store, 1)
    bare = observe(canvas, episode.start, replace(geometry, draw_border=False))
    assert compare(bare, canvas, episode.start, geometry)[0] == "outline_only"
    assert compare(bare, canvas, episode.start, replace(geometry, draw_border=False))[0] == "exact"


def test_a_picture_of_another_window_says_which(sample_store: Store) -> None:
    episode, geometry, canvas, _ = scene(sample_store, 1)
    elsewhere, _ = geometry.move(episode.start, "up")
    verdict, reason = compare(observe(canvas, elsewhere, geometry), canvas, episode.start, geometry)
    assert verdict == "mismatch" and str(elsewhere) in reason


def test_actions_that_do_not_lead_to_the_windows_fail(sample_store: Store) -> None:
    """A replay of the right number of wrong actions must not pass."""
    episode, geometry, canvas, images = scene(sample_store, 1)
    wrong = {"up": "down", "down": "up", "left": "right", "right": "left"}
    for step in episode.steps:
        step.direction = wrong.get(step.direction)
    assert "mismatch" in verdicts(verify_episode("r", episode, geometry, canvas, images))


def test_what_cannot_be_checked_is_said_with_a_reason(sample_store: Store) -> None:
    episode, geometry, canvas, images = scene(sample_store, 1)

    def reasons(*scene: object) -> set[str | None]:
        return {f.reason for f in verify_episode("r", *scene) if f.verdict == "not_checkable"}  # type: ignore[arg-type]

    assert reasons(episode, None, canvas, images) == {"geometry_unknown"}
    assert reasons(episode, geometry, None, images) == {"canvas_unknown"}
    assert reasons(episode, geometry, canvas, {}) == {"image_missing"}
    episode.start_image_status = "redacted"
    assert reasons(episode, geometry, canvas, images) == {"image_redacted"}


GEOMETRIES = st.builds(
    Geometry,
    window=st.integers(16, 128),
    stride=st.integers(5, 70),
    panel=st.just(224),
    n_panels=st.integers(1, 3),
    draw_border=st.booleans(),
)


@settings(max_examples=60, deadline=None)
@given(geometry=GEOMETRIES, data=st.data())
def test_windows_are_recovered_from_any_observation(geometry: Geometry, data: st.DataObject) -> None:
    digits = embedded()
    canvas = build_canvas([digits.images[data.draw(st.integers(0, 999))] for _ in range(geometry.n_panels)])
    x_max, y_max = geometry.limits
    window = data.draw(st.integers(0, x_max)), data.draw(st.integers(0, y_max))
    found = find_window(observe(canvas, window, geometry))
    assert found.position == window
    assert found.outlined == geometry.draw_border
    assert found.side in (None, geometry.window)


def test_no_window_and_more_than_a_window_are_refused() -> None:
    grey = np.full((224, 224, 3), 128, np.uint8)
    with pytest.raises(WindowNotFound, match="grey all over"):
        find_window(grey)
    two = observe(build_canvas([embedded().images[0]]), (10, 10), Geometry())
    two = two.copy()
    two[200:210, 200:210] = 255
    with pytest.raises(WindowNotFound, match="besides"):
        find_window(two)
    oblong = grey.copy()
    oblong[10:40, 10:80] = 255
    with pytest.raises(WindowNotFound) as error:
        find_window(oblong)
    assert error.value.code == "non_square_window"


def test_stills_and_films_of_an_episode(sample_store: Store, tmp_path: Path) -> None:
    from PIL import Image

    from mnistpro_replay.replay.player import write

    for level in (1, 2):
        write(sample_store, f"l{level}", "3", tmp_path / "a.png")
        write(sample_store, f"l{level}", "3", tmp_path / "a.GIF")
        with Image.open(tmp_path / "a.png") as picture:
            assert min(picture.size) > 400
        with Image.open(tmp_path / "a.GIF") as film:
            assert film.n_frames > 1
    with pytest.raises(ValueError, match="ending"):
        write(sample_store, "l1", "3", tmp_path / "a.bmp")
