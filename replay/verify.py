"""Does the replay show exactly what the agent was shown? Every recorded picture is rendered again and compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from ..schemas import Episode, Geometry, Point
from ..traces.adapters.pictures import WindowNotFound, find_window
from ..traces.store import Store
from ..traces.world import from_png, observe

Verdict = Literal["exact", "outline_only", "mismatch", "not_checkable"]
VERDICTS: tuple[Verdict, ...] = ("exact", "outline_only", "mismatch", "not_checkable")


class Finding(NamedTuple):
    """Verdict on one picture, or on one move: the step (None for the start), and why."""

    run: str
    episode: str
    step: int | None
    verdict: Verdict
    reason: str | None


class Picture(NamedTuple):
    """A recorded picture (sha256, or None) and the window that it should show."""

    step: int | None
    image: str | None
    status: str | None
    window: Point | None


@dataclass
class Verification:
    """Counts of verdicts, reasons of what could not be checked, and the mismatches."""

    counts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    mismatches: list[Finding] = field(default_factory=list)

    def add(self, finding: Finding) -> None:
        """Take one finding."""
        self.counts[finding.verdict] += 1
        if finding.verdict == "not_checkable":
            self.reasons[finding.reason or "not_recorded"] += 1
        if finding.verdict == "mismatch":
            self.mismatches.append(finding)

    @property
    def checked(self) -> int:
        """Pictures that could be compared."""
        return sum(self.counts[verdict] for verdict in VERDICTS[:3])


def compare(
    recorded: np.ndarray, canvas: np.ndarray, window: Point, geometry: Geometry
) -> tuple[Verdict, str | None]:
    """Compare a recorded picture with the one that the window should show.

    Args:
        recorded: uint8 RGB (H, W, 3).
        canvas: the hidden canvas, uint8 (H, W).
        window: where the agent was.
        geometry: the run's.

    Returns:
        the verdict and, for anything but `exact`, what differs.
    """
    expected = observe(canvas, window, geometry)
    if recorded.shape != expected.shape:
        (h, w), (eh, ew) = recorded.shape[:2], expected.shape[:2]
        return "mismatch", f"{w}x{h} pixels instead of {ew}x{eh}"
    differing = (recorded != expected).any(axis=2)
    if not differing.any():
        return "exact", None
    if not (differing & ~_ring(window, geometry)).any():
        return "outline_only", f"{int(differing.sum())} pixels of the outline differ"
    return "mismatch", f"{int(differing.sum())} pixels differ{_elsewhere(recorded, window)}"


def _ring(window: Point, geometry: Geometry) -> np.ndarray:
    """Pixels that an outline covers or would cover, those just outside the window included."""
    outer = np.zeros((geometry.height, geometry.width), dtype=bool)
    (x, y), w = window, geometry.window
    outer[y : y + w + 1, x : x + w + 1] = True
    outer[y + 2 : y + w - 1, x + 2 : x + w - 1] = False
    return outer


def _elsewhere(recorded: np.ndarray, window: Point) -> str:
    try:
        found = find_window(recorded).position
    except WindowNotFound:
        return ""
    return "" if found == window else f"; the picture shows the window at {found}, the trace {window}"


def recorded_pictures(episode: Episode) -> Iterator[Picture]:
    """Every picture that the source could have recorded: the start's and one after each step."""
    yield Picture(None, episode.start_image, episode.start_image_status, episode.start)
    window = episode.start
    for step in episode.steps:
        window = step.window_after or (window if step.action_kind != "move" else None)
        yield Picture(step.step, step.image, step.image_status, window)


def verify_episode(
    run: str,
    episode: Episode,
    geometry: Geometry | None,
    canvas: np.ndarray | None,
    images: Mapping[str, bytes],
) -> Iterator[Finding]:
    """Verdicts on the pictures of an episode, and on moves that do not lead where the trace says."""
    for picture in recorded_pictures(episode):
        verdict, reason = _judge(picture, geometry, canvas, images)
        yield Finding(run, episode.source_episode_id, picture.step, verdict, reason)
    if geometry is None:
        return
    for step in episode.steps:
        if step.action_kind != "move" or not step.valid or not (step.window_before and step.window_after):
            continue
        if step.direction is None:
            continue
        reached, _ = geometry.move(step.window_before, step.direction)
        if reached != step.window_after:
            reason = f"{step.direction} from {step.window_before} leads to {reached}, the trace has {step.window_after}"
            yield Finding(run, episode.source_episode_id, step.step, "mismatch", reason)


def _judge(
    picture: Picture, geometry: Geometry | None, canvas: np.ndarray | None, images: Mapping[str, bytes]
) -> tuple[Verdict, str | None]:
    if picture.image is None or picture.status != "present":
        known = {"redacted": "image_redacted", "remote": "image_remote", "lossy": "lossy_image"}
        return "not_checkable", known.get(picture.status or "", "not_recorded")
    if geometry is None:
        return "not_checkable", "geometry_unknown"
    if canvas is None:
        return "not_checkable", "canvas_unknown"
    if picture.window is None:
        return "not_checkable", "windows_unknown"
    if picture.image not in images:
        return "not_checkable", "image_missing"
    try:
        recorded = from_png(images[picture.image], "RGB")
    except ValueError:
        return "mismatch", "the recorded picture cannot be decoded"
    return compare(recorded, canvas, picture.window, geometry)


def verify(store: Store, run: str, ids: list[str] | None = None) -> Iterator[Finding]:
    """Verdicts on every recorded picture of a run (or of some of its episodes)."""
    episodes = store.episodes(run, ids)
    geometry = store.run(run).geometry()
    canvases = store.canvases(episode.canvas for episode in episodes if episode.canvas)
    for episode in episodes:
        wanted = [picture.image for picture in recorded_pictures(episode) if picture.image]
        images = store.images(wanted) if wanted else {}
        yield from verify_episode(run, episode, geometry, canvases.get(episode.canvas or ""), images)
