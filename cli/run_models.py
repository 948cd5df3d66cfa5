"""Plans of `run` for those who are no scripted policy: models, and programs that use tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .context import UsageError
from .models import model_tables, prompts

if TYPE_CHECKING:
    from ..traces.models import Limits, ModelSpec


class Maker(NamedTuple):
    """How the plans of a run are made, and how such a plan is played."""

    plan: Callable[..., Any]
    play: Callable[..., Iterator[Any]]


def model_spec(name: str) -> ModelSpec:
    """The model that a name means; UsageError for none."""
    from ..traces.models import find

    try:
        return find(name, model_tables())
    except ValueError as error:
        raise UsageError(str(error)) from error


def agent_maker(
    model: str,
    allowed: Limits,
    *,
    memory: str,
    horizon: int | None,
    turn_mode: str | None,
    canvas_when: str,
    probe_at: str | None,
    control: bool,
    concurrency: int,
    prompt_folder: Path | None,
) -> Maker:
    """Runs of a model that acts turn by turn."""
    from ..traces.models.client import Client
    from ..traces.runner.agents.memory import condition
    from ..traces.runner.agents.play import AgentPlan, run_agents

    try:
        chosen = condition(memory, horizon, turn_mode, canvas_when)
        client = Client(model_spec(model), allowed)
    except ValueError as error:
        raise UsageError(str(error)) from error
    made = partial(
        AgentPlan,
        client=client,
        condition=chosen,
        prompts=prompts(prompt_folder),
        probes=_glimpses(probe_at),
        control=control,
        concurrency=concurrency,
    )
    return Maker(made, run_agents)


def harness_maker(
    harness: str, command: list[str], model: str | None, arm: str, prompt_folder: Path | None
) -> Maker:
    """Runs of a program that uses the tool server; ours where only a model is named."""
    from ..traces.runner.harness.play import HarnessPlan, run_harness

    if harness != "mcp":
        raise UsageError(f"no harness {harness!r}; there is mcp")
    if not command and model is None:
        raise UsageError("--harness mcp needs a program: -- COMMAND..., or --model for the built-in one")
    spec = model_spec(model) if model else None
    words = tuple(command)
    if not words and spec:
        from ..traces.models.client import Client
        from ..traces.runner.harness.agent import command as own_command

        try:
            Client(spec)
        except ValueError as error:
            raise UsageError(str(error)) from error
        words = own_command(spec)
    model_id = spec.id if spec else None
    chosen: Any = arm
    made = partial(HarnessPlan, command=words, arm=chosen, prompts=prompts(prompt_folder), model=model_id)
    return Maker(made, run_harness)


def _glimpses(text: str | None) -> tuple[int, ...]:
    """Glimpse numbers, separated by commas."""
    parts = [part.strip() for part in (text or "").split(",") if part.strip()]
    if not all(part.isdigit() for part in parts):
        raise UsageError(f"--probe-at takes glimpse numbers from 0, as 0,5,10, not {text!r}")
    return tuple(map(int, parts))
