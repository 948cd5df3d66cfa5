"""Fresh traces: `run`, `policies`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .context import OPTIONS, NotHeld, UsageError, emit, open_store, progress, say, show_table
from .models import MaxCalls, MaxCost, PromptFolder, Rpm, Tpm, get_predictor, limits
from .run_models import Maker, agent_maker, harness_maker

if TYPE_CHECKING:
    from ..schemas import Run
    from ..traces.models import Limits
    from ..traces.store import Store


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(run)
    app.command()(policies)


def run(
    command: Annotated[list[str] | None, typer.Argument(help="Program of --harness mcp, after --")] = None,
    policy: Annotated[str | None, typer.Option(help="Who acts: a policy; `policies` lists them")] = None,
    model: Annotated[str | None, typer.Option(help="Who acts: a model, as alias or PROVIDER/MODEL")] = None,
    harness: Annotated[str | None, typer.Option(help="mcp: a program that uses tools acts")] = None,
    level: Annotated[int, typer.Option(min=1, help="Digits on the canvas")] = 1,
    episodes: Annotated[int, typer.Option(min=1, help="Episodes to play")] = 100,
    name: Annotated[str | None, typer.Option(help="Name of the run")] = None,
    predictor: Annotated[str, typer.Option(help="Who answers for a policy that does not")] = "reference",
    seed: Annotated[int, typer.Option(help="Seed of the episode sampler")] = 42,
    repeat: Annotated[int, typer.Option(min=1, help="How many times to play the condition")] = 1,
    window: Annotated[int, typer.Option(min=4, help="Side of the window in pixels")] = 64,
    stride: Annotated[int, typer.Option(min=1, help="Pixels of one move")] = 32,
    digits: Annotated[
        Path | None, typer.Option("--digits-from", help="MNIST files; the embedded sample without")
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of the policy, as name=value")
    ] = None,
    memory: Annotated[
        str, typer.Option(help="image_only, textual_state, metric_grid_map, online_canvas, multi_turn")
    ] = "image_only",
    horizon: Annotated[int | None, typer.Option(help="Pictures kept in context; -1 for all")] = None,
    turn_mode: Annotated[str | None, typer.Option(help="turn_based or natural")] = None,
    canvas_when: Annotated[str, typer.Option(help="Online canvas: every, N, coverage:X, end")] = "every",
    probe_at: Annotated[str | None, typer.Option(help="Glimpses at which to force an answer")] = None,
    control: Annotated[bool, typer.Option("--control", help="Also show the whole canvas once")] = False,
    arm: Annotated[str, typer.Option(help="Harness: A0, A1 (notes), A2 (notes and feedback)")] = "A0",
    concurrency: Annotated[int, typer.Option(min=1, help="Episodes of a model under way at once")] = 8,
    rpm: Rpm = None,
    tpm: Tpm = None,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    prompt_folder: PromptFolder = None,
) -> None:
    """Play episodes in the bundled world and record them: a policy, a model, or a program with tools."""
    allowed = limits(rpm, tpm, max_calls, max_cost)
    if sum(map(bool, (policy, model or harness))) != 1:
        raise UsageError("run takes --policy NAME, --model PROVIDER/MODEL, or --harness mcp -- COMMAND...")
    if harness:
        if any(value is not None for value in (rpm, tpm, max_calls, max_cost)):
            raise UsageError("limits and caps are the program's own with --harness; give them to it")
        maker = harness_maker(harness, command or [], model, arm, prompt_folder)
    elif model:
        maker = agent_maker(
            model,
            allowed,
            memory=memory,
            horizon=horizon,
            turn_mode=turn_mode,
            canvas_when=canvas_when,
            probe_at=probe_at,
            control=control,
            concurrency=concurrency,
            prompt_folder=prompt_folder,
        )
    else:
        maker = _policy_maker(str(policy), set_ or [], predictor)
    world: dict[str, Any] = {
        "level": level,
        "episodes": episodes,
        "seed": seed,
        "window": window,
        "stride": stride,
    }
    world["digits_from"] = str(digits) if digits else None
    store = open_store(create=True)
    made = []
    for number in range(repeat):
        own = name if name is None or repeat == 1 else f"{name}_r{number}"
        made.append(_record(store, maker, allowed, {**world, "repeat": number, "name": own}))
    _report(made, episodes)


def _policy_maker(policy: str, settings: list[str], predictor: str) -> Maker:
    from ..traces.runner.run import Plan, run_episodes

    made = partial(Plan, policy=policy, settings=_settings(settings), predictor=get_predictor(predictor))
    return Maker(made, run_episodes)


def _report(made: list[Run], episodes: int) -> None:
    rows = [
        {"run": run.run, "episodes": episodes, "digits": (run.settings or {}).get("digits")} for run in made
    ]
    if OPTIONS.json:
        emit(rows)
    for run in made:
        say(f"{run.run}: {episodes} episodes with digits of {(run.settings or {}).get('digits')}")
        say(f"next: mnistpro-replay analyze --traces {run.run}")


def _record(store: Store, maker: Maker, allowed: Limits, settings: dict[str, Any]) -> Run:
    from ..schemas import StopAsking
    from ..traces.runner.record import record

    try:
        plan = maker.plan(**settings)
        with progress(f"{plan.policy} plays") as bar:
            bar.update(bar.task_ids[0], total=plan.episodes)
            return record(plan, store, lambda episode: bar.advance(bar.task_ids[0]), maker.play)
    except StopAsking as error:
        if not allowed.calls:
            raise UsageError(str(error)) from error
        raise NotHeld(f"stopped: {error}; everything received is kept, the same command goes on") from error
    except (ValueError, FileNotFoundError) as error:
        raise UsageError(str(error)) from error


def _settings(pairs: list[str]) -> dict[str, Any]:
    """`name=value` pairs; numbers as numbers."""
    settings: dict[str, Any] = {}
    for pair in pairs:
        key, joined, text = pair.partition("=")
        if not joined or not key:
            raise UsageError(f"--set takes name=value, not {pair!r}")
        try:
            settings[key] = int(text)
        except ValueError:
            try:
                settings[key] = float(text)
            except ValueError:
                settings[key] = text
    return settings


def policies() -> None:
    """List policies and what each does."""
    from ..traces.runner.policies import load, names

    rows = []
    for name in names():
        policy = load(name)
        rows.append(
            {
                "policy": name,
                "does": (policy.__doc__ or "").strip().splitlines()[0],
                "sees": "the hidden canvas" if getattr(policy, "clairvoyant", False) else "what it was shown",
            }
        )
    if OPTIONS.json:
        emit(rows)
        return
    show_table(rows, {"policy": "policy", "does": "what it does", "sees": "sees"})
