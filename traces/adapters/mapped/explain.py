"""What a file looks like to us: the adapter that knows it, or a mapping to start from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from ....schemas import Diagnostic, Episode, Run
from ...world.digits import Digits, embedded
from .. import Adapter, FolderBundle, detect, file_bundle
from ..bundle import Bundle
from ..facts import NAMES
from ..transcripts import head
from .mapping import EPISODE_FIELDS, RUN_FIELDS, STEP_FIELDS, Mapping
from .paths import leaves
from .rows import read_rows

_SAMPLE = 50
_STEP_NAMES: dict[str, tuple[str, ...]] = {
    "action": ("action", "act", "action_kind", "command"),
    "direction": ("direction", "dir", "move"),
    "answer": ("answer", "value", "prediction", "guess"),
    "window": ("window_after", "window", "position", "pos", "xy", "location"),
    "image": ("image", "observation", "image_after", "frame", "screenshot", "picture"),
    "image_before": ("image_before", "obs"),
    "thought": ("thought", "reasoning", "thinking"),
    "reply": ("raw_reply", "raw_response", "reply", "response", "text", "content"),
    "reward": ("reward",),
    "valid": ("valid", "ok"),
    "number": ("step", "t", "turn", "i"),
    "time": ("time", "timestamp"),
}
_STEP_LISTS = ("steps", "turns", "trajectory", "actions", "history", "events")


@dataclass
class Explanation:
    """What was recognised and what was missed.

    Args:
        path: the file or folder.
        adapter: the adapter that knows it, None where none does.
        kind: how its rows are stored, where they are rows.
        runs, episodes, codes: what the adapter makes of the first episodes.
        fields: our field to the path in the file.
        missed: our fields that were not found, with what follows.
        unused: paths that stand for nothing of ours.
        mapping: a mapping file to start from, None where an adapter knows the file or there are no rows.
    """

    path: str
    adapter: Adapter | None = None
    kind: str | None = None
    runs: list[Run] = field(default_factory=list)
    episodes: list[Episode] = field(default_factory=list)
    codes: Counter[str] = field(default_factory=Counter)
    fields: dict[str, str] = field(default_factory=dict)
    missed: dict[str, str] = field(default_factory=dict)
    unused: list[str] = field(default_factory=list)
    mapping: str | None = None


_CONSEQUENCES = {
    "step.action": "no action can be read: give action, or direction and answer",
    "episode.label": "no verdict: answers cannot be compared",
    "episode.digit_indices": "the canvas is put together from pictures, coverage is null",
    "step.window": "windows are recovered from pictures, or followed from the moves",
    "step.image": "nothing can be verified against what was shown",
}


def explain(path: Path, digits: Digits | None = None) -> Explanation:
    """Look at a file or folder: at most its first 50 episodes or rows are read."""
    bundle = FolderBundle(path) if path.is_dir() else file_bundle(path)
    told = Explanation(str(path), detect(bundle))
    if told.adapter is not None:
        for item in islice(told.adapter.read(bundle, digits or embedded()), 20 * _SAMPLE):
            if isinstance(item, Run) and all(item is not run for run in told.runs):
                told.runs.append(item)
            elif isinstance(item, Episode):
                told.episodes.append(item)
            elif isinstance(item, Diagnostic):
                told.codes[item.code] += 1
            if len(told.episodes) >= _SAMPLE:
                break
    elif not path.is_dir():
        _draft(told, bundle)
    return told


def _draft(told: Explanation, bundle: Bundle) -> None:
    name = bundle.names()[0]
    told.kind = _kind(head(bundle, name, 1 << 16))
    if told.kind is None:
        return
    problems: list[Diagnostic] = []
    rows = list(islice(read_rows(bundle, name, Mapping(told.kind, "episode"), problems), _SAMPLE))
    if told.kind == "json" and len(rows) == 1:
        rows = next((v for v in rows[0].values() if _is_rows(v)), rows) if isinstance(rows[0], dict) else rows
    told.codes.update(problem.code for problem in problems)
    found = dict(leaf for row in reversed(rows) if isinstance(row, dict) for leaf in leaves(row))
    steps = next((f"$.{n}" for n in _STEP_LISTS if any(p.startswith(f"$.{n}[*]") for p in found)), None)
    _match(told, found, steps)
    told.mapping = _toml(told, steps)


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _kind(data: bytes) -> str | None:
    if data.startswith(b"PAR1"):
        return "parquet"
    text = data.lstrip(b"\xef\xbb\xbf \r\n\t")
    if text[:1] == b"[" or text.split(b"\n", 1)[0].strip() == b"{":
        return "json"
    if text[:1] == b"{":
        return "jsonl"
    first = text.split(b"\n", 1)[0]
    return (
        "csv" if b"," in first and first.isascii() and first.strip().isascii() and b"\0" not in data else None
    )


def _match(told: Explanation, found: dict[str, Any], steps: str | None) -> None:
    """Give our fields the paths whose last names are known for them."""
    left = dict.fromkeys(found)
    for table, name, names in _wanted():
        # Rows without a list of steps are steps themselves.
        inside = f"{steps}[*]" if steps and table == "step" else "$"
        at = next((path for alias in names if (path := _at(left, inside, alias, steps))), None)
        key = f"{table}.{name}"
        if at is not None:
            told.fields[key] = "$" + at.removeprefix(inside)
            del left[at]
        elif key in _CONSEQUENCES:
            told.missed[key] = _CONSEQUENCES[key]
    if "step.direction" in told.fields and "step.answer" in told.fields:
        told.missed.pop("step.action", None)
    told.unused = list(left)


def _at(left: dict[str, Any], inside: str, alias: str, steps: str | None) -> str | None:
    for path in left:
        if inside == "$" and steps and path.startswith(f"{steps}[*]"):
            continue
        if path.startswith(inside) and path.rsplit(".", 1)[-1].lower() == alias:
            return path
    return None


def _wanted() -> Iterator[tuple[str, str, tuple[str, ...]]]:
    for name in ("source_episode_id", "label", "digit_indices"):
        yield "episode", name, (*NAMES[name], "id") if name == "source_episode_id" else NAMES[name]
    for name in STEP_FIELDS:
        yield "step", name, _STEP_NAMES[name]
    for name in RUN_FIELDS:
        yield "run", name, NAMES[name]
    for name in EPISODE_FIELDS:
        if name not in ("source_episode_id", "label", "digit_indices"):
            yield "episode", name, NAMES.get(name, (name,))


def _toml(told: Explanation, steps: str | None) -> str:
    lines = [
        "# A mapping for `mnistpro-replay ingest --map`: paths start with $, everything else is a constant."
    ]
    lines += ["", "[source]", f'kind = "{told.kind}"', f'rows = "{"episode" if steps else "step"}"']
    if steps:
        lines.append(f'steps = "{steps}[*]"')
    for table, known in (("run", RUN_FIELDS), ("episode", EPISODE_FIELDS), ("step", STEP_FIELDS)):
        lines += ["", f"[{table}]"]
        lines += [f'{n} = "{told.fields[f"{table}.{n}"]}"' for n in known if f"{table}.{n}" in told.fields]
        missing = [name for name in known if f"{table}.{name}" not in told.fields]
        lines += [f"# {name} =" for name in missing]
    lines += ["", "# [values.direction]", '# U = "up"', ""]
    if told.unused:
        lines += ["# Not used: " + ", ".join(told.unused[:40]), ""]
    return "\n".join(lines)
