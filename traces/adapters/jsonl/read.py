"""Our own JSON lines to canonical records: nothing is computed anew, so that a round trip changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....schemas import Attempt, Canvas, Diagnostic, Episode, Image, Note, Run, Step, StepText, ToolCall
from ...episodes import run_id
from ...world.digits import Digits
from ..bundle import Bundle
from ..settle import Item
from ..transcripts import drain, read_lines, stem
from .records import from_plain

VERSION = 1

_CHILDREN: dict[str, type] = {
    "steps": Step,
    "step_texts": StepText,
    "attempts": Attempt,
    "tool_calls": ToolCall,
    "notes": Note,
}


def read(bundle: Bundle, digits: Digits) -> Iterator[Item]:
    """Records of an export; a line without `condition` belongs to a run of which only the name is known.

    Args:
        bundle: one JSONL file.
        digits: not used; canvases are in the file.
    """
    runs: dict[str, Run] = {}
    problems: list[Diagnostic] = []
    current: Run | None = None
    for name in bundle.names():
        for line in read_lines(bundle, name, problems):
            try:
                items = list(_items(line.value))
                run = _run(line.value, runs, stem(bundle.name))
            except (ValueError, TypeError, KeyError) as error:
                message = f"{type(error).__name__}: {error}"[:300]
                where = f"line {line.number}"
                problems.append(Diagnostic(code="record_skipped", message=message, path=name, position=where))
                continue
            if run is not current:
                current = run
                yield run
            yield from drain(problems)
            yield from items
    yield from drain(problems)


def _run(record: dict[str, Any], runs: dict[str, Run], fallback: str) -> Run:
    name = str(record.get("run") or fallback)
    if name not in runs:
        condition = record.get("condition")
        runs[name] = from_plain(Run, {**(condition if isinstance(condition, dict) else {}), "run": name})
        runs[name].run_id = runs[name].run_id or run_id(runs[name])
        runs[name].source_format = runs[name].source_format or "jsonl"
    return runs[name]


def _items(record: Any) -> Iterator[Item]:
    episode = from_plain(Episode, record)
    for name, cls in _CHILDREN.items():
        values = record.get(name)
        setattr(
            episode, name, [from_plain(cls, value) for value in values] if isinstance(values, list) else []
        )
    if isinstance(record.get("canvas_png"), dict):
        yield from_plain(Canvas, record["canvas_png"])
    for image in record.get("images") or []:
        yield from_plain(Image, image)
    yield episode
