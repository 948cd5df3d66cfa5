"""An episode as one JSON object: everything that a player needs to step through it without asking again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Literal

from ..schemas import Episode, Geometry, Run, Step, StepText
from .layout import lay_out

TEXT_LIMIT = 20_000
"""Characters of a thought that a scene carries; the rest is asked for on demand."""

Picture = Callable[[Literal["canvas", "image"], str], str | None]
"""From the kind and hash of a picture to where a browser finds it, None where it is not kept."""


def scene(run: Run, episode: Episode, picture: Picture, *, canvas_known: bool) -> dict[str, Any]:
    """What a player shows, ready for JSON.

    A *moment* is a step together with the evidence that the agent had when it took it; the last one is the end of
    the episode where that was no answer.

    Args:
        run: the episode's run.
        episode: with its steps and texts.
        picture: gives the address of a picture.
        canvas_known: whether the hidden canvas can be had.

    Returns:
        the run's and the episode's facts, `geometry`, `canvas`, `glimpses`, `path`, `steps` and `moments`. What is
        unknown is null.
    """
    geometry, windows = run.geometry(), episode.windows()
    glimpses = episode.glimpses()
    texts = {text.step: text for text in episode.step_texts}
    retries = Counter(attempt.step for attempt in episode.attempts)
    return {
        "run": run.run,
        "episode": episode.source_episode_id,
        "model": run.model or run.agent,
        "memory": run.memory or run.memory_raw,
        "level": run.level,
        "t_max": run.t_max,
        "geometry": _geometry(geometry),
        "label": episode.label,
        "answer": episode.answer,
        "answer_raw": episode.answer_raw,
        "answer_status": episode.answer_status,
        "correct": episode.correct,
        "stop_reason": episode.stop_reason,
        "error": episode.error,
        "canvas": picture("canvas", episode.canvas) if canvas_known and episode.canvas else None,
        "glimpses": [
            {"step": g.step, "window": g.window, "image": picture("image", g.image) if g.image else None}
            for g in glimpses
        ],
        "path": _path(windows, geometry),
        "steps": [_step(step, texts.get(step.step), retries[step.step]) for step in episode.steps],
        "moments": _moments(episode),
    }


def _geometry(geometry: Geometry | None) -> dict[str, Any] | None:
    if geometry is None:
        return None
    return {
        "window": geometry.window,
        "stride": geometry.stride,
        "panel": geometry.panel,
        "n_panels": geometry.n_panels,
        "width": geometry.width,
        "height": geometry.height,
        "border": geometry.draw_border,
    }


def _path(windows: list[tuple[int, int]] | None, geometry: Geometry | None) -> dict[str, Any] | None:
    """Dots, lines and rings in canvas pixels."""
    if windows is None or geometry is None:
        return None
    layout = lay_out(windows, geometry)
    return {
        "centers": layout.centers,
        "segments": [[s.glimpse, *s.start, *s.end] for s in layout.segments],
        "rings": [{"center": ring.center, "glimpses": ring.glimpses} for ring in layout.rings],
    }


def _step(step: Step, text: StepText | None, retries: int) -> dict[str, Any]:
    thought = (text.thought if text else None) or ""
    return {
        "step": step.step,
        "kind": step.action_kind,
        "raw": (step.action_raw or "")[:200],
        "direction": step.direction,
        "valid": step.valid,
        "clipped": step.clipped,
        "shown": step.shown,
        "blocked": _blocked(step),
        "before": step.window_before,
        "after": step.window_after,
        "tokens_in": _sum(step.tokens_input, step.tokens_cache_read, step.tokens_cache_write),
        "tokens_out": step.tokens_output,
        "latency": step.model_latency,
        "retries": retries,
        "thought": thought[:TEXT_LIMIT],
        "thought_chars": len(thought),
        "map": text.spatial_map if text else None,
    }


def _blocked(step: Step) -> bool:
    moved = step.action_kind == "move" and step.valid and step.window_before and step.window_after
    return bool(moved) and step.window_before == step.window_after


def _sum(*values: int | None) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _moments(episode: Episode) -> list[dict[str, int | None]]:
    """For each moment the step taken (None at the end) and the last glimpse shown before it (None for none)."""
    shown = 1 if episode.start_shown and (episode.start or episode.start_image) else 0
    moments: list[dict[str, int | None]] = []
    for index, step in enumerate(episode.steps):
        moments.append({"step": index, "glimpse": shown - 1 if shown else None})
        shown += step.action_kind == "move" and step.valid and step.shown
    if not episode.steps or episode.steps[-1].action_kind != "answer":
        moments.append({"step": None, "glimpse": shown - 1 if shown else None})
    return moments
