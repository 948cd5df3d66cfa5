"""Drafts to canonical records: the run they belong to, windows, canvas, answer and counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...schemas import Canvas, Diagnostic, Episode, Geometry, Image, Run
from ...schemas.enums import Memory, StopReason
from ..episodes import finish, json_type, run_id, settle_answer
from ..world.canvas import build_canvas, from_png, pixel_hash, to_png
from ..world.digits import Digits
from ..world.env import official_answer
from .content import read_picture
from .facts import read_time, side
from .json_text import as_text, dumps, whole
from .messages import Draft
from .pictures import View
from .windows import Frames, infer_geometry, place_windows

Item = Run | Episode | Canvas | Image | Diagnostic

_CONDITION = (
    "run",
    "model",
    "agent",
    "memory",
    "horizon",
    "turn_mode",
    "harness",
    "arm",
    "seed",
    "t_max",
    "window",
    "stride",
    "panel",
    "n_panels",
    "draw_border",
)
_MEMORIES: dict[str, Memory] = {
    "event_logging": "image_only",
    "image_only_baseline": "image_only",
    "textual_belief_state": "textual_state",
    **{
        name: name
        for name in (
            "image_only",
            "textual_state",
            "metric_grid_map",
            "visual_buffer",
            "online_canvas",
            "none",
        )
    },
}
_STOPS: dict[str, StopReason] = {
    "answered": "answered",
    "step_limit": "step_limit",
    "invalid_action": "invalid_action",
    "no_answer": "no_answer",
    "error": "error",
    "running": "running",
}


class Runs:
    """Turns drafts into records; a `Run` goes before the first episode of each condition, and again on a change.

    Args:
        name: name of runs that the source does not name.
        source_format: name of the adapter.
        digits: used to rebuild canvases.
    """

    def __init__(self, name: str, source_format: str, digits: Digits) -> None:
        self._name, self._format, self._digits = name, source_format, digits
        self._runs: dict[str, dict[tuple[int, int] | None, Run]] = {}
        self._ids: dict[str, Counter[str]] = {}
        self._current: Run | None = None
        self._told: set[tuple[str, str]] = set()
        self._views: dict[str, View] = {}

    def items(self, draft: Draft) -> Iterator[Item]:
        """Records of one episode; whatever is wrong with it, the next one can be read."""
        try:
            yield from self._items(draft)
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            yield Diagnostic(
                code="episode_failed",
                message=message[:300],
                path=draft.path,
                episode_id=draft.episode.episode_id,
            )

    def _items(self, draft: Draft) -> Iterator[Item]:
        frames = Frames(draft, self._views)
        run = self._run(draft, frames)
        episode, geometry = draft.episode, run.geometry()
        canvas = _canvas(draft, frames, geometry, self._digits)
        place_windows(draft, frames, geometry, canvas)
        canvas, known = _partial(draft, frames, geometry, canvas)
        _settle_ending(draft, run)
        self._unique_id(draft, run)
        if geometry is None:
            _reason(episode, "geometry", "geometry_unknown")
        if canvas is not None:
            episode.canvas = pixel_hash(canvas)
        finish(episode, geometry)
        if known is not None:
            episode.world_key = None
        if run is not self._current:
            self._current = run
            yield run
        if canvas is not None and episode.canvas:
            mask = None if known is None else to_png(known)
            height, width = canvas.shape
            yield Canvas(canvas=episode.canvas, png=to_png(canvas), known=mask, width=width, height=height)
        yield from (Image(image=digest, data=data) for digest, data in draft.images.items())
        yield from self._problems(draft, run)
        yield episode

    def _problems(self, draft: Draft, run: Run) -> Iterator[Diagnostic]:
        """Diagnostics of an episode; what is the same for a whole run is said once."""
        for code, count in draft.lost.items():
            draft.note(code, f"{count} picture(s)")
        for problem in draft.problems:
            problem.episode_id = draft.episode.episode_id
            if problem.code in ("windows_recovered", "geometry_assumed"):
                if (run.run_id, problem.code) in self._told:
                    continue
                self._told.add((run.run_id, problem.code))
            yield problem

    def _run(self, draft: Draft, frames: Frames) -> Run:
        facts = draft.facts
        alike = self._runs.setdefault(dumps([str(facts.get(name)) for name in _CONDITION]), {})
        if (stated := frames.stated_shape()) and stated in alike:
            return alike[stated]
        shape = frames.shape()
        if shape is None and alike:
            return next(iter(alike.values()))
        if shape not in alike:
            run = _make_run(facts, facts.get("run") or self._name, self._format, draft.version)
            infer_geometry(run, draft, frames)
            run.run_id = run_id(run)
            alike[shape] = run
            self._ids[run.run_id] = Counter()
        return alike[shape]

    def _unique_id(self, draft: Draft, run: Run) -> None:
        episode, given = draft.episode, self._ids[run.run_id]
        if episode.repeat and given[episode.episode_id]:
            episode.episode_id = f"{episode.episode_id}~{episode.repeat + 1}"
        given[episode.episode_id] += 1
        count = given[episode.episode_id]
        if count > 1:
            draft.note("duplicate_episode_id", f"{episode.episode_id} appears again; kept as another episode")
            episode.episode_id = f"{episode.episode_id}~{count}"


def _make_run(facts: dict[str, Any], name: Any, source_format: str, version: str | None) -> Run:
    memory = as_text(facts.get("memory"))
    harness = facts.get("harness")
    created = facts.get("created")
    return Run(
        run=str(name),
        agent=as_text(facts.get("agent")),
        model=as_text(facts.get("model")),
        settings=facts.get("settings"),
        memory=_MEMORIES.get(memory or ""),
        memory_raw=memory,
        horizon=whole(facts.get("horizon")),
        turn_mode=as_text(facts.get("turn_mode")),
        harness=harness if harness in ("turn_based", "natural", "mcp", "none") else None,
        arm=as_text(facts.get("arm")),
        window=side(facts.get("window")),
        stride=whole(facts.get("stride")),
        panel=whole(facts.get("panel")),
        n_panels=whole(facts.get("n_panels")),
        draw_border=facts.get("draw_border"),
        t_max=whole(facts.get("t_max")),
        seed=whole(facts.get("seed")),
        source_format=source_format,
        source_version=version,
        created=read_time(created),
        created_raw=as_text(created),
    )


def _reason(episode: Episode, column: str, reason: str) -> None:
    episode.reasons = (episode.reasons or {}) | {column: reason}


def _canvas(draft: Draft, frames: Frames, geometry: Geometry | None, digits: Digits) -> np.ndarray | None:
    """The whole hidden canvas: recorded, or rebuilt from the digit indices."""
    episode = draft.episode
    indices = draft.facts.get("digit_indices")
    indices = [whole(value) for value in (indices if isinstance(indices, list) else [indices])]
    if indices and None not in indices:
        episode.digit_indices = indices  # type: ignore[assignment]
    recorded = _recorded(draft)
    rebuilt = _rebuilt(draft, geometry, digits)
    if recorded is not None and rebuilt is not None and not np.array_equal(recorded, rebuilt):
        draft.note(
            "canvas_mismatch", "the recorded canvas differs from that of the digit indices; it was taken"
        )
    return recorded if recorded is not None else rebuilt


def _recorded(draft: Draft) -> np.ndarray | None:
    value = draft.facts.get("canvas")
    if value is None:
        return None
    picture = read_picture(value, draft.open_file)
    try:
        pixels = from_png(picture.data or b"")
    except ValueError as error:
        draft.note("image_unreadable", f"the canvas: {picture.detail or error}")
        return None
    return np.where(pixels > 127, 255, 0).astype(np.uint8)


def _rebuilt(draft: Draft, geometry: Geometry | None, digits: Digits) -> np.ndarray | None:
    indices = draft.episode.digit_indices
    if geometry is None or not indices or len(indices) != geometry.n_panels:
        return None
    try:
        return build_canvas([digits.image(index) for index in indices], geometry.panel)
    except KeyError as error:
        draft.note("digits_unavailable", str(error.args[0]))
        return None


def _partial(
    draft: Draft, frames: Frames, geometry: Geometry | None, canvas: np.ndarray | None
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """The canvas and, where it is put together from glimpses, the mask of what is known of it."""
    if canvas is not None:
        return canvas, None
    assembled = frames.assemble(geometry)
    if assembled is None:
        draft.note("canvas_unknown", "neither a canvas nor known digits nor glimpses to put together")
        _reason(draft.episode, "canvas", "canvas_unknown")
        return None, None
    draft.note("canvas_partial", f"{assembled[1].mean():.0%} of the canvas is known from glimpses")
    _reason(draft.episode, "canvas", "canvas_partial")
    return assembled


def _settle_ending(draft: Draft, run: Run) -> None:
    episode, facts = draft.episode, draft.facts
    episode.label = as_text(facts.get("label"))
    if episode.label is not None and not isinstance(facts["label"], str):
        # A label kept as a number has lost its leading zeros.
        episode.label = episode.label.zfill(run.n_panels or 0)
    n_panels = run.n_panels or (len(episode.label) if episode.label else None)
    _settle_answer(draft, n_panels)
    episode.termination_raw = episode.termination_raw or as_text(facts.get("termination"))
    episode.success = facts.get("success", episode.success)
    episode.error = as_text(facts.get("error")) or episode.error
    episode.control_answer = as_text(facts.get("control_answer"))
    episode.control_success = facts.get("control_success")
    episode.execution_position = whole(facts.get("execution_position"))
    episode.stop_reason = _stop_reason(draft, run)
    episode.complete = episode.stop_reason != "running" and episode.complete
    episode.lossy = episode.lossy or "lossy_image" in draft.lost
    if episode.label is None:
        _reason(episode, "label", "label_unknown")


def _settle_answer(draft: Draft, n_panels: int | None) -> None:
    episode, listed = draft.episode, as_text(draft.facts.get("answer"))
    given: str | None = None
    if draft.answers:
        value = draft.answers[0]
        episode.answer_raw, episode.answer_raw_type = dumps(value), json_type(value)
        given = official_answer(value, n_panels or 2)
    episode.answer_source = listed if listed is not None else given
    if given is not None and listed is not None and given != listed:
        draft.note("answer_conflict", f"the agent gave {given!r}, the log ends with {listed!r}")
    if given is None:
        given = listed
    settle_answer(episode, n_panels, given)


def _stop_reason(draft: Draft, run: Run) -> StopReason:
    episode = draft.episode
    if episode.error is not None:
        return "error"
    named = _STOPS.get(episode.termination_raw or "")
    if named:
        return named
    if draft.answers or episode.answer_source is not None:
        return "answered"
    if not episode.complete:
        return "running"
    if episode.steps and episode.steps[-1].action_kind == "invalid":
        return "invalid_action"
    if run.t_max is not None and sum(s.action_kind != "look" for s in episode.steps) >= run.t_max:
        return "step_limit"
    return "unknown" if episode.termination_raw else "no_answer"
