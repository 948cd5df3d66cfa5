"""What a tool-using agent did with its freedom: canvases built and reopened, stored procedures executed.

Each rule reads the recorded calls and notes only, and is printed beside its count (paper §3.4.3).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ..schemas import Episode, Note, Run, ToolCall
from .database import Database
from .measures import Row, Value
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

_WHY_NONE = {
    "canvas_built": "no_tool_calls",
    "canvas_reopened": "no_picture",
    "procedure_executed": "no_procedure",
}
_CARRYING_ARMS = ("A1", "A2")

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


def table(database: Database) -> list[Row]:
    """`run_rows` of the selected runs."""
    rows: list[Row] = []
    for name, ids in database.selected:
        run, episodes = database.store.run(name), database.store.episodes(name, texts=True)
        rows += run_rows(run, episodes, None if ids is None else set(ids))
    return rows


def run_rows(run: Run, episodes: Sequence[Episode], ids: Collection[str] | None = None) -> list[Row]:
    """One row a statistic of a run, in arms that carry notes also by half of the run.

    Args:
        run: the run.
        episodes: all its episodes: what an episode begins with depends on those before it.
        ids: `source_episode_id`s that count; None for all.

    Returns:
        rows of run, model, level, arm, statistic, part (`all`, `first half`, `second half` by order of
            execution; the middle one of an odd number is in the second), n, share with its Wilson interval,
            first_at (execution position of the first such episode), shown_by (the telling call of each),
            reason (why there is no share) and rule.
    """
    found = [
        (episode, process(episode.tool_calls, notes))
        for episode, notes in in_order(run, episodes)
        if ids is None or episode.source_episode_id in ids
    ]
    halves = _halves(run, episodes)
    parts = {"all": found}
    parts |= {name: [pair for pair in found if pair[0].episode_id in half] for name, half in halves.items()}
    keys = {"run": run.run, "model": run.model, "level": run.level, "arm": run.arm}
    why = _obstacle(run, episodes)
    return [
        {
            **keys,
            "statistic": name.replace("_", " "),
            "part": part,
            **_counted(name, [] if why else members, why),
            "rule": rule,
        }
        for name, rule in RULES.items()
        for part, members in parts.items()
    ]


def _counted(name: str, found: Sequence[tuple[Episode, Process]], why: str | None) -> dict[str, Any]:
    told = [(e, p) for e, p in found if getattr(p, name) is not None]
    hits = [(e, p) for e, p in told if getattr(p, name)]
    calls = [
        {
            "episode": e.source_episode_id,
            "execution_position": e.execution_position,
            "call": p.positions[name],
        }
        for e, p in hits
    ]
    ordered = [e.execution_position for e, _ in hits if e.execution_position is not None]
    return {
        "n": len(told),
        "share": Value(proportion(len(hits), len(told)), True),
        "first_at": min(ordered, default=None),
        "shown_by": calls,
        "reason": why or (None if told else _WHY_NONE[name]),
    }


def in_order(run: Run, episodes: Iterable[Episode]) -> Iterator[tuple[Episode, list[Note]]]:
    """Episodes in their order of execution, each with its notes.

    In arms that carry notes, an episode without `notes_before` of its own began with what the one before it
    left, where that is recorded.
    """
    left: dict[int, list[Note]] = {}
    for episode in sorted(episodes, key=lambda e: (e.execution_position is None, e.execution_position or 0)):
        notes, position = list(episode.notes), episode.execution_position
        if position is not None and run.arm in _CARRYING_ARMS:
            if not any(note.kind == "notes_before" for note in notes):
                notes += left.get(position - 1, [])
            after = [note for note in episode.notes if note.kind == "notes_after"]
            left[position] = [replace(note, kind="notes_before") for note in after]
        yield episode, notes


def _halves(run: Run, episodes: Sequence[Episode]) -> dict[str, set[str]]:
    """Episode ids by half of a run that carries notes; nothing where the order is not recorded."""
    if run.arm not in _CARRYING_ARMS or any(e.execution_position is None for e in episodes):
        return {}
    names = [e.episode_id for e, _ in in_order(run, episodes)]
    middle = len(names) // 2
    return {"first half": set(names[:middle]), "second half": set(names[middle:])}


def _obstacle(run: Run, episodes: Sequence[Episode]) -> str | None:
    """Why the calls of a run tell nothing of programs, or None."""
    calls = [call for episode in episodes for call in episode.tool_calls]
    if not calls:
        return "no_tool_calls"
    # Our own runs hold what the server was asked; calls with an id show that the program's transcript was read.
    own = run.source_format == "runner" and not any(call.call_id for call in calls)
    return "not_recorded" if own else None


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
