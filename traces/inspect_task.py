"""The world as Inspect tasks: `inspect eval mnistpro_replay/level1 -T memory=textual_state --model ...`.

Inspect asks the model, with its own retries, limits and log; the conditions are those of `runner/agents`.
The log is read back into the same traces: `mnistpro-replay ingest logs/`.
"""

from __future__ import annotations

import base64
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageUser,
    Content,
    ContentImage,
    ContentText,
    get_model,
)
from inspect_ai.scorer import CORRECT, INCORRECT, Score, Scorer, Target, accuracy, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver

from .models import Prompts
from .models.client import Turn
from .models.replies import parse_action
from .runner.agents.memory import Condition, Context, condition, turns
from .runner.agents.play import PARSE_ATTEMPTS, world_action
from .world.canvas import reveal, to_png
from .world.env import GlimpseEnv, official_answer
from .world.sampler import PUBLISHED_SEED

_FACTS = "mnistpro_replay"


@task
def level1(**settings: Any) -> Task:
    """One digit; `settings` as of `glimpse_task`."""
    return glimpse_task(1, **settings)


@task
def level2(**settings: Any) -> Task:
    """Two digits side by side; `settings` as of `glimpse_task`."""
    return glimpse_task(2, **settings)


def glimpse_task(
    level: int,
    memory: str = "image_only",
    horizon: int | None = None,
    turn_mode: str | None = None,
    canvas_when: str = "every",
    episodes: int = 100,
    seed: int = PUBLISHED_SEED,
    window: int = 64,
    stride: int = 32,
) -> Task:
    """The world with so many digits under one memory condition.

    Args:
        level: digits on the canvas.
        memory: `image_only`, `textual_state`, `metric_grid_map`, `online_canvas` or `multi_turn`.
        horizon: pictures kept; -1 for all.
        turn_mode: `turn_based` or `natural`.
        canvas_when: when an online canvas is shown.
        episodes: how many of the sampled episodes, from the first.
        seed: of the episode sampler.
        window: side of the window in pixels.
        stride: pixels of one move.

    Raises:
        ValueError: for a condition that is none.
    """
    chosen = condition(memory, horizon, turn_mode, str(canvas_when))
    settings: dict[str, Any] = {"n_panels": level, "window": window, "stride": stride, "sampler_seed": seed}
    env = GlimpseEnv(**settings, evalsets=max(10, -(-episodes // 10)))
    samples = []
    for number in range(episodes):
        env.reset(options={"episode_id": number})
        facts = {"digit_indices": list(env.digit_indices), "start": list(env.window)}
        samples.append(Sample(input="Explore.", target=env.label, id=number, metadata={_FACTS: facts}))
    facts = {
        "run": f"inspect_{memory}_L{level}",
        "agent": "llm",
        "memory": chosen.memory,
        "horizon": chosen.horizon,
        "turn_mode": chosen.turn_mode,
        "harness": chosen.turn_mode,
        "window": window,
        "stride": stride,
        "panel": env.geometry.panel,
        "n_panels": level,
        "draw_border": True,
        "t_max": env.geometry.budget,
        "seed": seed,
    }
    return Task(
        dataset=MemoryDataset(samples, name=f"mnistpro_level{level}"),
        solver=explore(chosen, settings, episodes),
        scorer=official_verdict(),
        metadata={_FACTS: facts},
    )


@solver
def explore(chosen: Condition, settings: dict[str, Any], episodes: int) -> Solver:
    """Plays an episode; the sample's messages are one observation and one reply a turn."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        env = GlimpseEnv(**settings, evalsets=max(10, -(-episodes // 10)))
        observation, _ = env.reset(options={"episode_id": int(state.sample_id)})
        state.messages = []
        replies: list[str] = []
        frames = [to_png(observation)]
        while env.termination_reason == "running":
            where = {"window_after": list(env.window)}
            state.messages.append(ChatMessageUser(content=[_image(frames[-1])], metadata=where))
            action, reply = await _decide(chosen, env, replies, frames)
            state.messages.append(reply)
            observation, *_ = env.step(action)
            replies.append(reply.text)
            frames.append(to_png(observation))
        state.metadata[_FACTS] |= {
            "windows_source": [list(window) for window in env.windows],
            "termination_raw": env.termination_reason,
        }
        if env.termination_reason == "answered":
            state.metadata[_FACTS]["answer_source"] = official_answer(env.answer, env.geometry.n_panels)
        return state

    return solve


async def _decide(
    chosen: Condition, env: GlimpseEnv, replies: list[str], frames: list[bytes]
) -> tuple[dict[str, Any], ChatMessageAssistant]:
    left = env.geometry.budget - env.n_actions
    shown = chosen.shows_canvas(env.n_actions, env.coverage, left)
    canvas = to_png(reveal(env.canvas, env.seen)) if shown else None
    conversation = turns(Prompts(), chosen, env.geometry, Context(replies, frames, canvas, left))
    for _ in range(PARSE_ATTEMPTS):
        output = await get_model().generate([_message(turn) for turn in conversation])
        said = parse_action(output.completion)
        if said is not None:
            return world_action(said), output.message
    return {"action": "invalid"}, output.message


def _message(turn: Turn) -> ChatMessage:
    content: list[Content] = [
        ContentText(text=part) if isinstance(part, str) else _image(part) for part in turn.parts
    ]
    return (
        ChatMessageAssistant(content=content)
        if turn.role == "assistant"
        else ChatMessageUser(content=content)
    )


def _image(png: bytes) -> ContentImage:
    return ContentImage(image="data:image/png;base64," + base64.b64encode(png).decode())


@scorer(metrics=[accuracy(), stderr()])
def official_verdict() -> Scorer:
    """Right where the answer, compared as the official runner does, equals the label."""

    async def score(state: TaskState, target: Target) -> Score:
        answer = state.metadata[_FACTS].get("answer_source")
        return Score(value=CORRECT if answer == target.text else INCORRECT, answer=answer)

    return score
