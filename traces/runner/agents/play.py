"""A model plays the world: asked turn by turn, every reply journalled before anything follows from it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from ....schemas import Episode, Run, StopAsking, Usage
from ...episodes import finish, run_id
from ...journal import Journal
from ...models import Prompts
from ...models.client import Client, Reply, RequestFailed, Turn
from ...models.questions import reading_prompts, reading_question
from ...models.replies import parse_action, strict_answer
from ...world.canvas import reveal, to_png
from ...world.env import GlimpseEnv
from ..recorder import Forced, Played, Recorder
from ..run import Line, Plan, past_lines
from .memory import Condition, Context, probe_turns, turns
from .probes import forced_answer

PARSE_ATTEMPTS = 3
"""Replies asked for until one is JSON, as the official runner does; then the action counts as invalid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPlan(Plan):
    """A run of a model to make.

    Args:
        client: the model.
        condition: what it is sent.
        prompts: prompt files.
        probes: shown glimpses at which an answer is forced on the side.
        control: whether the model is also shown the whole canvas, once an episode.
        concurrency: episodes under way at once.
    """

    policy: str = "llm"
    client: Client
    condition: Condition
    prompts: Prompts
    probes: tuple[int, ...] = ()
    control: bool = False
    concurrency: int = 8

    def run(self) -> Run:
        """The run's record."""
        run, condition = Plan.run(self), self.condition
        run.model = self.client.spec.id
        run.memory, run.memory_raw, run.horizon = condition.memory, condition.memory, condition.horizon
        run.turn_mode = run.harness = condition.turn_mode
        run.prompts_hash = self.prompts.hash(*condition.prompt_names, *reading_prompts("full"))
        run.run = self.name or self._default_name()
        run.run_id = run_id(run)
        return run

    def _default_name(self) -> str:
        condition = self.condition
        horizon = "" if condition.horizon == -1 else f"_h{condition.horizon}"
        mode = "_natural" if condition.turn_mode == "natural" else ""
        when = "" if condition.canvas_when == "every" else f"_{condition.canvas_when.replace(':', '')}"
        repeat = f"_r{self.repeat}" if self.repeat else ""
        model = self.client.spec.name.replace("/", "_")
        return f"{model}_{condition.memory}{when}{horizon}{mode}_L{self.level}{repeat}"

    def _settings(self) -> dict[str, Any]:
        own = {"provider": self.client.settings, "canvas_when": self.condition.canvas_when}
        return own | {"probes": list(self.probes), "control": self.control} | self._world_settings()


def run_agents(plan: AgentPlan, journal: Journal | None = None) -> Iterator[Played]:
    """Play a plan's episodes, several at once.

    With a journal every reply is on disk before anything follows from it, and none that it holds is asked
    for again.

    Yields:
        each episode in order.

    Raises:
        StopAsking: where the model should not be asked any more; the journal has all that was received.
        ValueError: for a plan that cannot be run, or a journal that another plan began.
    """
    run = plan.run()
    past = past_lines(journal, run) if journal else {}
    note = journal.append if journal else lambda line: None
    with asyncio.Runner() as runner:
        slots = asyncio.Semaphore(plan.concurrency)

        async def play(number: int) -> Played:
            async with slots:
                return await _Player(plan, run, note, number, past.get(number, [])).play()

        tasks = [runner.get_loop().create_task(play(number)) for number in range(plan.episodes)]
        try:
            for task in tasks:
                yield runner.run(_result(task))
        except StopAsking:
            # Calls under way are paid for: their replies go to the journal.
            runner.run(_settled(tasks))
            raise


async def _result(task: asyncio.Task[Played]) -> Played:
    return await task


