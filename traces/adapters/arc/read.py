"""ARC-AGI-3 recordings to canonical records: a world without a window, whose frames are shown whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ....schemas import Diagnostic, Episode, Step, StepText
from ...world.canvas import to_png
from ...world.digits import Digits
from ..bundle import Bundle
from ..content import Picture
from ..facts import read_time
from ..json_text import as_text, dumps
from ..messages import Draft
from ..settle import Item, Runs
from ..transcripts import drain, read_lines, stem

VERSION = 1

_MOVES = {"ACTION1": "up", "ACTION2": "down", "ACTION3": "left", "ACTION4": "right"}
_NAMES = {number: f"ACTION{number}" for number in range(1, 8)} | {0: "RESET"}
_PALETTE = np.array(
    [
        (255, 255, 255), (204, 204, 204), (153, 153, 153), (102, 102, 102), (51, 51, 51), (0, 0, 0),
        (229, 58, 163), (255, 123, 204), (249, 60, 49), (30, 147, 255), (136, 216, 241), (255, 220, 0),
        (255, 133, 27), (146, 18, 49), (79, 204, 48), (163, 86, 214),
    ],
    np.uint8,
)  # fmt: skip


def read(bundle: Bundle, digits: Digits) -> Iterator[Item]:
    """Records of recordings: one file, one episode.

    Args:
        bundle: JSONL files.
        digits: not used; the world has no digits.
    """
    runs, problems = Runs(stem(bundle.name), "arc", digits), []
    for name in bundle.names():
        frames = list(_frames(bundle, name, problems))
        yield from drain(problems)
        if frames:
            yield from runs.items(_draft(name, frames))


def _frames(bundle: Bundle, name: str, problems: list[Diagnostic]) -> Iterator[tuple[Mapping[str, Any], Any]]:
    """Frames with their times; the scorecard at the end is none."""
    for line in read_lines(bundle, name, problems):
        data = line.value.get("data") if isinstance(line.value, dict) else None
        if isinstance(data, dict) and isinstance(data.get("frame"), list):
            yield data, line.value.get("timestamp")
        elif not isinstance(data, dict):
            where = f"line {line.number}"
            problems.append(Diagnostic(code="record_skipped", message="no frame", path=name, position=where))


def _draft(name: str, frames: list[tuple[Mapping[str, Any], Any]]) -> Draft:
    first, last = frames[0][0], frames[-1][0]
    parts = name.split("/")[-1].split(".")
    facts = {"agent": parts[1] if len(parts) > 3 else None, "run": as_text(first.get("game_id"))}
    source_id = as_text(first.get("guid")) or stem(name)
    episode = Episode(episode_id=source_id, source_episode_id=source_id)
    draft = Draft(episode, {key: value for key, value in facts.items() if value}, name)
    episode.started = read_time(frames[0][1])
    if _action(first) in (None, "RESET"):
        episode.start_image, episode.start_image_status = draft.keep(_picture(first)), "present"
        frames = frames[1:]
    else:
        draft.note("missing_field", "the frame before the first action is not recorded", "line 1")
    for number, (data, _) in enumerate(frames):
        _add_step(draft, number, data)
    actions = [_action(data) for data, _ in frames]
    if len(actions) > 1 and set(actions) == {"RESET"}:
        draft.note("unknown_action", "every action is RESET: the recording lost what the agent did")
    state = as_text(last.get("state"))
    episode.termination_raw = state
    episode.success = {"WIN": True, "GAME_OVER": False}.get(state or "")
    return draft


def _action(data: Mapping[str, Any]) -> str | None:
    given = data.get("action_input")
    action = given.get("id") if isinstance(given, dict) else None
    return _NAMES.get(action, str(action)) if isinstance(action, int) else as_text(action)


def _add_step(draft: Draft, number: int, data: Mapping[str, Any]) -> None:
    action, given = _action(data), data.get("action_input")
    direction = _MOVES.get(action or "")
    step = Step(
        step=number,
        action_kind="move" if direction else "unknown",
        action_raw=dumps(given),
        direction=direction,
        image=draft.keep(_picture(data)),
        image_status="present",
        shown=direction is not None,
    )
    draft.episode.steps.append(step)
    reasoning = given.get("reasoning") if isinstance(given, dict) else None
    if reasoning:
        draft.episode.step_texts.append(StepText(step=number, thought=as_text(reasoning)))


def _picture(data: Mapping[str, Any]) -> Picture:
    """The last grid of a frame as a PNG, a pixel a cell; nothing where the grid is no grid."""
    try:
        grids = np.asarray(data["frame"], dtype=np.int64)
    except (ValueError, TypeError):
        return Picture(None, "missing", "no grid")
    grid = grids[-1] if grids.ndim == 3 and len(grids) else grids
    if grid.ndim != 2 or not grid.size:
        return Picture(None, "missing", "no grid")
    return Picture(to_png(_PALETTE[grid % len(_PALETTE)]), "present")
