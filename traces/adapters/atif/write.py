"""Canonical episodes as ATIF v1.6 trajectories: a folder an episode, pictures as files."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from ....schemas import Episode, Glimpse, Step
from ...world.canvas import to_png
from ..calls import tool_call
from ..export import Export, Part, episode_facts, inclusive, iso, redacted, run_facts

_SCHEMA = "ATIF-v1.6"
_UNSAFE = re.compile(r"[^\w.-]+")


def write(export: Export, out: Path) -> int:
    """Write `<out>/<episode>/agent/trajectory.json` with its pictures; returns the number of episodes."""
    written = 0
    for part in export.parts():
        for episode in part.episodes:
            folder = out / (_UNSAFE.sub("_", episode.episode_id) or "_") / "agent"
            _Writer(part, episode, folder).write()
            written += 1
    return written


class _Writer:
    def __init__(self, part: Part, episode: Episode, folder: Path) -> None:
        self.part, self.episode, self.folder = part, episode, folder
        self.run = part.export.run
        self.texts = {text.step: text for text in episode.step_texts}
        self.glimpses = {glimpse.step: glimpse for glimpse in episode.reached()}

    def write(self) -> None:
        (self.folder / "images").mkdir(parents=True, exist_ok=True)
        document = self._document()
        document = redacted(document) if self.part.export.redact else document
        text = json.dumps(document, ensure_ascii=True, indent=1)
        (self.folder / "trajectory.json").write_text(text, encoding="utf-8")

    def _document(self) -> dict[str, Any]:
        episode = self.episode
        canvas = self.part.canvas(episode)
        facts = run_facts(self.run) | episode_facts(episode)
        if canvas is not None:
            facts["canvas"] = self._image("canvas", to_png(canvas))
        first = self._content("Look at the canvas through the window, then answer.", self.glimpses.get(None))
        start = {"step_id": 1, "timestamp": iso(episode.started), "source": "user", "message": first}
        start["extra"] = {"window_after": episode.start}
        steps = [start, *(self._step(step) for step in episode.steps)]
        agent = {"name": self.run.agent or "unknown", "version": "unknown", "model_name": self.run.model}
        return {
            "schema_version": _SCHEMA,
            "session_id": episode.episode_id,
            "agent": agent,
            "steps": steps,
            "final_metrics": self._totals(),
            "extra": {"mnistpro_replay": facts},
        }

    def _step(self, step: Step) -> dict[str, Any]:
        text = self.texts.get(step.step)
        name, arguments = tool_call(step)
        call_id = f"call_{step.step}"
        content = self._content("accepted" if step.valid else "rejected", self.glimpses.get(step.step))
        extra = {"window_after": step.window_after, "shown": step.shown, "reward": step.reward}
        if not step.valid:
            extra["is_error"] = True
        record = {
            "step_id": step.step + 2,
            "source": "agent",
            "message": (text and text.raw_reply) or "",
            "reasoning_content": text.thought if text else None,
            "tool_calls": [{"tool_call_id": call_id, "function_name": name, "arguments": arguments}],
            "observation": {"results": [{"source_call_id": call_id, "content": content}]},
            "metrics": inclusive(step) or None,
            "extra": extra,
        }
        return {key: value for key, value in record.items() if value is not None}

    def _content(self, text: str, glimpse: Glimpse | None) -> Any:
        data = self.part.picture(self.episode, glimpse) if glimpse and glimpse.shown else None
        if data is None:
            return text
        source = {"media_type": "image/png", "path": self._image("step", data)}
        return [{"type": "text", "text": text}, {"type": "image", "source": source}]

    def _image(self, kind: str, data: bytes) -> str:
        name = f"images/{kind}_{hashlib.sha256(data).hexdigest()[:16]}.png"
        (self.folder / name).write_bytes(data)
        return name

    def _totals(self) -> dict[str, Any]:
        counts = inclusive(self.episode)
        totals = {f"total_{name}": value for name, value in counts.items()}
        return totals | {"total_steps": len(self.episode.steps) + 1}
