"""Where the windows were: from positions in the log, from pictures, or by following the moves."""

from __future__ import annotations

import numpy as np

from ...schemas import DIRECTIONS, UNSEEN, Geometry, Point, Run, Step
from ..world.canvas import start_window
from .json_text import point
from .messages import Draft
from .pictures import FoundWindow, View, look, png_shape

_PUBLISHED_WINDOW, _PUBLISHED_PANEL = 64, 224
# About 5 kB each.
_KEPT_VIEWS = 4096


class Frames:
    """The pictures of one draft, decoded when they are asked for.

    Args:
        draft: its pictures are looked at.
        views: what pictures show, by sha256; shared between drafts, whose pictures are often the same.
    """

    def __init__(self, draft: Draft, views: dict[str, View]) -> None:
        self._draft = draft
        self._views = views
        self._told: set[str] = set()

    def _view(self, digest: str | None) -> View | None:
        data = self._draft.images.get(digest) if digest else None
        if digest is None or data is None:
            return None
        view = self._views.get(digest)
        if view is None:
            if len(self._views) >= _KEPT_VIEWS:
                self._views.clear()
            view = self._views[digest] = look(data)
        if view.problem and digest not in self._told:
            self._told.add(digest)
            self._draft.note(*view.problem)
        return view

    def found(self, digest: str | None) -> FoundWindow | None:
        """The window that a picture shows; None without one, and for a lossy picture, whose edges are not certain."""
        view = self._view(digest)
        return view.window if view and view.exact else None

    def guess(self, digest: str | None) -> FoundWindow | None:
        """The window that a picture shows, lossy ones included."""
        view = self._view(digest)
        return view.window if view else None

    def stated_shape(self) -> tuple[int, int] | None:
        """Height and width in the first picture's header: nothing is decoded, so that it may be a crop."""
        data = self._draft.images.get(next(iter(self._glimpses()), ""), b"")
        return png_shape(data)

    def shape(self) -> tuple[int, int] | None:
        """Height and width of the pictures; None without pictures of the canvas' size."""
        view = self._view(next(iter(self._glimpses()), None))
        return None if view is None or view.is_crop else view.shape

    def any_window(self) -> FoundWindow | None:
        """The first window with a known side."""
        windows = (self.guess(digest) for digest in self._glimpses())
        return next((window for window in windows if window and window.side), None)

    def _glimpses(self) -> list[str]:
        episode = self._draft.episode
        named = [episode.start_image, *(step.image for step in episode.steps)]
        return [digest for digest in named if digest is not None]

    def assemble(self, geometry: Geometry | None) -> tuple[np.ndarray, np.ndarray] | None:
        """Put the glimpses together.

        Returns:
            uint8 canvas (H, W), unknown pixels 128, and the bool mask of the known ones; None without glimpses.
        """
        if geometry is None:
            return None
        canvas = np.full((geometry.height, geometry.width), UNSEEN, np.uint8)
        for glimpse in self._draft.episode.reached():
            view = self._view(glimpse.image)
            if view is None or glimpse.window is None or not (view.is_crop or view.shape == canvas.shape):
                continue
            # A crop begins at the window, what is lit of a whole picture where its box does.
            x, y = glimpse.window if view.is_crop else view.box[:2]
            x0, y0, x1, y1 = geometry.box(glimpse.window, "visible_exact")
            part = view.pixels[y0 - y : y1 - y, x0 - x : x1 - x] if x0 >= x and y0 >= y else view.pixels[:0]
            if part.shape == (y1 - y0, x1 - x0):
                canvas[y0:y1, x0:x1] = part
        known = canvas != UNSEEN
        return (canvas, known) if known.any() else None


def infer_geometry(run: Run, draft: Draft, frames: Frames) -> None:
    """Fill what the source does not say of the run's geometry from its pictures; the stride may be assumed."""
    shape, window = (
        frames.shape(),
        frames.any_window() if run.window is None or run.draw_border is None else None,
    )
    if shape and shape[1] % shape[0] == 0:
        run.panel = run.panel or shape[0]
        run.n_panels = run.n_panels or shape[1] // shape[0]
    if window:
        run.window = run.window or window.side
        run.draw_border = window.outlined if run.draw_border is None else run.draw_border
    label, indices = draft.facts.get("label"), draft.facts.get("digit_indices")
    if run.n_panels is None and (isinstance(indices, list) or isinstance(label, str)):
        run.n_panels = len(indices) if isinstance(indices, list) else len(str(label))
    if run.n_panels and None in (run.window, run.panel) and indices is not None:
        run.window, run.panel = run.window or _PUBLISHED_WINDOW, run.panel or _PUBLISHED_PANEL
        draft.note("geometry_assumed", f"window {run.window}, panel {run.panel} as published")
    if run.window and run.stride is None:
        run.stride = _stride(draft, frames)
        if run.stride is None:
            run.stride = run.window // 2
            draft.note("geometry_assumed", f"stride {run.stride}: half the window, as published")
    run.level = run.level or run.n_panels
    try:
        run.geometry()
    except ValueError as error:
        draft.note("invalid_value", str(error))
        run.window = run.stride = run.panel = None


