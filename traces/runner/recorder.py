"""From what happens in the world to the records of the canonical trace."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from ...schemas import Attempt, Canvas, Episode, InputRow, PredictionRow, Step, StepText, ToolCall
from ...schemas.enums import StopReason
from ..episodes import finish, json_type, settle_answer
from ..world.canvas import pixel_hash, to_png
from ..world.env import GlimpseEnv, official_answer

_STOP: dict[str, StopReason] = {
    "answered": "answered",
    "step_limit": "step_limit",
    "invalid_action": "invalid_action",
    "running": "no_answer",
}


Forced = tuple[PredictionRow, InputRow]
"""A reading that was forced out of an agent on the side, and the glimpse that it was made at."""


@dataclass(slots=True)
class Played:
    """An episode, its hidden canvas, its pictures (sha256 to PNG file), and answers forced on the side."""

    episode: Episode
    canvas: Canvas
    images: dict[str, bytes]
    forced: list[Forced] = field(default_factory=list)


class Recorder:
    """Records one episode of an environment that was just reset and showed `observation`, uint8 (H, W, 3)."""

    def __init__(self, env: GlimpseEnv, observation: np.ndarray, repeat: int) -> None:
        self._env = env
        self._images: dict[str, bytes] = {}
        self._error: str | None = None
        height, width = env.canvas.shape
        self._canvas = Canvas(
            canvas=pixel_hash(env.canvas), png=to_png(env.canvas), width=width, height=height
        )
        self._episode = Episode(
            episode_id=str(env.episode_id),
            source_episode_id=str(env.episode_id),
            execution_position=env.episode_id,
            canvas=self._canvas.canvas,
            digit_indices=list(env.digit_indices),
            label=env.label,
            start=env.window,
            start_image=self._keep(observation),
            start_image_status="present",
            repeat=repeat,
            reward=0.0,
            duration=0.0,
        )

    def _keep(self, observation: np.ndarray) -> str:
        data = to_png(observation)
        digest = hashlib.sha256(data).hexdigest()
        self._images[digest] = data
        return digest

    def begun(self, line: dict[str, Any]) -> None:
        """Note that a decision was made: its time, and the error that stood in its place."""
        episode = self._episode
        episode.started = episode.started or datetime.fromisoformat(line["time"])
        episode.duration = (episode.duration or 0.0) + line["model_latency"]
        self._error = line["error"]
        for attempt in line.get("attempts", ()):
            step = len(episode.steps)
            number = sum(made.step == step for made in episode.attempts)
            episode.attempts.append(Attempt(step=step, attempt=number, **attempt))

    def step(
        self,
        line: dict[str, Any],
        outcome: tuple[Any, float, bool, bool, dict[str, Any]],
        took: float,
        *,
        delivered: bool = False,
    ) -> None:
        """Add the step that a decision led to.

        Args:
            line: the decision as journalled.
            outcome: what `env.step` returned.
            took: duration of `env.step` in seconds.
            delivered: whether a tool hands the picture over with the action, even the last one allowed.
        """
        observation, reward, _, truncated, info = outcome
        episode, action, reading = self._episode, line["action"], line["reading"]
        before = episode.steps[-1].window_after if episode.steps else episode.start
        step = Step(
            step=len(episode.steps),
            action_kind=action["action"],
            action_raw=json.dumps(action),
            direction=action.get("direction"),
            valid=info["termination_reason"] != "invalid_action",
            window_before=before,
            window_after=info["window"],
            reward=reward,
            model_latency=line["model_latency"],
            env_latency=took,
            **(reading["usage"] if reading else {}),
        )
        step.image, step.image_status = self._keep(observation), "present"
        if step.action_kind == "move" and step.valid:
            # A move that used up the budget ends the episode: no request is left that would carry its picture.
            step.clipped, step.shown = info["clipped"], delivered or not truncated
        episode.steps.append(step)
        raw = reading and reading["raw"]
        if line["thought"] is not None or raw is not None:
            text = StepText(step=step.step, thought=line["thought"], raw_reply=raw)
            text.spatial_map = line.get("spatial_map")
            episode.step_texts.append(text)
        episode.reward = (episode.reward or 0.0) + reward
        episode.duration = (episode.duration or 0.0) + took

    def finish(self, error: str | None = None, tool_calls: Sequence[ToolCall] = ()) -> Played:
        """Settle how the episode ended; `error` says what ended it from outside."""
        env, episode = self._env, self._episode
        self._error = error or self._error
        episode.tool_calls = list(tool_calls)
        episode.windows_source = list(env.windows)
        episode.termination_raw = env.termination_reason
        episode.stop_reason = "error" if self._error else _STOP[env.termination_reason]
        episode.error = self._error
        episode.success = env.success
        answered = env.termination_reason == "answered"
        if answered:
            episode.answer_source = official_answer(env.answer, env.geometry.n_panels)
            episode.answer_raw, episode.answer_raw_type = json.dumps(env.answer), json_type(env.answer)
        settle_answer(episode, env.geometry.n_panels, episode.answer_source)
        return Played(finish(episode, env.geometry), self._canvas, self._images)
