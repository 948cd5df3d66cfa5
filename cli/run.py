"""Fresh traces: `run`, `policies`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .context import OPTIONS, UsageError, emit, open_store, progress, say, show_table
from .replay import get_predictor

if TYPE_CHECKING:
    from ..schemas import Run
    from ..traces.runner.run import Plan
    from ..traces.store import Store


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(run)
    app.command()(policies)


def run(
    policy: Annotated[str, typer.Option(help="Who acts; `policies` lists them")],
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
) -> None:
    """Play episodes in the bundled world and record them."""
    from ..traces.runner.run import Plan

    store, settings, reader = open_store(create=True), _settings(set_ or []), get_predictor(predictor)
    made = []
    for number in range(repeat):
        own = name if name is None or repeat == 1 else f"{name}_r{number}"
        plan = Plan(
            policy=policy,
            settings=settings,
            predictor=reader,
            level=level,
            episodes=episodes,
            seed=seed,
            repeat=number,
            window=window,
            stride=stride,
            digits_from=str(digits) if digits else None,
            name=own,
        )
        made.append(_record(store, plan))
    rows = [
        {"run": run.run, "episodes": episodes, "digits": (run.settings or {}).get("digits")} for run in made
    ]
    if OPTIONS.json:
        emit(rows)
    for run in made:
        say(f"{run.run}: {episodes} episodes with digits of {(run.settings or {}).get('digits')}")
        say(f"next: mnistpro-replay analyze --traces {run.run}")


def _record(store: Store, plan: Plan) -> Run:
    from ..traces.runner.record import record

    try:
        with progress(f"{plan.policy} plays") as bar:
            bar.update(bar.task_ids[0], total=plan.episodes)
            return record(plan, store, lambda episode: bar.advance(bar.task_ids[0]))
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
