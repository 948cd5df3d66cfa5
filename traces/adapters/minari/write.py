"""Canonical episodes as a Minari dataset, pictures without loss."""

from __future__ import annotations

import base64
import json
import string
from pathlib import Path
from typing import Any

import numpy as np

from ....schemas import Episode, Step
from ....schemas.extras import require
from ...world.canvas import from_png, to_png
from ..calls import tool_call
from ..export import Export, Part, episode_facts, redacted, run_facts
from ..json_text import dumps

_TEXT = 4096


def write(export: Export, out: Path) -> int:
    """Write `<out>/<run>/data`, readable by `minari.load_dataset` with `<out>` as its root.

    Observations are pictures and window positions, actions JSON texts in the official form. Episodes whose pictures
    or windows are not all known are left out: a dataset has no place for gaps.

    Returns:
        the number of episodes written.

    Raises:
        MissingExtra: without the extra `minari`.
        ValueError: where the run's geometry is unknown.
    """
    storage_module = require("minari.dataset.minari_storage", "minari")
    buffers = require("minari.data_collector.episode_buffer", "minari")
    geometry = export.run.geometry()
    if geometry is None:
        raise ValueError(f"run {export.run.run!r} does not say window, stride and panel size")
    name = f"{export.run.run.replace('/', '_')}-v0"
    data = out / name / "data"
    data.mkdir(parents=True, exist_ok=True)
    observation, action = _spaces(geometry.height, geometry.width)
    storage = storage_module.MinariStorage.new(
        data, observation_space=observation, action_space=action, data_format="hdf5", jpeg_encoding=False
    )
    storage.update_metadata({"dataset_id": name, "description": "exported by mnistpro-replay"})
    written = 0
    for part in export.parts():
        for episode in part.episodes:
            fields = _buffer(part, episode)
            if fields is not None:
                storage.update_episodes([buffers.EpisodeBuffer(id=written, **fields)])
                written += 1
    _add_metadata(data / "metadata.json", name)
    return written


def _spaces(height: int, width: int) -> tuple[Any, Any]:
    from gymnasium import spaces

    observation = spaces.Dict(
        {
            "image": spaces.Box(0, 255, (height, width, 3), np.uint8),
            "window": spaces.Box(-1, 2**31 - 1, (2,), np.int64),
        }
    )
    return observation, spaces.Text(_TEXT, charset=string.printable)


def _add_metadata(path: Path, name: str) -> None:
    # The storage refuses to set these two; without them the dataset cannot be loaded by name.
    from importlib.metadata import version

    metadata = json.loads(path.read_text())
    metadata |= {"dataset_id": name, "minari_version": version("minari")}
    path.write_text(json.dumps(metadata))


def _buffer(part: Part, episode: Episode) -> dict[str, Any] | None:
    """One episode as Minari has it: the start, then an action and the observation after it."""
    glimpses = {glimpse.step: glimpse for glimpse in episode.reached()}
    images, windows = [], []
    for number in [None, *(step.step for step in episode.steps)]:
        glimpse = glimpses.get(number)
        data = part.picture(episode, glimpse) if glimpse else None
        if data is not None and glimpse is not None and glimpse.window is not None:
            images.append(from_png(data, "RGB"))
            windows.append(glimpse.window)
        elif number is None or glimpse is not None:
            return None
        else:
            # An answer or a rejected action changes nothing that is to be seen.
            images.append(images[-1])
            windows.append(windows[-1])
    facts = run_facts(part.export.run) | episode_facts(episode)
    canvas = part.canvas(episode)
    if canvas is not None:
        facts["canvas"] = _uri(to_png(canvas))
    moves = [step for step in episode.steps if step.action_kind == "move" and step.valid]
    facts["unshown"] = [step.step for step in moves if not step.shown]
    facts = redacted(facts) if part.export.redact else facts
    n = len(episode.steps)
    return {
        "options": {"mnistpro_replay": json.dumps(facts)},
        "observations": {"image": np.stack(images), "window": np.array(windows, np.int64)},
        "actions": [_action(step, part.export.redact) for step in episode.steps],
        "rewards": [step.reward or 0.0 for step in episode.steps],
        "terminations": [number == n - 1 and episode.stop_reason == "answered" for number in range(n)],
        "truncations": [number == n - 1 and episode.stop_reason == "step_limit" for number in range(n)],
    }


def _action(step: Step, redact: bool) -> str:
    name, arguments = tool_call(step)
    if name == "submit":
        action = {"action": "answer", "value": arguments["answer"]}
    else:
        action = {"action": "move" if name == "move" else "invalid", **arguments}
    return dumps(redacted(action) if redact else action)[:_TEXT]


def _uri(data: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(data).decode()
