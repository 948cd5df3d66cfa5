"""Canonical episodes as an Inspect log in JSON: readable by `inspect view` and `read_eval_log`."""

from __future__ import annotations

import base64
import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ....schemas import Episode, Glimpse, Run, Step
from ...world.canvas import to_png
from ..calls import tool_call
from ..export import Export, Part, episode_facts, iso, redacted, run_facts

_VERSION = 2


def write(export: Export, out: Path) -> int:
    """Write `<out>/<run>.json`; returns the number of episodes. Samples are written one after another."""
    out.mkdir(parents=True, exist_ok=True)
    run, written = export.run, 0
    head = json.dumps(_clean(export, _header(run)))
    with (out / f"{run.run.replace('/', '_')}.json").open("w", encoding="utf-8") as file:
        file.write(head[:-1] + ', "samples": [')
        for part in export.parts():
            for episode in part.episodes:
                sample = _Sample(part, episode).record()
                file.write(("," if written else "") + "\n" + json.dumps(_clean(export, sample)))
                written += 1
        file.write("\n]}\n")
    return written


def _clean(export: Export, record: dict[str, Any]) -> dict[str, Any]:
    return redacted(record) if export.redact else record


def _header(run: Run) -> dict[str, Any]:
    created = iso(run.created) or iso(datetime.now(UTC))
    spec = {
        "eval_id": run.run_id,
        "run_id": run.run_id,
        "created": created,
        "task": run.run,
        "task_id": run.run,
        "dataset": {"name": "mnist"},
        "model": run.model or "none/none",
        "config": {},
        "metadata": {"mnistpro_replay": run_facts(run)},
    }
    return {"version": _VERSION, "status": "success", "eval": spec, "plan": {"steps": []}}


class _Sample:
    def __init__(self, part: Part, episode: Episode) -> None:
        self.part, self.episode = part, episode
        self.texts = {text.step: text for text in episode.step_texts}
        self.glimpses = {glimpse.step: glimpse for glimpse in episode.reached()}
        self.attachments: dict[str, str] = {}

    def record(self) -> dict[str, Any]:
        episode = self.episode
        facts = episode_facts(episode)
        canvas = self.part.canvas(episode)
        if canvas is not None:
            facts["canvas"] = _uri(to_png(canvas))
        start = self._content("Look at the canvas through the window, then answer.", self.glimpses.get(None))
        messages: list[dict[str, Any]] = [
            {"role": "user", "content": start, "metadata": {"window_after": episode.start}}
        ]
        for step in episode.steps:
            messages += self._step(step)
        verdict = episode.success if episode.success is not None else episode.correct
        value = {True: "C", False: "I", None: "N"}[verdict]
        return {
            "id": episode.source_episode_id,
            "epoch": episode.repeat + 1,
            "input": "Look at the canvas through the window, then answer.",
            "target": episode.label or "",
            "messages": messages,
            "output": {"model": self.part.export.run.model or "", "choices": []},
            "scores": {"success": {"value": value, "answer": episode.answer_source}},
            "metadata": {"mnistpro_replay": facts},
            "attachments": self.attachments,
            "total_time": episode.duration or 0.0,
        }

    def _step(self, step: Step) -> list[dict[str, Any]]:
        text = self.texts.get(step.step)
        name, arguments = tool_call(step)
        call = {"id": f"call_{step.step}", "function": name, "arguments": arguments, "type": "function"}
        content: list[dict[str, Any]] = []
        if text and text.thought:
            content.append({"type": "reasoning", "reasoning": text.thought})
        content.append({"type": "text", "text": (text and text.raw_reply) or ""})
        reply = {"role": "assistant", "content": content, "tool_calls": [call]}
        result = {
            "role": "tool",
            "tool_call_id": call["id"],
            "function": name,
            "content": self._content("accepted" if step.valid else "rejected", self.glimpses.get(step.step)),
            "metadata": {"window_after": step.window_after, "shown": step.shown, "reward": step.reward},
        }
        if not step.valid:
            result["error"] = {"type": "unknown", "message": "rejected"}
        return [reply, result]

    def _content(self, text: str, glimpse: Glimpse | None) -> Any:
        data = self.part.picture(self.episode, glimpse) if glimpse and glimpse.shown else None
        if data is None:
            return text
        name = hashlib.md5(data).hexdigest()
        self.attachments[name] = _uri(data)
        return [{"type": "text", "text": text}, {"type": "image", "image": f"attachment://{name}"}]


def _uri(data: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(data).decode()