def _stride(draft: Draft, frames: Frames) -> int | None:
    """The longest shift between the windows of two successive glimpses."""
    at = [frames.found(glimpse.image) for glimpse in draft.episode.reached()]
    pairs = zip(at, at[1:], strict=False)
    shifts = [
        max(abs(a.position[0] - b.position[0]), abs(a.position[1] - b.position[1]))
        for a, b in pairs
        if a and b
    ]
    return max(shifts, default=0) or None


def place_windows(draft: Draft, frames: Frames, geometry: Geometry | None, canvas: np.ndarray | None) -> None:
    """Fill start and windows of the steps.

    A position in the log and one in the picture must agree, else the window is null. Where the world's rules lead to
    the position in the log, the picture is not looked at here: `verify` compares every one. Where there is neither,
    the move is followed from the window before.
    """
    episode = draft.episode
    seen = int(_place_start(draft, frames, geometry, canvas))
    at = episode.start
    for step in episode.steps:
        step.window_before = at
        if step.action_kind == "move" and step.valid:
            at, by_picture = _place(step, at, draft, frames, geometry)
            seen += by_picture
        else:
            step.window_after = at
    if seen:
        draft.note("windows_recovered", "windows recovered from pictures")
    listed = draft.facts.get("windows")
    windows = [point(window) for window in listed] if isinstance(listed, list) else [None]
    if None not in windows:
        episode.windows_source = windows  # type: ignore[assignment]
    else:
        episode.reasons = (episode.reasons or {}) | {"windows_source": "not_recorded"}
    if any(glimpse.window is None for glimpse in episode.reached()):
        draft.note("windows_unknown", "some windows are neither recorded nor recoverable")


def _place_start(draft: Draft, frames: Frames, geometry: Geometry | None, canvas: np.ndarray | None) -> bool:
    """Fill the start; returns whether only the picture says where it is."""
    episode, given = draft.episode, draft.facts.get("start")
    recorded: Point | None = episode.start or (tuple(given) if given else None)
    if recorded is not None and recorded == _start_by_rule(canvas, geometry):
        episode.start = recorded
        return False
    episode.start, by_picture = _agree(draft, frames, recorded, episode.start_image, geometry, "the start")
    if episode.start is None:
        episode.start = _start_by_rule(canvas, geometry)
    if episode.start is None and (guessed := frames.guess(episode.start_image)):
        episode.start = guessed.position
    return by_picture


def _start_by_rule(canvas: np.ndarray | None, geometry: Geometry | None) -> Point | None:
    return start_window(canvas, geometry) if geometry and canvas is not None else None


def _place(
    step: Step, at: Point | None, draft: Draft, frames: Frames, geometry: Geometry | None
) -> tuple[Point | None, bool]:
    """Fill the window after a move; returns where the next one starts, and whether only the picture says so."""
    reached, clipped, by_picture = None, None, False
    if at is not None and geometry is not None and step.direction in DIRECTIONS:
        reached, clipped = geometry.move(at, step.direction)
    if reached is None or step.window_after != reached:
        where, problems = f"step {step.step}", len(draft.problems)
        step.window_after, by_picture = _agree(draft, frames, step.window_after, step.image, geometry, where)
        if reached is None or (step.window_after is None and len(draft.problems) > problems):
            return step.window_after, by_picture
    step.window_after = step.window_after or reached
    if step.window_after == reached:
        step.clipped = clipped
    else:
        message = f"step {step.step}: {step.direction} from {at} gives {reached}, not {step.window_after}"
        draft.note("windows_conflict", message)
    return step.window_after, by_picture


def _agree(
    draft: Draft,
    frames: Frames,
    recorded: Point | None,
    image: str | None,
    geometry: Geometry | None,
    where: str,
) -> tuple[Point | None, bool]:
    """The window from log and picture, and whether it comes from the picture alone."""
    found = frames.found(image)
    if found is None:
        return recorded, False
    if geometry and found.side not in (None, geometry.window):
        message = f"{where}: the window measures {found.side} pixels, not {geometry.window}"
    elif recorded not in (None, found.position):
        message = f"{where}: the log has {recorded}, the picture {found.position}"
    else:
        return found.position, recorded is None
    draft.note("windows_conflict", message)
    return None, False
