"""Derived metrics: values on planted paths, reasons for what is null, and when they are computed again."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skimage.measure import euler_number as skimage_euler

from mnistpro_replay.analysis import derive as module
from mnistpro_replay.analysis import metrics
from mnistpro_replay.analysis.derive import Canvases, derive, euler_number
from mnistpro_replay.analysis.posterior import EvidenceReader, evidence_canvases, panel_calibration
from mnistpro_replay.schemas import DIRECTIONS, Episode, Geometry, Run, Step, walk
from mnistpro_replay.schemas.enums import REASONS
from mnistpro_replay.traces.store import Store
from mnistpro_replay.traces.world import pixel_hash

L1, L2 = Geometry(), Geometry(n_panels=2)


class Fake:
    """A reader whose digit is the number of ink pixels modulo 10, and which counts what it reads."""

    version = "fake"

    def __init__(self) -> None:
        self.read = 0

    def posterior(self, canvases: np.ndarray) -> np.ndarray:
        self.read += len(canvases)
        panels = canvases.reshape(len(canvases), canvases.shape[1], -1, canvases.shape[1])
        ink = (panels == 0).sum(axis=(1, 3))
        result = np.full((*ink.shape, 10), 0.02, np.float32)
        np.put_along_axis(result, (ink % 10)[..., None], 0.82, axis=2)
        return np.where((ink == 0)[..., None], np.float32(0.1), result)


def run_of(geometry: Geometry, **more: Any) -> Run:
    return Run(
        run="r",
        window=geometry.window,
        stride=geometry.stride,
        panel=geometry.panel,
        n_panels=geometry.n_panels,
        draw_border=geometry.draw_border,
        t_max=geometry.budget,
        **more,
    )


def episode_of(
    geometry: Geometry, at: tuple[int, int], directions: Sequence[str], world: np.ndarray, **change: Any
) -> Episode:
    windows = walk(geometry, at, directions)
    steps = [
        Step(step=i, action_kind="move", direction=d, window_after=w, shown=True)
        for i, (d, w) in enumerate(zip(directions, windows[1:], strict=True))
    ]
    facts: dict[str, Any] = {
        "canvas": pixel_hash(world),
        "start": at,
        "windows_source": windows,
        "steps": steps,
    }
    return Episode(episode_id="e", source_episode_id="e", **{**facts, **change})


def ink(geometry: Geometry, *boxes: tuple[int, int, int, int]) -> np.ndarray:
    canvas = np.full((geometry.height, geometry.width), 255, np.uint8)
    for x0, y0, x1, y1 in boxes:
        canvas[y0:y1, x0:x1] = 0
    return canvas


def one(run: Run, episode: Episode, canvas: np.ndarray | None, **more: Any) -> Any:
    whole = {} if canvas is None else {pixel_hash(canvas): canvas}
    return derive(run, [episode], Canvases(whole, frozenset()), **more)


def test_a_planted_path_over_two_digits() -> None:
    canvas = ink(L2, (0, 0, 32, 10), (300, 0, 310, 10))
    episode = episode_of(L2, (0, 0), ["right", "left", "left", "right", "right"], canvas)
    derived = one(run_of(L2), episode, canvas)
    (row,) = derived.episodes
    assert row.coverage_window == pytest.approx(320 / 420)
    assert row.panel_coverage_window == [1.0, 0.0]
    assert (row.min_coverage, row.missed_panel) == (0.0, True)
    assert row.area_coverage == pytest.approx(128 * 64 / (448 * 224))
    assert (row.n_revisits, row.n_noop, row.n_backtrack, row.n_loop) == (3, 1, 2, 0)
    assert row.revisit_rate_moves == pytest.approx(3 / 5)
    assert row.revisit_rate_obs == pytest.approx(3 / 6)
    assert row.official_revisit_rate == pytest.approx(3 / 6)
    assert (row.first_panel, row.second_entry, row.n_crossings) == (0, None, 0)
    assert row.reasons["second_entry"] == "never_reached"
    assert row.reversal_rate == pytest.approx(2 / 3)
    assert row.euler == [1, 1]
    assert row.last_glimpse == 5
    assert [step.kind for step in derived.steps] == ["new", "new", "backtrack", "noop", "backtrack", "new"]
    assert [step.new_ink for step in derived.steps] == [[320, 0]] + [[0, 0]] * 5
    assert [step.step for step in derived.steps] == [None, 0, 1, 2, 3, 4]


def test_every_null_has_a_reason_and_every_reason_is_known() -> None:
    canvas = ink(L2, (0, 0, 32, 10))
    cases = {
        "plain": (run_of(L2), episode_of(L2, (0, 0), ["right"], canvas), canvas),
        "no moves": (run_of(L2), episode_of(L2, (0, 0), [], canvas), canvas),
        "no glimpse": (run_of(L2), episode_of(L2, (0, 0), [], canvas, start_shown=False), canvas),
        "no canvas": (run_of(L2), episode_of(L2, (0, 0), ["right"], canvas), None),
        "no geometry": (replace(run_of(L2), stride=None), episode_of(L2, (0, 0), ["right"], canvas), canvas),
        "no budget": (replace(run_of(L2), t_max=None), episode_of(L2, (0, 0), ["right"], canvas), canvas),
        "blank": (run_of(L2), episode_of(L2, (0, 0), ["down"], ink(L2)), ink(L2)),
        "no windows": (
            run_of(L2),
            episode_of(L2, (0, 0), [], canvas, start=None, windows_source=None),
            canvas,
        ),
        "outside": (
            run_of(L2),
            episode_of(L2, (0, 0), [], canvas, start=(900, 0), windows_source=[(900, 0)]),
            canvas,
        ),
    }
    optional = {"episode_id", "version", "posterior", "posterior_version", "reasons"}
    unread = {
        name
        for name in module.EpisodeMetrics.__dataclass_fields__
        if name.startswith(("posterior", "answer_"))
    }
    unread |= {"entropy_auc_window", "entropy_auc_visible_exact"}
    for name, (run, episode, known) in cases.items():
        (row,) = one(run, episode, known).episodes
        nulls = {f for f in row.__dataclass_fields__ if getattr(row, f) is None} - optional - unread
        assert nulls <= set(row.reasons), (name, nulls - set(row.reasons))
        assert set(row.reasons.values()) <= set(REASONS), name
        for field in row.__dataclass_fields__:
            assert getattr(row, field) == getattr(row, field), (name, field, "NaN")


@pytest.mark.parametrize(
    ("change", "column", "reason"),
    [
        ({"canvas": None}, "coverage_window", "canvas_unknown"),
        ({"canvas": None}, "min_coverage", "canvas_unknown"),
        ({"canvas": None}, "official_stroke_coverage", "canvas_unknown"),
        ({"canvas": None}, "auc_coverage", "canvas_unknown"),
        ({"reasons": {"windows_source": "recovered"}}, "official_revisit_rate", "recovered"),
        (
            {"windows_source": None, "reasons": {"windows_source": "ambiguous"}},
            "official_area_coverage",
            "ambiguous",
        ),
        ({"reasons": {"glimpses": "ambiguous"}}, "revisit_rate_moves", "ambiguous"),
        ({"windows_source": [(0, 9000)]}, "official_area_coverage", "conflicting"),
    ],
)
def test_reasons(change: dict[str, Any], column: str, reason: str) -> None:
    canvas = ink(L1, (0, 0, 32, 10))
    episode = episode_of(L1, (0, 0), ["right"], canvas, **change)
    (row,) = one(run_of(L1), episode, canvas).episodes
    assert getattr(row, column) is None
    assert row.reasons[column] == reason
    assert row.area_coverage is None or row.area_coverage > 0


def test_a_canvas_known_in_part_gives_no_coverage() -> None:
    canvas = ink(L1, (0, 0, 32, 10))
    name = pixel_hash(canvas)
    episode = episode_of(L1, (0, 0), ["right"], canvas)
    (row,) = derive(run_of(L1), [episode], Canvases({name: canvas}, frozenset([name]))).episodes
    assert row.coverage_window is None and row.reasons["coverage_window"] == "canvas_partial"
    assert row.revisit_rate_moves == 0


def test_a_move_to_a_picture_that_was_not_shown_leaves_directions_unknown() -> None:
    canvas = ink(L1, (0, 0, 32, 10))
    episode = episode_of(L1, (0, 0), ["right", "right", "down"], canvas)
    episode.steps[0].shown = False
    (row,) = one(run_of(L1), episode, canvas).episodes
    assert row.h_a is None and row.reasons["h_a"] == "not_recorded"
    episode.steps[0].shown, episode.steps[2].shown = True, False
    (row,) = one(run_of(L1), episode, canvas).episodes
    assert row.last_glimpse == 2 and row.h_a == 0.0


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.sampled_from(list(DIRECTIONS)), max_size=40),
    st.tuples(st.integers(0, 384), st.integers(0, 160)),
    st.booleans(),
)
def test_identities(directions: list[str], start: tuple[int, int], border: bool) -> None:
    geometry = replace(L2, draw_border=border)
    canvas = ink(geometry, (40, 40, 90, 60), (300, 100, 330, 200))
    derived = one(run_of(geometry), episode_of(geometry, start, directions, canvas), canvas)
    (row,) = derived.episodes
    windows = {tuple(step.window) for step in derived.steps}
    assert row.n_revisits == row.n_noop + row.n_backtrack + row.n_loop == len(directions) + 1 - len(windows)
    assert row.coverage_visible_exact <= row.coverage_window
    assert border or row.coverage_visible_exact == row.coverage_window
    assert row.min_coverage == min(row.panel_coverage_window)
    assert row.missed_panel == (row.min_coverage == 0)
    assert row.official_stroke_coverage == pytest.approx(row.coverage_window)
    assert row.official_revisit_rate == pytest.approx(row.revisit_rate_obs)
    assert sum(sum(step.new_ink) for step in derived.steps) == pytest.approx(
        row.coverage_window * (canvas == 0).sum()
    )
    assert (sum(step.near for step in derived.steps) / max(len(directions), 1)) == pytest.approx(
        row.near_revisit_rate or 0
    )


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32 - 1))
def test_euler_number_is_skimages(seed: int) -> None:
    rng = np.random.default_rng(seed)
    picture = rng.random(tuple(rng.integers(1, 20, 2))) < rng.random()
    assert euler_number(picture) == skimage_euler(picture)


@pytest.mark.parametrize("posterior", ["last", "each"])
def test_posteriors_in_both_modes(posterior: Any) -> None:
    canvas = ink(L2, (0, 0, 32, 10), (100, 0, 107, 3))
    episode = episode_of(L2, (0, 0), ["right", "left", "right"], canvas)
    fake = Fake()
    derived = one(run_of(L2), episode, canvas, posterior=posterior, reader=EvidenceReader(fake))
    (row,) = derived.episodes
    assert row.posterior == posterior and row.posterior_version == "fake"
    assert np.shape(row.posterior_window) == (2, 10)
    for mode in ("window", "visible_exact"):
        *_, seen = evidence_canvases(canvas, [tuple(s.window) for s in derived.steps], L2, mode, each=False)
        expected = np.asarray(fake.posterior(seen[None])[0])
        assert getattr(row, f"posterior_{mode}") == pytest.approx(expected)
        read = [getattr(step, f"posterior_{mode}") is not None for step in derived.steps]
        assert read == ([True] * 4 if posterior == "each" else [False] * 3 + [True])
        gains = [getattr(step, f"ig_{mode}") for step in derived.steps]
        if posterior == "each":
            entropies = [getattr(step, f"entropy_{mode}") for step in derived.steps]
            assert gains[0] is None
            assert sum(gains[1:]) == pytest.approx(entropies[0] - entropies[-1])
            assert getattr(row, f"entropy_auc_{mode}") == pytest.approx(np.trapezoid(entropies) / 3)
        else:
            assert gains == [None] * 4
    assert row.answer_window is None and row.reasons["answer_window"] == "ambiguous", (
        "the second panel is tied"
    )


def test_each_distinct_canvas_is_read_once() -> None:
    fake = Fake()
    reader = EvidenceReader(fake)
    canvases = [ink(L1, (0, 0, i % 7 + 1, 5)) for i in range(700)]
    first = reader.read(canvases)
    assert fake.read == 7
    assert len(first) == 700 and np.array_equal(first[0], first[693])
    reader.read(canvases[:10])
    assert fake.read == 7


def test_calibration_of_a_reader() -> None:
    posteriors = np.full((8, 10), 0.1 / 9)
    posteriors[:, 3] = 0.9
    labels = np.array([3] * 6 + [4] * 2)
    accuracy, found = panel_calibration(posteriors, labels)
    assert (accuracy.estimate, accuracy.n) == (0.75, 8)
    assert found.ece == pytest.approx(0.15)
    tied, _ = panel_calibration(np.full((4, 10), 0.1), np.zeros(4, int))
    assert tied.estimate == 0, "a tied posterior is no answer, never digit 0"


@pytest.fixture
def store(sample_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A copy of the bundled runs without derived tables, and a fake reference reader."""
    folder = shutil.copytree(sample_store.path, tmp_path / "s", ignore=shutil.ignore_patterns("*_metrics"))
    monkeypatch.setattr(metrics, "EvidenceReader", lambda: EvidenceReader(Fake()))
    return Store(folder)


