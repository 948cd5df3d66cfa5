"""What a tool-using agent did with its freedom: canvases built and reopened, stored procedures executed.

Each rule reads the recorded calls and notes only, and is printed beside its count (paper §3.4.3).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..schemas import Episode, Note, ToolCall
from .statistics import proportion

WORLD_TOOLS = ("move", "view_image", "submit")
RULES: dict[str, str] = {
    "canvas_built": "a program that reads two or more observation files (by name, or all of their folder) and writes a "
    "picture or prints an assembled grid (8 or more lines of one length of at least 8, of at most 6 characters)",
    "canvas_reopened": "of the episodes with a canvas written as a picture: a later call that names that picture and "
    "writes none",
    "procedure_executed": "of the episodes that begin with notes that hold a procedure (a script's name, or code in "
    "backticks): a program of the episode that runs that script or contains a line of that code",
}
"""How each statistic is told; `procedure` stands for what the notes of earlier episodes say how to do."""

_OBSERVATION = re.compile(
    r"\b[0-9a-f]{16}\.png\b|\b(?:obs|observation|step|glimpse)_?\d+\.png\b", re.IGNORECASE
)
_ALL_OBSERVATIONS = re.compile(
    r"(?:glob|listdir|iterdir|scandir|walk)\s*\(|observations/\*|\*\.png", re.IGNORECASE
)
_WRITES_PICTURE = re.compile(
    r"\.save\(|imwrite\(|imsave\(|savefig\(|\b(?:montage|convert|magick)\b", re.IGNORECASE
)
_PICTURE = re.compile(r"[\w./-]+\.(?:png|jpe?g|bmp|gif|ppm|webp)\b", re.IGNORECASE)
_SCRIPT = re.compile(r"\b[\w-]+\.(?:py|sh|js)\b")
_CODE = re.compile(r"```[\w-]*\n(.*?)```|`([^`\n]+)`", re.DOTALL)
_GRID_LINES, _GRID_CHARACTERS, _CODE_LENGTH = 8, 6, 16


class Process(NamedTuple):
    """What one episode shows, None where the question does not arise; `positions` are the telling calls."""

    canvas_built: bool
    canvas_reopened: bool | None
    procedure_executed: bool | None
    positions: dict[str, int]


def process(calls: Sequence[ToolCall], notes: Sequence[Note] = ()) -> Process:
    """The process statistics of one episode, by `RULES`.

    Args:
        calls: the episode's tool calls in order.
        notes: its notes; those of kind `notes_before` are what it began with.
    """
    programs = list(_programs(calls))
    builders = [p for p in programs if _reads_many(p.text) and (p.writes or _grid(p.call.result))]
    positions = {"canvas_built": builders[0].call.position} if builders else {}
    reopened: bool | None = None
    drawn = [p for p in builders if p.writes]
    if drawn:
        again = next((c for c in calls if c.position > drawn[0].call.position and _opens(c, drawn)), None)
        reopened = again is not None
        positions |= {"canvas_reopened": again.position} if again else {}
    executed: bool | None = None
    before = "\n".join(note.text for note in notes if note.kind == "notes_before")
    if marks := procedures(before):
        run = next((p for p in programs if any(mark in p.text for mark in marks)), None)
        executed = run is not None
        positions |= {"procedure_executed": run.call.position} if run else {}
    return Process(bool(builders), reopened, executed, positions)


def procedures(notes: str) -> set[str]:
    """What notes call a procedure by: names of scripts, and lines of code in backticks of some length."""
    lines = {line.strip() for block in _CODE.findall(notes) for part in block for line in part.splitlines()}
    return set(_SCRIPT.findall(notes)) | {line for line in lines if len(line) >= _CODE_LENGTH}


def summary(episodes: Iterable[Episode]) -> list[dict[str, Any]]:
    """One row a statistic: hits, n, share with its Wilson interval, and the rule."""
    found = [process(episode.tool_calls, episode.notes) for episode in episodes]
    rows = []
    for name, rule in RULES.items():
        told = [value for p in found if (value := getattr(p, name)) is not None]
        share = proportion(sum(told), len(told))
        row = {"statistic": name, "hits": sum(told), "n": len(told), "share": share.estimate}
        rows.append(row | {"low": share.low, "high": share.high, "rule": rule})
    return rows


class _Program(NamedTuple):
    call: ToolCall
    text: str

    @property
    def writes(self) -> bool:
        return bool(_WRITES_PICTURE.search(self.text))


def _programs(calls: Sequence[ToolCall]) -> Iterable[_Program]:
    """Calls that run something, with the text of the files that they name and the episode wrote before."""
    files: dict[str, str] = {}
    for call in calls:
        arguments = call.arguments if isinstance(call.arguments, dict) else {}
        if call.tool.rpartition("__")[2] in WORLD_TOOLS:
            continue
        path = next((arguments[k] for k in ("file_path", "path", "filename") if k in arguments), None)
        content = next((arguments[k] for k in ("content", "file_text", "text") if k in arguments), None)
        if isinstance(path, str) and isinstance(content, str):
            files[path.rpartition("/")[2]] = content
            continue
        command = _command(arguments)
        if command is not None:
            named = [text for name, text in files.items() if name in command]
            yield _Program(call, "\n".join([command, *named]))


def _command(arguments: dict[str, Any]) -> str | None:
    for name in ("command", "cmd", "code", "script", "input"):
        value = arguments.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            return " ".join(map(str, value))
    return None


def _reads_many(text: str) -> bool:
    return len(set(_OBSERVATION.findall(text))) >= 2 or bool(_ALL_OBSERVATIONS.search(text))


def _grid(printed: str | None) -> bool:
    """Whether a text holds an assembled grid."""
    run = 0
    before = -1
    for line in (printed or "").splitlines():
        fits = len(line) >= _GRID_LINES and len(set(line)) <= _GRID_CHARACTERS
        run = run + 1 if fits and len(line) == before else int(fits)
        before = len(line)
        if run >= _GRID_LINES:
            return True
    return False


def _opens(call: ToolCall, drawn: Sequence[_Program]) -> bool:
    written = {name.rpartition("/")[2] for p in drawn for name in _PICTURE.findall(p.text)}
    text = json.dumps(call.arguments)
    named = {name.rpartition("/")[2] for name in _PICTURE.findall(text)}
    pictures = {name for name in written if not _OBSERVATION.fullmatch(name)}
    return bool(named & pictures) and not _WRITES_PICTURE.search(text)
