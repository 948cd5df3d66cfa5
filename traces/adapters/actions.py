"""What an agent did: actions from tool calls and from JSON in replies."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from ...schemas import DIRECTIONS
from .content import Call
from .json_text import BadJson, as_text, dumps, loads

Kind = Literal["move", "answer", "look", "invalid", "unknown", "aside"]

_PREFIX = re.compile(
    r"^(?:mcp__.+?__|mcp_|functions\.)?(?:activeglimpse[_.-]+|mnistpro[_.-]+|glimpse[_.-]+)?"
)
_MOVES = ("move", "move_window", "shift")
_ANSWERS = ("submit", "answer", "submit_answer", "final_answer", "finish")
_LOOKS = (
    "view_image",
    "look",
    "observe",
    "view",
    "read",
    "read_file",
    "open_image",
    "get_observation",
    "reset",
    "start",
)
_ASIDE = re.compile(
    r"bash|shell|exec_command|local_shell.*|write_stdin|python|write|edit|multiedit|apply_patch|write_file|replace|glob"
    r"|grep|ls|list_directory|search_file_content|todo.*|update_plan|write_todos|task|agent|think|web_?search|web_?fetch"
    r"|notebookedit|exitplanmode|save_memory|skill|toolsearch|killshell|bashoutput",
    re.IGNORECASE,
)
_DIRECTION_KEYS = ("direction", "dir", "move", "action")
_ANSWER_KEYS = ("answer", "value", "digits", "digit", "prediction", "label", "result")
_WIDEST = re.compile(r"\{.*\}", re.DOTALL)


@dataclass(slots=True)
class Action:
    """One action as the agent gave it; `value` is the direction of a move or the answer."""

    kind: Kind
    value: Any = None
    raw: str | None = None
    thought: str | None = None
    spatial_map: Any = None


def from_call(call: Call) -> Action:
    """The action behind a tool call.

    >>> from_call(Call("mcp__activeglimpse__move", {"direction": "Up"})).value
    'up'
    """
    name, kind = _known(call.name)
    raw = call.raw if call.raw is not None else dumps(call.arguments)
    given = call.arguments if isinstance(call.arguments, dict) else {}
    if kind in ("move", "answer") and call.arguments is None and call.error:
        return Action("invalid", None, raw)
    thought = as_text(given.get("thought"))
    if kind == "move":
        value = next((given[key] for key in _DIRECTION_KEYS if key in given), None)
        value = name.removeprefix("move_") if value is None and name.startswith("move_") else value
        return Action("move", _direction(value), raw, thought, given.get("spatial_map"))
    if kind == "answer":
        only = next(iter(given.values()), None) if len(given) == 1 else None
        value = next((given[key] for key in _ANSWER_KEYS if key in given), only)
        return Action("answer", value, raw, thought, given.get("spatial_map"))
    return Action(kind, None, raw)


@lru_cache(maxsize=1024)
def _known(tool: str) -> tuple[str, Kind]:
    """A tool's name without prefixes, and what it does."""
    name = _PREFIX.sub("", tool.lower())
    return name, _kind(name)


def _kind(name: str) -> Kind:
    if name in _MOVES or name.removeprefix("move_") in DIRECTIONS:
        return "move"
    if name in _ANSWERS:
        return "answer"
    if name in _LOOKS:
        return "look"
    if name == "invalid":
        return "invalid"
    return "aside" if _ASIDE.fullmatch(name) else "unknown"


def _direction(value: Any) -> Any:
    return value.strip().lower() if isinstance(value, str) else value


def from_reply(text: str) -> Action:
    """The action in a reply, read as the official runner does: the widest span of braces, parsed as JSON.

    >>> from_reply('I go up. {"action": "move", "direction": "up"}').value
    'up'
    """
    match = _WIDEST.search(text)
    try:
        value, _ = loads((match[0] if match else text).encode("utf-8", "surrogatepass"))
    except BadJson:
        return Action("invalid")
    return from_object(value)


def from_object(value: Any) -> Action:
    """The action in a JSON value of the official shape; `invalid` where it has none."""
    raw = dumps(value)
    if not isinstance(value, dict):
        return Action("invalid", raw=raw)
    kind, thought = value.get("action"), as_text(value.get("thought"))
    spatial_map = value.get("spatial_map")
    if kind == "move" or (kind is None and "direction" in value):
        return Action("move", value.get("direction"), raw, thought, spatial_map)
    if kind == "answer" or (kind is None and "answer" in value):
        answer = value.get("value", value.get("answer"))
        return Action("answer", answer, raw, thought, spatial_map)
    if isinstance(kind, str) and kind in DIRECTIONS:
        return Action("move", kind, raw, thought, spatial_map)
    return Action("invalid" if kind in (None, "invalid") else "unknown", None, raw, thought, spatial_map)


def is_direction(value: Any) -> bool:
    """Whether the world knows the direction."""
    return isinstance(value, str) and value in DIRECTIONS
