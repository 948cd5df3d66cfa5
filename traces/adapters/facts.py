"""What a source says about world and condition beside the messages: one list of names for all formats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from .json_text import point, whole

NAMES: dict[str, tuple[str, ...]] = {
    "run": ("run", "run_name"),
    "source_episode_id": ("source_episode_id", "episode_id", "episode", "sample_id"),
    "label": ("label", "ground_truth_label", "ground_truth", "true_label", "target"),
    "digit_indices": ("digit_indices", "indices", "eval_index"),
    "canvas": ("canvas", "canvas_png", "original_png"),
    "start": ("start", "start_window"),
    "windows": ("windows_source", "windows"),
    "window": ("window", "box_size", "window_size"),
    "stride": ("stride", "step_size"),
    "panel": ("panel", "image_size", "panel_size"),
    "n_panels": ("n_panels", "digits", "n_digits", "num_digits", "level"),
    "draw_border": ("draw_border",),
    "t_max": ("t_max", "max_steps"),
    "seed": ("seed",),
    "repeat": ("repeat", "epoch"),
    "memory": ("memory", "memory_raw"),
    "horizon": ("horizon", "history_length"),
    "turn_mode": ("turn_mode",),
    "harness": ("harness",),
    "arm": ("arm",),
    "agent": ("agent", "agent_name"),
    "model": ("model", "model_name"),
    "answer": ("answer_source", "answer", "final_answer", "prediction", "submission"),
    "success": ("success", "correct", "solved"),
    "termination": ("termination_raw", "termination_reason", "termination"),
    "error": ("error",),
    "control_answer": ("control_answer", "control_prediction"),
    "control_success": ("control_success",),
    "execution_position": ("execution_position",),
}
"""Canonical name to the names under which sources have it, in order of preference."""

_NAME_OF = {alias: name for name, aliases in NAMES.items() for alias in aliases}
_CONTAINERS = (
    "mnistpro_replay",
    "metadata",
    "extra",
    "run_config",
    "config",
    "task_args",
    "info",
    "env",
)
_POSITIONS = ("window_after", "window", "position", "pos")


def gather(*sources: Any) -> dict[str, Any]:
    """Facts by canonical name; the first source that has one wins, our own container before all else."""
    found: dict[str, Any] = {}
    for source in sources:
        for mapping in _flatten(source):
            for name in dict.fromkeys(_NAME_OF[key] for key in mapping if key in _NAME_OF):
                value = next((mapping[a] for a in NAMES[name] if _fits(name, mapping.get(a))), None)
                if value is not None:
                    found.setdefault(name, value)
    return found


def _flatten(source: Any, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    if not isinstance(source, dict) or depth > 2:
        return
    for name in _CONTAINERS:
        yield from _flatten(source.get(name), depth + 1)
    yield source


def _fits(name: str, value: Any) -> bool:
    """Whether a value can be what its name says: `window` is a side here, a position elsewhere."""
    if value is None:
        return False
    if name in ("stride", "panel", "n_panels", "t_max", "seed", "repeat", "horizon", "execution_position"):
        return whole(value) is not None
    if name == "window":
        return side(value) is not None
    if name == "start":
        return point(value) is not None
    if name in ("success", "control_success", "draw_border"):
        return isinstance(value, bool)
    if name in ("windows", "digit_indices"):
        return isinstance(value, (list, int))
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)


def side(value: Any) -> int | None:
    """The side of a square window: a number, or a pair of equal ones."""
    if isinstance(value, (list, tuple)) and len(value) == 2 and value[0] == value[1]:
        value = value[0]
    return whole(value)


def position(facts: Any) -> tuple[int, int] | None:
    """A window's position among what a source says beside one observation."""
    if not isinstance(facts, dict):
        return None
    for name in _POSITIONS:
        value = facts.get(name)
        if isinstance(value, dict):
            value = [value.get("x"), value.get("y")]
        if (found := point(value)) is not None:
            return found
    return point([facts.get("x"), facts.get("y")])


def read_time(value: Any) -> datetime | None:
    """A time as UTC: ISO text (one without a zone is taken as UTC), `20260824_105544`, or Unix seconds.

    >>> read_time("2026-01-01T00:00:00").isoformat(), read_time("20260824_105544").hour
    ('2026-01-01T00:00:00+00:00', 10)
    """
    try:
        if isinstance(value, str):
            return _from_text(value)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def _from_text(value: str) -> datetime:
    if len(value) == 15 and value[8] == "_":
        return datetime.strptime(value, "%Y%m%d_%H%M%S").replace(tzinfo=UTC)
    time = datetime.fromisoformat(value)
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
