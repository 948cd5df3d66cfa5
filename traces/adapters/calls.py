"""Canonical actions as tool calls, for formats that know nothing else."""

from __future__ import annotations

from typing import Any

from ...schemas import Step
from .json_text import BadJson, loads


def tool_call(step: Step) -> tuple[str, dict[str, Any]]:
    """Tool name and arguments of an action; what is neither move nor answer keeps its own text."""
    if step.action_kind == "move":
        return "move", {"direction": step.direction}
    if step.action_kind == "answer":
        return "submit", {"answer": _answer(step.action_raw)}
    return step.action_kind, {"raw": step.action_raw}


def _answer(raw: str | None) -> Any:
    """The value that an answer's text gives, with its JSON type."""
    try:
        value, _ = loads((raw or "null").encode("utf-8", "surrogatepass"))
    except BadJson:
        return raw
    if isinstance(value, dict):
        return next((value[key] for key in ("value", "answer") if key in value), None)
    return value
