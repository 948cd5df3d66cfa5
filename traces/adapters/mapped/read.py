"""Rows of a user's file to canonical records, as a mapping says."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from ....schemas import Diagnostic
from ...world.digits import Digits
from ..actions import Action, from_object, from_reply
from ..bundle import Bundle
from ..content import Call, Message, read_picture
from ..facts import read_time
from ..json_text import as_text, dumps
from ..messages import draft_episode
from ..settle import Item, Runs
from ..transcripts import beside, drain, stem
from .mapping import Mapping
from .paths import find
from .rows import read_rows

VERSION = 1


def read_mapped(bundle: Bundle, digits: Digits, mapping: Mapping) -> Iterator[Item]:
    """Records of files of rows.

    Args:
        bundle: files of the mapping's kind.
        digits: used to rebuild canvases.
        mapping: where the fields are.
    """
    runs, problems = Runs(stem(bundle.name), "mapped", digits), []
    for name in bundle.names():
        for number, (row, steps) in enumerate(_episodes(bundle, name, mapping, problems)):
            facts = mapping.get(mapping.run, row) | mapping.get(mapping.episode, row)
            source_id = as_text(facts.get("source_episode_id")) or str(number)
            open_file = beside(bundle, name)
            messages = list(_messages(facts, [mapping.get(mapping.step, step) for step in steps], open_file))
            draft = draft_episode(messages, source_id, facts, name)
            draft.open_file = open_file
            if not steps:
                draft.note("missing_field", "no step was found; see [source] steps", f"row {number}")
            yield from drain(problems)
            yield from runs.items(draft)
    yield from drain(problems)


def _episodes(
    bundle: Bundle, name: str, mapping: Mapping, problems: list[Diagnostic]
) -> Iterator[tuple[Any, list[Any]]]:
    """An episode's row and its steps; rows of steps belong together while their episode id stays the same."""
    rows = read_rows(bundle, name, mapping, problems)
    if mapping.rows == "episode":
        for row in rows:
            steps = find(row, [part for part in mapping.steps if part != "*"]) if mapping.steps else []
            yield row, steps if isinstance(steps, list) else []
        return
    key = {"source_episode_id": mapping.episode["source_episode_id"]}
    for _, group in groupby(rows, key=lambda row: str(mapping.get(key, row))):
        steps = list(group)
        yield steps[0], steps


def _messages(facts: dict[str, Any], steps: list[dict[str, Any]], open_file: Any) -> Iterator[Message]:
    start = facts.pop("start_image", None) or (steps[0].get("image_before") if steps else None)
    first = Message("user", facts={"window": facts.get("start")})
    if start is not None:
        first.pictures.append(read_picture(start, open_file))
    yield first
    for number, step in enumerate(steps):
        action, call_id = _action(step), f"call_{number}"
        reply = Message("assistant", source_id=as_text(step.get("number")), time=read_time(step.get("time")))
        reply.text, reply.thought = as_text(step.get("reply")) or "", as_text(step.get("thought"))
        reply.calls.append(_call(action, call_id))
        yield reply
        result = Message("tool", call_id=call_id, is_error=step.get("valid") is False)
        result.facts = {"window": step.get("window"), "reward": step.get("reward")}
        after = steps[number + 1].get("image_before") if number + 1 < len(steps) else None
        picture = step.get("image", after)
        if picture is not None and action.kind == "move":
            result.pictures.append(read_picture(picture, open_file))
        yield result


def _action(step: dict[str, Any]) -> Action:
    """The action of a step: an object or JSON text, a kind beside direction or answer, or a bare direction."""
    given, direction, answer = step.get("action"), step.get("direction"), step.get("answer")
    if isinstance(given, dict):
        return from_object(given)
    if isinstance(given, str) and "{" in given:
        return from_reply(given)
    if direction is not None and given in (None, "move"):
        return Action("move", direction)
    if answer is not None and (given in (None, "answer", "submit") or direction is None):
        return Action("answer", answer)
    return from_object({"action": given})


def _call(action: Action, call_id: str) -> Call:
    if action.kind == "move":
        return Call("move", {"direction": action.value}, call_id)
    if action.kind == "answer":
        return Call("submit", {"answer": action.value}, call_id)
    return Call("invalid", {"action": action.raw}, call_id, raw=action.raw or dumps(None))
