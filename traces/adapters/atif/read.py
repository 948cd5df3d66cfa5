"""ATIF trajectories to canonical records: lenient, whatever the version says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from ....schemas import Diagnostic
from ...world.digits import Digits
from ..bundle import Bundle
from ..content import Message, read_call, read_content
from ..facts import gather, read_time
from ..json_text import as_text, whole
from ..messages import Draft, draft_episode
from ..settle import Item, Runs
from ..transcripts import beside, drain, inclusive_usage, read_json, stem
from .detect import trajectories

VERSION = 1

_NEWEST = (1, 7)
_COUNTS = ("prompt_tokens", "completion_tokens", "cached_tokens")


def read(bundle: Bundle, digits: Digits) -> Iterator[Item]:
    """Records of trajectory files.

    Args:
        bundle: `trajectory.json` files, pictures beside them.
        digits: used to rebuild canvases.
    """
    runs, problems = Runs(stem(bundle.name), "atif", digits), []
    for name in trajectories(bundle) or bundle.names():
        document = read_json(bundle, name, problems)
        if isinstance(document, dict) and isinstance(document.get("steps"), list):
            draft = _draft(bundle, name, document)
            yield from drain(problems)
            yield from runs.items(draft)
        elif document is not None:
            problems.append(
                Diagnostic(code="record_skipped", message="no object with a list of steps", path=name)
            )
    yield from drain(problems)


def _draft(bundle: Bundle, name: str, document: Mapping[str, Any]) -> Draft:
    agent = document.get("agent")
    agent = agent if isinstance(agent, dict) else {}
    facts = gather(document.get("extra"), agent.get("extra"))
    named = {"agent": as_text(agent.get("name")), "model": as_text(agent.get("model_name")), "harness": "mcp"}
    facts = {key: value for key, value in named.items() if value is not None} | facts
    reader = _Steps(bundle, name, document["steps"])
    draft = draft_episode(reader.messages(), _source_id(name, document, facts), facts, name)
    draft.problems += reader.problems
    draft.version, draft.open_file = as_text(document.get("schema_version")), beside(bundle, name)
    _check_version(draft)
    replies = [message for message in reader.read if message.role == "assistant"]
    if len(replies) == 1 and all(step.action_kind == "invalid" for step in draft.episode.steps):
        draft.note("not_a_step_trace", "the whole episode is one step")
        draft.episode.steps, draft.episode.step_texts = [], []
        draft.episode.reasons = {"glimpses": "not_recorded"}
    return draft


def _source_id(name: str, document: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """The id given, else the trial's folder (trajectories are all called alike)."""
    given = facts.get("source_episode_id") or document.get("trajectory_id") or document.get("session_id")
    parts = [part for part in PurePosixPath(name).parts[:-1] if part != "agent"]
    return as_text(given) or (parts[-1] if parts else stem(name))


def _check_version(draft: Draft) -> None:
    match = re.fullmatch(r"ATIF-v(\d+)\.(\d+)", draft.version or "")
    if match and (int(match[1]), int(match[2])) > _NEWEST:
        draft.note("unknown_version", f"{draft.version} is newer than this reader; upgrade mnistpro-replay")


class _Steps:
    def __init__(self, bundle: Bundle, name: str, steps: list[Any]) -> None:
        self.open_file, self.name, self.steps = beside(bundle, name), name, steps
        self.problems: list[Diagnostic] = []
        self.read: list[Message] = []

    def note(self, code: str, message: str, position: str) -> None:
        self.problems.append(Diagnostic(code=code, message=message, path=self.name, position=position))

    def messages(self) -> list[Message]:
        for number, step in enumerate(self.steps):
            if not isinstance(step, dict):
                self.note("record_skipped", "a step that is no object", f"steps[{number}]")
            elif step.get("is_copied_context") is True:
                self.note("copied_context", "copied from an earlier trajectory; left out", f"steps[{number}]")
            else:
                self._step(number, step)
        return self.read

    def _step(self, number: int, step: Mapping[str, Any]) -> None:
        role = {"user": "user", "agent": "assistant"}.get(str(step.get("source")), "system")
        message = Message(role, source_id=as_text(step.get("step_id")), time=read_time(step.get("timestamp")))  # type: ignore[arg-type]
        message.thought = as_text(step.get("reasoning_content")) or None
        extra = step.get("extra")
        message.facts = extra if isinstance(extra, dict) else {}
        read_content(message, step.get("message"), self.open_file)
        if role == "assistant":
            message.usage = inclusive_usage(self._metrics(number, step.get("metrics")))
            calls = step.get("tool_calls")
            message.calls = (
                [read_call(c) for c in calls if isinstance(c, dict)] if isinstance(calls, list) else []
            )
        self.read.append(message)
        observation = step.get("observation")
        results = observation.get("results") if isinstance(observation, dict) else None
        for result in results if isinstance(results, list) else []:
            if isinstance(result, dict):
                self.read.append(self._result(result, message))

    def _result(self, result: Mapping[str, Any], reply: Message) -> Message:
        told = result.get("extra")
        message = Message("tool", call_id=as_text(result.get("source_call_id")))
        message.facts = {**reply.facts, **(told if isinstance(told, dict) else {})}
        message.is_error = message.facts.get("is_error") is True
        return read_content(message, result.get("content"), self.open_file)

    def _metrics(self, number: int, metrics: Any) -> Mapping[str, Any] | None:
        """The step's metrics; wrong types are reported with their path and left out."""
        if metrics is None or not isinstance(metrics, dict):
            if metrics is not None:
                self.note("invalid_value", f"metrics is {metrics!r}", f"steps[{number}].metrics")
            return None
        for key in _COUNTS:
            if metrics.get(key) is not None and whole(metrics[key]) is None:
                self.note("invalid_value", f"{key} is {metrics[key]!r}", f"steps[{number}].metrics.{key}")
        return metrics
