"""What every source of episodes settles the same way: counts, answers, verdicts, world keys."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import fields

from ..schemas import Episode, Geometry, Run, Usage
from ..schemas.enums import AnswerStatus
from .world.canvas import world_key

_USAGE = tuple(field.name for field in fields(Usage))
_NOT_CONDITION = {
    "run",
    "run_id",
    "repeat",
    "created",
    "created_raw",
    "tags",
    "source_format",
    "source_version",
}


def run_id(run: Run) -> str:
    """Hash over the whole condition: every field of the run but its name, repeat, tags, times and source."""
    condition = {f.name: getattr(run, f.name) for f in fields(run) if f.name not in _NOT_CONDITION}
    text = json.dumps(condition, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def count(episode: Episode) -> None:
    """Fill the counts of `episode` from its steps (design, counting rules 1 and 2).

    Counts that the source leaves open stay null; `reasons` says why under `glimpses` (which ones were shown) or
    `n_moves` (whether the last action was a move).
    """
    moves = [step for step in episode.steps if step.action_kind == "move" and step.valid]
    started = episode.start is not None or episode.start_image is not None
    episode.n_actions = sum(step.action_kind != "look" for step in episode.steps)
    episode.n_moves = len(moves)
    known = all(step.window_before and step.window_after for step in moves)
    episode.n_moves_effective = sum(s.window_before != s.window_after for s in moves) if known else None
    episode.n_glimpses_reached = len(moves) + started
    episode.n_glimpses = sum(step.shown for step in moves) + (started and episode.start_shown)
    reasons = episode.reasons or {}
    if "glimpses" in reasons:
        episode.n_moves_effective = None
    if "glimpses" in reasons or "n_moves" in reasons:
        episode.n_moves = episode.n_glimpses = episode.n_glimpses_reached = None


def total_usage(episode: Episode) -> None:
    """Sum tokens and cost of steps and attempts; null where no call recorded the figure."""
    calls = [*episode.steps, *episode.attempts]
    for name in _USAGE:
        known = [value for call in calls if (value := getattr(call, name)) is not None]
        if known and getattr(episode, name) is None:
            setattr(episode, name, sum(known))


def settle_answer(episode: Episode, n_panels: int | None, given: str | None) -> None:
    """Fill `answer`, `answer_status` and `correct` from what the source normalised the answer to.

    Args:
        episode: its `label` and `answer_raw_type` are read.
        n_panels: digits that an answer should have.
        given: the source's normalised answer, None where there was none.
    """
    episode.answer, episode.answer_status = read_answer(
        given, n_panels, episode.label, episode.answer_raw_type
    )
    episode.correct = None if episode.label is None else episode.answer == episode.label


def read_answer(
    given: str | None, n_panels: int | None, label: str | None, raw_type: str | None
) -> tuple[str | None, AnswerStatus]:
    """Digits and status of an answer.

    >>> read_answer("07", 2, "07", "string"), read_answer("7", 2, "07", "integer"), read_answer("x", 1, "3", None)
    (('07', 'ok'), ('7', 'leading_zero_lost'), (None, 'unparseable'))
    """
    if given is None:
        return None, "missing"
    if not re.fullmatch(r"[0-9]+", given):
        return None, "unparseable"
    if n_panels is None or len(given) == n_panels:
        return given, "ok"
    lost = raw_type in ("integer", "number") and label is not None and given == (label.lstrip("0") or "0")
    return given, "leading_zero_lost" if lost and len(label or "") == n_panels else "wrong_length"


def json_type(value: object) -> str:
    """JSON Schema's name for the type of a value."""
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


def finish(episode: Episode, geometry: Geometry | None) -> Episode:
    """Settle everything that follows from the steps: counts, usage totals and the world key."""
    count(episode)
    total_usage(episode)
    if geometry and episode.canvas and episode.start:
        episode.world_key = world_key(episode.canvas, geometry, episode.start)
    return episode