async def _settled(tasks: Sequence[asyncio.Task[Played]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)


@dataclass(slots=True)
class _Player:
    """One episode of a model, of which `past` was received before."""

    plan: AgentPlan
    run: Run
    note: Callable[[Line], None]
    number: int
    past: list[Line]
    _forced: list[Forced] = field(default_factory=list)
    _env: GlimpseEnv = field(init=False)
    _replies: list[str] = field(default_factory=list)
    _frames: list[bytes] = field(default_factory=list)

    async def play(self) -> Played:
        """Play to the end."""
        self._env = env = self.plan.world()
        observation, _ = env.reset(options={"episode_id": self.number})
        recorder = Recorder(env, observation, self.plan.repeat)
        self._frames.append(to_png(observation))
        control = await self._control() if self.plan.control else None
        while env.termination_reason == "running":
            if env.n_moves in self.plan.probes:
                await self._probe()
            line = await self._decide()
            recorder.begun(line)
            if line["action"] is None:
                break
            began = time.perf_counter()
            outcome = env.step(line["action"])
            recorder.step(line, outcome, time.perf_counter() - began)
            self._replies.append(line["reading"]["raw"] if line["reading"] else "")
            self._frames.append(to_png(outcome[0]))
        played = recorder.finish()
        played.forced = self._forced
        _settle(played.episode, control, env)
        return played

    async def _decide(self) -> Line:
        """The decision of one turn, with all attempts that led to it."""
        attempts: list[dict[str, Any]] = []
        action: dict[str, Any] | None = None
        reply = await self._ask("action", self._turns())
        while reply["error"] is None and (action := parse_action(reply["raw"])) is None:
            attempts += reply["failed"] + [_unused(reply, "not a JSON object")]
            if len([a for a in attempts if a["raw_reply"] is not None]) >= PARSE_ATTEMPTS:
                return _line(reply, {"action": "invalid"}, None, attempts)
            reply = await self._ask("action", self._turns())
        if reply["error"] is not None or action is None:
            return _line(reply, None, None, attempts + reply["failed"])
        if action.get("action") == "answer" and self._canvas(answering=True) and not self._canvas():
            shown = await self._ask("end", self._turns(answering=True))
            second = parse_action(shown["raw"] or "")
            if second is not None and second.get("action") == "answer":
                attempts += reply["failed"] + [_unused(reply, "answered again after the canvas was shown")]
                reply, action = shown, second
            else:
                attempts += shown["failed"] + [_unused(shown, "no answer after the canvas was shown")]
        return _line(reply, world_action(action), action, attempts + reply["failed"])

    async def _probe(self) -> None:
        """Force an answer on the side; nothing of it is remembered."""
        conversation = probe_turns(self.plan.prompts, self._turns(), self._env.geometry.n_panels)
        line = await self._ask("probe", conversation) | {"glimpse": self._env.n_moves}
        owner = f"{self.run.run_id} {self.run.repeat}"
        hashed = self.run.prompts_hash or ""
        self._forced.append(
            forced_answer(self.plan.client, self.plan.level, hashed, line, conversation, owner)
        )

    async def _control(self) -> Line:
        canvas = self._env.canvas
        question = reading_question(self.plan.prompts, "full", self._env.geometry.n_panels, [canvas])
        return await self._ask("control", [question])

    async def _ask(self, kind: str, conversation: Sequence[Turn]) -> Line:
        """A reply as a journal line; the one received before, where there is one."""
        place = {"episode": self.number, "step": self._env.n_actions, "kind": kind}
        if self.past and {key: self.past[0][key] for key in place} == place:
            return self.past.pop(0)
        at, began = datetime.now(UTC).isoformat(), time.perf_counter()
        reply, error, failed = None, None, []
        try:
            reply = await self.plan.client.ask(conversation)
            failed = reply.failed
        except RequestFailed as failure:
            error, failed = str(failure), failure.failed
        line = place | _received(reply, error, failed)
        line |= {"model_latency": time.perf_counter() - began, "time": at}
        self.note(line)
        return line

    def _turns(self, *, answering: bool = False) -> list[Turn]:
        plan, env = self.plan, self._env
        canvas = to_png(reveal(env.canvas, env.seen)) if self._canvas(answering=answering) else None
        left = env.geometry.budget - env.n_actions
        context = Context(self._replies, self._frames, canvas, left)
        return turns(plan.prompts, plan.condition, env.geometry, context)

    def _canvas(self, *, answering: bool = False) -> bool:
        env = self._env
        left = env.geometry.budget - env.n_actions
        return self.plan.condition.shows_canvas(env.n_actions, env.coverage, left, answering=answering)


def _received(reply: Reply | None, error: str | None, failed: Sequence[str]) -> Line:
    return {
        "raw": reply.text if reply else None,
        "usage": asdict(reply.usage) if reply else asdict(Usage()),
        "error": error,
        "failed": [{"raw_reply": None, "error": text} for text in failed],
    }


def _unused(reply: Line, why: str) -> dict[str, Any]:
    return {"raw_reply": reply["raw"], "error": reply["error"] or why, **reply["usage"]}


def _line(
    reply: Line, action: dict[str, Any] | None, said: dict[str, Any] | None, attempts: list[dict[str, Any]]
) -> Line:
    """A decision in the form that the recorder takes. An invalid reply's usage is that of its attempts."""
    thought = (said or {}).get("thought")
    used = said is not None
    return {
        "action": action,
        "thought": thought if isinstance(thought, str) else None,
        "spatial_map": (said or {}).get("spatial_map"),
        "reading": {"raw": reply["raw"], "usage": reply["usage"] if used else {}} if action else None,
        "error": reply["error"],
        "attempts": attempts,
        "model_latency": reply["model_latency"],
        "time": reply["time"],
    }


def world_action(said: dict[str, Any]) -> dict[str, Any]:
    """The part of a reply that the world is given; anything but a move or an answer is invalid."""
    kind = said.get("action")
    if kind == "move":
        return {"action": "move", "direction": said.get("direction")}
    return {"action": "answer", "value": said.get("value")} if kind == "answer" else {"action": "invalid"}


def _settle(episode: Episode, control: Line | None, env: GlimpseEnv) -> None:
    """What the recorder of scripted runs does not know: requests that failed, and the control."""
    if episode.error is not None:
        # The picture of a request that failed never reached the model.
        moves = [step for step in episode.steps if step.shown]
        if moves:
            moves[-1].shown = False
        else:
            episode.start_shown = False
        finish(episode, env.geometry)
    if control is not None and control["raw"] is not None:
        answer = strict_answer(control["raw"], env.geometry.n_panels)
        episode.control_answer = answer
        episode.control_success = answer == env.label
