"""The bundled world: `demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(demo)


def demo(
    out: Annotated[Path, typer.Option(help="Folder for store, pictures and tables")] = Path("mnistpro-demo"),
    episodes: Annotated[int, typer.Option(min=1, help="Episodes of each fresh run")] = 10,
) -> None:
    """The whole main job on embedded data: no network, no key."""
    from .demo import run_demo

    run_demo(out, episodes)
