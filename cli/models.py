"""What commands that ask models share: limits, prompts, the `[predictors.NAME]` tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .context import UsageError, load_config

if TYPE_CHECKING:
    from ..schemas import Predictor
    from ..traces.models import Limits, Prompts

Rpm = Annotated[float | None, typer.Option(min=0.001, help="Requests a minute")]
Tpm = Annotated[float | None, typer.Option(min=1, help="Tokens a minute")]
MaxCalls = Annotated[int | None, typer.Option(min=0, help="Model calls in all; what is done is kept")]
MaxCost = Annotated[float | None, typer.Option(min=0, help="USD in all; what is done is kept")]
PromptFolder = Annotated[
    Path | None, typer.Option("--prompts", help="Folder of prompt files that replace ours of the same name")
]


def model_tables() -> dict[str, Any]:
    """The `[predictors.NAME]` tables of the configuration file."""
    return load_config().get("predictors", {})


def limits(rpm: float | None, tpm: float | None, max_calls: int | None, max_cost: float | None) -> Limits:
    """Limits that every model of one command shares."""
    from ..traces.models import Limits

    return Limits(rpm=rpm, tpm=tpm, max_calls=max_calls, max_cost=max_cost)


def prompts(folder: Path | None) -> Prompts:
    """Our prompts, or the user's; UsageError for a folder without any."""
    from ..traces.models import Prompts

    try:
        return Prompts(folder)
    except ValueError as error:
        raise UsageError(str(error)) from error


def get_predictor(
    name: str, model_limits: Limits | None = None, model_prompts: Prompts | None = None
) -> Predictor:
    """A predictor by name; UsageError for an unknown one, or a model that cannot be asked."""
    from ..replay.predictors import load

    try:
        return load(name, model_tables(), model_limits, model_prompts)
    except (KeyError, ValueError) as error:
        raise UsageError(error.args[0]) from error
