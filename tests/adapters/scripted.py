"""Ten scripted episodes with their canonical form, and what tests of all formats do with them."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mnistpro_replay.schemas import Canvas, Diagnostic, Episode, Geometry, Image, Run, Step
from mnistpro_replay.traces.adapters import FolderBundle, MemoryBundle, adapter, detect, file_bundle
from mnistpro_replay.traces.episodes import finish, settle_answer
from mnistpro_replay.traces.world import embedded
from mnistpro_replay.traces.world.canvas import build_canvas, observe, pixel_hash, start_window, to_png

GEOMETRY = Geometry()
ROUTES: list[tuple[str, Any]] = [
    ("right down", "label"),
    ("up up up up up up left", "label"),
    ("", "label"),
    ("left right left right", "wrong"),
    ("down down down down down", 7),
    ("right", "07"),
    ("up", "seven"),
    ("left left left left left left", "label"),
    ("down right up left", "label"),
    ("right right", None),
]
"""Directions and the answer: right, wrong, a number, with a leading zero, no number, none."""


@dataclass
class Script:
    """One scripted episode: the world, what the agent did, and the canonical episode that must come in."""

    number: int
    index: int
    label: str
    canvas: np.ndarray
    start: tuple[int, int]
    directions: list[str]
    windows: list[tuple[int, int]]
    answer: Any
    episode: Episode

    @property
    def id(self) -> str:
        return f"ep{self.number}"

    def png(self, glimpse: int) -> bytes:
        return to_png(observe(self.canvas, self.windows[glimpse], GEOMETRY))

    def uri(self, glimpse: int) -> str:
        return "data:image/png;base64," + self.b64(glimpse)

    def b64(self, glimpse: int) -> str:
        return base64.b64encode(self.png(glimpse)).decode()

    @property
    def facts(self) -> dict[str, Any]:
        return {"episode_id": self.id, "label": self.label, "digit_indices": [self.index]}


def scripts() -> list[Script]:
    digits = embedded()
    return [_script(number, int(digits.index[number * 7]), *route) for number, route in enumerate(ROUTES)]


def _script(number: int, index: int, route: str, answer: Any) -> Script:
    digits = embedded()
    label, canvas = str(digits.labels[index]), build_canvas([digits.image(index)])
    start, directions = start_window(canvas, GEOMETRY), route.split()
    value = (
        {"label": label, "wrong": str((int(label) + 1) % 10)}.get(answer, answer)
        if isinstance(answer, str)
        else answer
    )
    windows, steps = [start], []
    for direction in directions:
        before = windows[-1]
        after, clipped = GEOMETRY.move(before, direction)
        windows.append(after)
        steps.append(
            Step(
                step=len(steps),
                action_kind="move",
                direction=direction,
                window_before=before,
                window_after=after,
                clipped=clipped,
                shown=True,
            )
        )
    if value is not None:
        steps.append(
            Step(step=len(steps), action_kind="answer", window_before=windows[-1], window_after=windows[-1])
        )
    episode = Episode(
        episode_id=f"ep{number}",
        source_episode_id=f"ep{number}",
        label=label,
        digit_indices=[index],
        canvas=pixel_hash(canvas),
        start=start,
        steps=steps,
        stop_reason="no_answer" if value is None else "answered",
    )
    given = {None: None, "seven": "-1", "07": "7", 7: "7"}.get(value, value)
    settle_answer(episode, 1, given)
    episode.start_image = hashlib.sha256(to_png(observe(canvas, start, GEOMETRY))).hexdigest()
    for step in steps:
        if step.action_kind == "move":
            step.image = hashlib.sha256(to_png(observe(canvas, step.window_after, GEOMETRY))).hexdigest()
    return Script(number, index, label, canvas, start, directions, windows, value, finish(episode, GEOMETRY))


@dataclass
class Read:
    """Everything that a reader yielded."""

    runs: list[Run]
    episodes: list[Episode]
    canvases: dict[str, Canvas]
    images: dict[str, bytes]
    diagnostics: list[Diagnostic]

    def codes(self) -> set[str]:
        return {problem.code for problem in self.diagnostics}

    def episode(self, source_id: str | None = None) -> Episode:
        found = [e for e in self.episodes if source_id in (None, e.source_episode_id)]
        assert len(found) == 1, f"{len(found)} episodes {source_id}"
        return found[0]


def read(source: Path | dict[str, bytes] | bytes, name: str | None = None, file: str = "log.jsonl") -> Read:
    """Read a source with the adapter that detects it; `name` must be that adapter."""
    if isinstance(source, bytes):
        source = {file: source}
    if isinstance(source, dict):
        bundle: Any = MemoryBundle(file, source)
    else:
        bundle = FolderBundle(source) if source.is_dir() else file_bundle(source)
    known = detect(bundle)
    assert known is not None, "no adapter knows it"
    assert name in (None, known.name), f"detected as {known.name}"
    return collect(adapter(known.name).read(bundle, embedded()))


def collect(items: Any) -> Read:
    result = Read([], [], {}, {}, [])
    for item in items:
        match item:
            case Run():
                if all(item is not run for run in result.runs):
                    result.runs.append(item)
            case Episode():
                result.episodes.append(item)
            case Canvas():
                result.canvases[item.canvas] = item
            case Image():
                result.images[item.image] = item.data
            case Diagnostic():
                result.diagnostics.append(item)
    return result


_EPISODE = (
    "source_episode_id label digit_indices canvas start start_image answer answer_status correct stop_reason "
    "n_actions n_moves n_moves_effective n_glimpses n_glimpses_reached world_key"
).split()
_STEP = "step action_kind direction valid window_before window_after clipped shown image".split()


def canonical(episode: Episode, without: set[str] = frozenset()) -> dict[str, Any]:  # type: ignore[assignment]
    """What must be the same whatever the format, less what the format cannot hold."""
    record = {name: getattr(episode, name) for name in _EPISODE if name not in without}
    record["steps"] = [
        {name: getattr(step, name) for name in _STEP if name not in without} for step in episode.steps
    ]
    return record


def assert_same(result: Read, ten: list[Script], without: set[str] = frozenset()) -> None:  # type: ignore[assignment]
    """The ten scripted episodes came in as they are."""
    assert [episode.source_episode_id for episode in result.episodes] == [script.id for script in ten]
    for episode, script in zip(result.episodes, ten, strict=True):
        assert canonical(episode, without) == canonical(script.episode, without)


def jsonl(*records: Any) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def tool_calls(script: Script) -> list[tuple[str, dict[str, Any], int | None]]:
    """Tool calls of an episode: name, arguments, glimpse that the result shows."""
    calls: list[tuple[str, dict[str, Any], int | None]] = [
        ("activeglimpse_move", {"direction": direction}, number)
        for number, direction in enumerate(script.directions, start=1)
    ]
    if script.answer is not None:
        calls.append(("submit", {"answer": script.answer}, None))
    return calls


def actions(script: Script) -> list[str]:
    """Replies of an episode in the official runner's form."""
    texts = [
        json.dumps({"action": "move", "direction": d, "thought": f"going {d}"}) for d in script.directions
    ]
    if script.answer is not None:
        texts.append(json.dumps({"action": "answer", "value": script.answer}))
    return texts