def test_metrics_are_computed_once_and_again_when_something_changed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    n1, n2 = (store.run_row(name)["n_episodes"] for name in ("l1", "l2"))
    assert metrics.ensure(store, ["l1"]) == n1
    assert metrics.ensure(store, ["l1"]) == 0
    assert metrics.ensure(store, ["l1", "l2"]) == n2
    assert metrics.ensure(store, ["l1", "l2"], "last") == n1 + n2
    assert metrics.ensure(store, ["l1", "l2"], "none") == 0, "never takes readings away"
    assert metrics.ensure(store, ["l2"], "each") == n2
    assert metrics.ensure(store, ["l2"], "last") == 0
    monkeypatch.setattr(Fake, "version", "newer")
    assert metrics.ensure(store, ["l1"], "last") == n1
    assert metrics.ensure(store, ["l1", "l2"]) == 0
    monkeypatch.setattr(metrics, "VERSION", "next")
    monkeypatch.setattr(module, "VERSION", "next")
    assert metrics.ensure(store, ["l1"]) == n1
    rows = store.raw("episode_metrics").collect()
    assert rows.height == n1 + n2
    assert rows.select("ingest_id", "episode_id").is_unique().all()


def test_a_crash_between_the_tables_is_made_good(store: Store) -> None:
    metrics.ensure(store, ["l1", "l2"])
    ingest = store.run_row("l1")["ingest_id"]
    steps = store.raw("step_metrics").select(pl.len()).collect().item()
    some = store.raw("episode_metrics").filter(pl.col("ingest_id") == ingest).collect()["episode_id"][0]
    store.delete_rows("episode_metrics", f"ingest_id = '{ingest}' AND episode_id = '{some}'")
    assert metrics.ensure(store, ["l1", "l2"]) == store.run_row("l1")["n_episodes"]
    assert store.raw("step_metrics").select(pl.len()).collect().item() == steps
    store.remove("l1")
    assert ingest not in set(store.raw("step_metrics").collect()["ingest_id"])


def test_columns_of_another_version_are_computed_again(store: Store) -> None:
    from deltalake import write_deltalake

    metrics.ensure(store, ["l1"])
    old = store.raw("episode_metrics").collect().drop("coverage_window").to_arrow()
    write_deltalake(store.uri("episode_metrics"), old, mode="overwrite", schema_mode="overwrite")
    assert not metrics.is_current(store, "episode_metrics")
    assert metrics.ensure(store, ["l1"]) == store.run_row("l1")["n_episodes"]
    assert metrics.is_current(store, "episode_metrics")
