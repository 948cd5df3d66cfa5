"""One `trajectory.json` (or one entry of the summary) to one episode."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from ....schemas import DIRECTIONS, Diagnostic, Episode, Geometry, Point, Step, StepText, ToolCall
from ....schemas.enums import StopReason
from ...episodes import finish, json_type, settle_answer
from ..json_text import as_text, dumps, finite, point, whole

_STOP_REASONS: dict[str, StopReason] = {
    "answered": "answered",
    "step_limit": "step_limit",
    "invalid_action": "invalid_action",
}
_ERRORS_AFTER_REPLY = ("OverflowError",)
"""Errors that the world raises over a reply it received: the request was answered, its picture shown."""


@dataclass
class Context:
    """What an episode needs to know of its run and folder.

    Args:
        geometry: the run's geometry, where known.
        n_panels: digits that an answer has.
        path: path of the file that is read, for diagnostics.
        strict: whether the file was strict JSON (no NaN, Infinity or surrogates inside).
        pictures: file of the picture after n steps, by n.
        image: reads a picture and gives its sha256, or None where it cannot be read.
    """

    geometry: Geometry | None
    n_panels: int | None
    path: str
    strict: bool
    pictures: Mapping[int, str]
    image: Callable[[str], str | None]
    problems: list[Diagnostic] = field(default_factory=list)

    def note(self, code: str, message: str, position: str | None = None) -> None:
        """Record a diagnostic about the file."""
        self.problems.append(Diagnostic(code=code, message=message[:300], path=self.path, position=position))


def read_trajectory(data: dict[str, Any], source_id: str, context: Context) -> Episode:
    """Make the episode; what is wrong with single fields becomes null and a diagnostic."""
    episode = Episode(episode_id=source_id, source_episode_id=source_id)
    episode.label = as_text(data.get("label"))
    episode.digit_indices = _indices(data, context)
    entries = _entries(data, context)
    for number, entry in enumerate(entries):
        _add_step(episode, number, entry, context)
    _read_ending(episode, data, context)
    episode.windows_source = _windows(data, context)
    _place_start(episode, context)
    _mark_shown(episode, data)
    _read_driver(episode, data, context)
    _read_answer(episode, data, entries, context)
    _check_windows(episode, context)
    return finish(episode, context.geometry)


def _indices(data: dict[str, Any], context: Context) -> list[int] | None:
    raw = data.get("indices", data.get("eval_index"))
    values = raw if isinstance(raw, list) else [raw]
    indices = [whole(value) for value in values]
    if raw is None or None in indices or min(indices) < 0:  # type: ignore[type-var]
        if raw is not None:
            context.note("invalid_value", f"digit indices are {raw!r}", "indices")
        return None
    return indices  # type: ignore[return-value]


def _entries(data: dict[str, Any], context: Context) -> list[dict[str, Any]]:
    raw = data.get("trajectory")
    if not isinstance(raw, list):
        code = "missing_field" if raw is None else "invalid_value"
        context.note(code, f"trajectory is {json_type(raw)}, not a list", "trajectory")
        return []
    entries = []
    for number, entry in enumerate(raw):
        if isinstance(entry, dict):
            entries.append(entry)
        else:
            context.note(
                "record_skipped", f"a step is {json_type(entry)}, not an object", f"trajectory[{number}]"
            )
    return entries


def _add_step(episode: Episode, number: int, entry: dict[str, Any], context: Context) -> None:
    action = entry.get("action")
    fields = action if isinstance(action, dict) else {}
    kind = fields.get("action")
    direction = fields.get("direction") if kind == "move" else None
    move = kind == "move"
    valid = kind == "answer" or (move and isinstance(direction, str) and direction in DIRECTIONS)
    step = Step(
        step=number,
        source_step=as_text(entry.get("step")),
        action_kind="move" if move else "answer" if kind == "answer" else "invalid",
        action_raw=_action_text(action, context.strict),
        direction=as_text(direction),
        valid=valid,
        window_before=point(entry.get("window_before")),
        window_after=point(entry.get("window_after")),
        reward=_number(entry, "reward", number, context),
        env_latency=_number(entry, "latency_s", number, context),
    )
    _read_usage(step, entry.get("usage"))
    if move and valid:
        _check_move(step, context)
    picture = context.pictures.get(number + 1)
    step.image = context.image(picture) if picture else None
    step.image_status = "present" if step.image else "missing"
    episode.steps.append(step)
    raw_reply = as_text(entry.get("raw_response"))
    thought, spatial_map = fields.get("thought"), fields.get("spatial_map")
    if raw_reply is not None or thought is not None:
        episode.step_texts.append(
            StepText(step=number, thought=as_text(thought), spatial_map=spatial_map, raw_reply=raw_reply)
        )


def _action_text(action: Any, strict: bool) -> str | None:
    if action is None:
        return None
    return orjson.dumps(action).decode() if strict else dumps(action)


def _number(entry: dict[str, Any], name: str, number: int, context: Context) -> float | None:
    value = entry.get(name)
    result = finite(value)
    if result is None and value is not None:
        code = "non_finite" if isinstance(value, float) else "invalid_value"
        context.note(code, f"{name} is {value!r}", f"trajectory[{number}].{name}")
    return result


def _read_usage(record: Step | Episode, usage: Any) -> None:
    """Split usage in the style of OpenAI, whose prompt tokens include the cached ones."""
    if not isinstance(usage, dict):
        return
    prompt, cached = whole(usage.get("prompt_tokens")), None
    details = usage.get("prompt_tokens_details")
    if isinstance(details, dict):
        cached = whole(details.get("cached_tokens"))
    if prompt is not None:
        record.tokens_input = prompt - (cached or 0)
    record.tokens_cache_read = cached
    record.tokens_output = whole(usage.get("completion_tokens"))
    details = usage.get("completion_tokens_details")
    if isinstance(details, dict):
        record.tokens_reasoning = whole(details.get("reasoning_tokens"))


def _check_move(step: Step, context: Context) -> None:
    if context.geometry is None or step.window_before is None:
        return
    reached, step.clipped = context.geometry.move(step.window_before, step.direction or "")
    if step.window_after is None:
        step.window_after = reached
    elif reached != step.window_after:
        message = (
            f"{step.direction} from {step.window_before} gives {reached}, the log has {step.window_after}"
        )
        context.note("windows_conflict", message, f"trajectory[{step.step}]")


def _windows(data: dict[str, Any], context: Context) -> list[Point] | None:
    raw = data.get("windows")
    if not isinstance(raw, list):
        context.note("missing_field" if raw is None else "invalid_value", "no list of windows", "windows")
        return None
    windows = [point(value) for value in raw]
    if None in windows:
        context.note(
            "invalid_value", "a window is no pair of whole numbers", f"windows[{windows.index(None)}]"
        )
        return None
    return windows  # type: ignore[return-value]


def _place_start(episode: Episode, context: Context) -> None:
    first = episode.steps[0].window_before if episode.steps else None
    listed = episode.windows_source[0] if episode.windows_source else None
    episode.start = first or listed
    picture = context.pictures.get(0)
    episode.start_image = context.image(picture) if picture else None
    episode.start_image_status = "present" if episode.start_image else "missing"


def _read_ending(episode: Episode, data: dict[str, Any], context: Context) -> None:
    error, raw = data.get("error"), data.get("termination_reason")
    episode.error = as_text(error)
    episode.termination_raw = as_text(raw)
    episode.success = _flag(data, "success", context)
    episode.control_success = _flag(data, "control_success", context)
    episode.control_answer = as_text(data.get("control_prediction"))
    episode.reward = finite(data.get("total_reward"))
    if episode.error is not None:
        episode.stop_reason = "error"
    elif raw == "running":
        episode.stop_reason = "no_answer" if "driver" in data else "running"
    elif isinstance(raw, str) and raw in _STOP_REASONS:
        episode.stop_reason = _STOP_REASONS[raw]
    else:
        context.note("invalid_value", f"termination_reason is {raw!r}", "termination_reason")
    episode.complete = episode.stop_reason != "running"


def _flag(data: dict[str, Any], name: str, context: Context) -> bool | None:
    value = data.get(name)
    if value is not None and not isinstance(value, bool):
        context.note("invalid_value", f"{name} is {value!r}", name)
        return None
    return value


def _mark_shown(episode: Episode, data: dict[str, Any]) -> None:
    """Decide which pictures were put before the agent (design, counting rule 1)."""
    moves = [step for step in episode.steps if step.action_kind == "move" and step.valid]
    deliveries = data.get("deliveries")
    if isinstance(deliveries, list) or data.get("harness") == "mcp":
        delivered = len(deliveries) if isinstance(deliveries, list) else len(moves)
        for number, step in enumerate(moves):
            step.shown = number < delivered
        return
    last_answered = (episode.error or "").startswith(_ERRORS_AFTER_REPLY)
    for step in moves:
        step.shown = step.step < len(episode.steps) - 1 or last_answered
    episode.start_shown = bool(episode.steps) or last_answered


def _read_driver(episode: Episode, data: dict[str, Any], context: Context) -> None:
    driver = data.get("driver")
    if not isinstance(driver, dict):
        return
    _read_usage(episode, driver.get("usage_totals"))
    transcript = driver.get("transcript")
    moves = iter(step.step for step in episode.steps if step.action_kind == "move")
    answers = iter(step.step for step in episode.steps if step.action_kind == "answer")
    for position, call in enumerate(transcript if isinstance(transcript, list) else []):
        if not isinstance(call, dict):
            context.note("record_skipped", "a tool call is no object", f"driver.transcript[{position}]")
            continue
        tool, failed = as_text(call.get("tool")) or "", call.get("is_error") is True
        made = None if failed else next(moves, None) if tool.endswith("move") else None
        if not failed and tool.endswith("submit"):
            made = next(answers, None)
        record = ToolCall(
            position=position, step=made, tool=tool, arguments=call.get("arguments"), is_error=failed
        )
        episode.tool_calls.append(record)


def _read_answer(
    episode: Episode, data: dict[str, Any], entries: list[dict[str, Any]], context: Context
) -> None:
    episode.answer_source = as_text(data.get("answer"))
    last = entries[-1].get("action") if entries else None
    if isinstance(last, dict) and last.get("action") == "answer":
        episode.answer_raw = dumps(last.get("value"))
        episode.answer_raw_type = json_type(last.get("value"))
    settle_answer(episode, context.n_panels, episode.answer_source)
    if context.n_panels and episode.label is not None and len(episode.label) > context.n_panels:
        message = f"label {episode.label!r} on a canvas of {context.n_panels} digit(s)"
        context.note("label_too_long", message, "label")


def _check_windows(episode: Episode, context: Context) -> None:
    """The list of windows against the steps, in the official counting (rejected directions add a duplicate)."""
    if episode.windows_source is None:
        return
    moved = [step.window_after for step in episode.steps if step.action_kind == "move"]
    if None not in moved and [episode.start, *moved] != episode.windows_source:
        context.note("windows_conflict", "windows and steps disagree; the steps were taken", "windows")
