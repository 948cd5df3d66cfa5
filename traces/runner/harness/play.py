"""Runs of agents that use tools: one program started anew for each episode, in the order of the sampler."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from ....schemas import Episode, Note, Run, Usage
from ...episodes import finish, run_id
from ...journal import Journal
from ...models import Prompts
from ..recorder import Played
from ..run import Line, Plan, past_lines
from .controller import Controller
from .mailbox import Mailbox
from .transcript import merge_calls, total_usage
from .workspace import ARMS, CONFIG, PROMPT_NAMES, TASK, Arm, Carried, instruction, notes_left, prepare


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessPlan(Plan):
    """A run of a tool-using program to make.

    Args:
        command: program and arguments, started in the workspace; `{prompt}`, `{prompt_file}`, `{config}` and
            `{workspace}` stand for the instruction, its file, the MCP configuration and the folder.
        arm: what is carried from one episode to the next.
        prompts: prompt files.
        time_limit: seconds that the program may take for an episode.
        model: the model behind the program, where known.
    """

    policy: str = "mcp"
    command: tuple[str, ...]
    arm: Arm = "A0"
    prompts: Prompts
    time_limit: float = 3600.0
    model: str | None = None

    def run(self) -> Run:
        """The run's record.

        Raises:
            ValueError: for an arm that is none, or without a command.
        """
        if self.arm not in ARMS:
            raise ValueError(f"no arm {self.arm!r}; there are {', '.join(ARMS)}")
        if not self.command:
            raise ValueError("a harness run needs a command: run --harness mcp -- COMMAND...")
        run = Plan.run(self)
        program = Path(self.command[0]).name
        repeat = f"_r{self.repeat}" if self.repeat else ""
        run.run = self.name or f"{program}_{self.arm}_L{self.level}{repeat}"
        run.agent, run.model, run.arm = program, self.model, self.arm
        run.harness, run.turn_mode = "mcp", None
        run.prompts_hash = self.prompts.hash(*PROMPT_NAMES)
        run.run_id = run_id(run)
        return run

    def _settings(self) -> dict[str, Any]:
        return {"command": list(self.command), "time_limit": self.time_limit} | self._world_settings()


def run_harness(plan: HarnessPlan, journal: Journal) -> Iterator[Played]:
    """Play a plan's episodes, one after the other.

    An episode is journalled when it is over. After a crash the ones that were over are played again from
    their calls, without the agent; the one under way is begun anew.

    Yields:
        each episode.

    Raises:
        ValueError: for a plan that cannot be run, or a journal that another plan began.
    """
    past = past_lines(journal, plan.run())
    carried = Carried()
    for number in range(plan.episodes):
        line = past[number][0] if past.get(number) else None
        if line is None:
            line = _live(plan, number, carried)
            journal.append(line)
        played = _replayed(plan, number, line)
        _carry(plan.arm, number, carried, line, played.episode)
        yield played


def _live(plan: HarnessPlan, number: int, carried: Carried) -> Line:
    """One episode with the agent, as a journal line: its calls, what it printed and left."""
    calls: list[Line] = []
    with tempfile.TemporaryDirectory(prefix="glimpse-") as folder:
        workspace = Path(folder)
        controller = Controller(plan.world(), number, plan.repeat, workspace, calls.append)
        mailbox = Mailbox(controller.call)
        try:
            task = instruction(plan.prompts, plan.geometry, plan.arm)
            prepare(workspace, task, mailbox.address, plan.arm, carried)
            ended = _start(plan, workspace, task)
        finally:
            mailbox.close()
        notes = notes_left(workspace)
    return {"episode": number, "calls": calls, "notes": notes, **ended._asdict()}


class _Ended(NamedTuple):
    output: str
    error: str | None
    duration: float


def _start(plan: HarnessPlan, workspace: Path, task: str) -> _Ended:
    """Start the program and wait for its end; what it prints is kept, what is left of it is stopped."""
    values = {"prompt": task, "prompt_file": TASK, "config": CONFIG, "workspace": str(workspace)}
    command = [_fill(word, values) for word in plan.command]
    began = time.perf_counter()
    try:
        process = subprocess.Popen(
            command,
            cwd=workspace,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise ValueError(f"cannot start {plan.command[0]}: {error.strerror}") from error
    try:
        output, errors = process.communicate(timeout=plan.time_limit)
        failed = f"exit status {process.returncode}: {_last_line(errors)}" if process.returncode else None
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        failed = f"not over after {plan.time_limit:g} s"
    return _Ended(output.decode("utf-8", "replace"), failed, time.perf_counter() - began)


def _fill(word: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        word = word.replace(f"{{{name}}}", value)
    return word


def _last_line(errors: bytes) -> str:
    lines = errors.decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:200] if lines else "nothing on stderr"


def _replayed(plan: HarnessPlan, number: int, line: Line) -> Played:
    """The episode of a journal line."""
    controller = Controller(plan.world(), number, plan.repeat)
    for call in line["calls"]:
        controller.replay(call["tool"], call["arguments"], call["time"], call["latency"])
    # A program that ends badly after it has submitted has nevertheless submitted.
    played = controller.finish(None if controller.over else line["error"])
    episode = played.episode
    episode.tool_calls = merge_calls(line["output"], episode.tool_calls)
    episode.execution_position = number
    episode.duration = line["duration"]
    usage = total_usage(line["output"])
    for field in fields(Usage):
        setattr(episode, field.name, getattr(usage, field.name))
    finish(episode, plan.geometry)
    return played


def _carry(arm: Arm, number: int, carried: Carried, line: Line, episode: Episode) -> None:
    """Note what was carried into the episode and out of it."""
    if arm == "A0":
        return
    texts = [("notes_before", carried.notes), ("notes_after", line["notes"])]
    carried.notes = line["notes"]
    if arm == "A2":
        verdict = "right" if episode.success else "wrong"
        said = "no answer" if episode.answer_source is None else f"your answer {episode.answer_source}"
        told = f"Exploration {number + 1}: {said} was {verdict}.\n"
        carried.feedback += told
        texts.append(("feedback", told))
    episode.notes = [Note(position=n, kind=kind, text=text) for n, (kind, text) in enumerate(texts)]
