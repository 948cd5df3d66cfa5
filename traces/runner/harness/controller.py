"""What the agent must not see: the world behind the tools, and the record of every call."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ....schemas import DIRECTIONS, ToolCall
from ...world.canvas import to_png
from ...world.env import GlimpseEnv
from ..recorder import Played, Recorder
from ..run import Line
from .mailbox import Result

OBSERVATIONS = "observations"
_OVER = Result("The exploration is over.", is_error=True)


class Controller:
    """One episode behind the tools.

    Pictures are told apart by random names, under which they also lie in the agent's workspace. A call that
    makes no sense (a direction that is none, a picture that was never given) is an error and costs nothing.

    Args:
        env: the world.
        number: which episode.
        repeat: number of this repeat of the condition.
        workspace: the agent's folder; None where calls are only played again.
        note: called with every call that was answered.
    """

    def __init__(
        self,
        env: GlimpseEnv,
        number: int,
        repeat: int = 0,
        workspace: Path | None = None,
        note: Callable[[Line], None] = lambda line: None,
    ) -> None:
        self._env, self._workspace, self._note = env, workspace, note
        observation, _ = env.reset(options={"episode_id": number})
        self._recorder = Recorder(env, observation, repeat)
        self._pictures: dict[str, bytes] = {}
        self._calls: list[ToolCall] = []
        self._current = self._deliver(to_png(observation))
        self._asked = time.perf_counter()

    @property
    def over(self) -> bool:
        """Whether the episode has ended."""
        return self._env.termination_reason != "running"

    def _deliver(self, picture: bytes) -> str:
        name = f"{secrets.token_hex(8)}.png"
        self._pictures[name] = picture
        if self._workspace is not None:
            folder = self._workspace / OBSERVATIONS
            folder.mkdir(exist_ok=True)
            (folder / name).write_bytes(picture)
        return name

    def call(self, tool: str, arguments: dict[str, Any]) -> Result:
        """Answer a call and record it."""
        return self.replay(tool, arguments, datetime.now(UTC).isoformat(), time.perf_counter() - self._asked)

    def replay(self, tool: str, arguments: dict[str, Any], at: str, latency: float) -> Result:
        """Answer a call that was made at a time, after so many seconds of the agent's."""
        took_part = len(self._calls), self._env.n_actions
        line = {"tool": tool, "arguments": arguments, "time": at, "latency": latency}
        result = _OVER if self.over else self._answer(tool, arguments, line)
        acted = self._env.n_actions > took_part[1]
        image = hashlib.sha256(result.picture).hexdigest() if result.picture else None
        self._calls.append(
            ToolCall(
                position=took_part[0],
                step=took_part[1] if acted else None,
                tool=tool,
                arguments=arguments,
                result=result.text,
                image=image,
                is_error=result.is_error,
                time=datetime.fromisoformat(at),
            )
        )
        self._note(line)
        self._asked = time.perf_counter()
        return result

    def _answer(self, tool: str, arguments: dict[str, Any], line: Line) -> Result:
        if tool == "view_image":
            name = arguments.get("name") or self._current
            if name not in self._pictures:
                return Result(f"There is no picture {name!r}.", is_error=True)
            return Result(f"Picture {name}", self._pictures[name])
        if tool == "move":
            direction = arguments.get("direction")
            if direction not in DIRECTIONS:
                return Result(f"There is no direction {direction!r}.", is_error=True)
            return self._move(direction, line)
        if tool == "submit":
            self._step({"action": "answer", "value": arguments.get("answer")}, line)
            return Result("Submitted. The exploration is over.")
        return Result(f"There is no tool {tool!r}.", is_error=True)

    def _move(self, direction: str, line: Line) -> Result:
        picture = to_png(self._step({"action": "move", "direction": direction}, line))
        self._current = self._deliver(picture)
        left = self._env.geometry.budget - self._env.n_actions
        end = " The exploration is over." if self.over else ""
        return Result(f"Picture {self._current}. {left} actions are left.{end}", picture)

    def _step(self, action: dict[str, Any], line: Line) -> Any:
        made = {"action": action, "thought": None, "reading": None, "error": None}
        made |= {"model_latency": line["latency"], "time": line["time"]}
        self._recorder.begun(made)
        began = time.perf_counter()
        outcome = self._env.step(action)
        # Every picture is delivered by the tool, the one after the last action allowed too.
        self._recorder.step(made, outcome, time.perf_counter() - began, delivered=True)
        return outcome[0]

    def finish(self, error: str | None = None) -> Played:
        """Settle how the episode ended; `error` says what ended it from outside."""
        return self._recorder.finish(error, tool_calls=self._calls)
