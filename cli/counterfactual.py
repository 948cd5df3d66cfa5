"""`counterfactual`: stop earlier, go on longer, or walk another way from the same start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from .context import OPTIONS, NotHeld, UsageError, counting, emit, open_store_for, select
from .replay import EvidenceOption, Traces, evidence_mode, get_predictor
from .tabulate import write

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..replay.counterfactual import Alternative
    from ..replay.plan import Source
    from ..schemas import Evidence, Predictor
    from ..traces.store import Store


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(counterfactual)


def counterfactual(
    traces: Traces = None,
    stop: Annotated[str | None, typer.Option("--stop-at", help="A shown glimpse, or sufficient")] = None,
    extend: Annotated[str | None, typer.Option(help="Policy that goes on where the agent stopped")] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="With --extend: most moves to add")] = None,
    policy: Annotated[str | None, typer.Option(help="Policy that walks from the same start")] = None,
    predictor: Annotated[str, typer.Option(help="Who reads what either path showed")] = "reference",
    evidence: EvidenceOption = "window",
) -> None:
    """Stop earlier, go on longer, or walk another way, and let a predictor read what that would have shown."""
    if sum(option is not None for option in (stop, extend, policy)) != 1:
        raise UsageError("give one of --stop-at, --extend or --policy")
    if steps is not None and extend is None:
        raise UsageError("--steps goes with --extend")
    if stop is not None and stop != "sufficient" and not stop.isdigit():
        raise UsageError(f"--stop-at takes sufficient or a glimpse number from 0, not {stop!r}")
    from ..analysis.stopping_tables import counterfactual_rows
    from ..analysis.tables import plain
    from ..replay.plan import load_source

    mode, reader, store = evidence_mode(evidence), get_predictor(predictor), open_store_for(traces or [])
    _check_policy(extend or policy)
    rows = []
    for chosen in select(store, traces or []):
        source = load_source(store, chosen.run, chosen.ids)
        with counting(chosen.run) as advance:
            made = _make(
                store, source, reader, mode, stop, extend or policy, steps, policy is not None, advance
            )
        rows += counterfactual_rows(chosen.run, made)
    if OPTIONS.json:
        emit({"rows": plain(rows)})
    else:
        write(rows, "text", f"{predictor} reads the other path")
    if not rows:
        raise NotHeld("no episode of these runs can be replayed")


def _check_policy(name: str | None) -> None:
    from ..traces.runner.policies import names

    if name is not None and name not in names():
        raise UsageError(f"no policy {name!r}; there are {', '.join(names())}")


def _make(
    store: Store,
    source: Source,
    reader: Predictor,
    mode: Evidence,
    stop: str | None,
    policy: str | None,
    steps: int | None,
    from_start: bool,
    advance: Callable[[int, int], None],
) -> list[Alternative]:
    from ..replay.counterfactual import go_on, stop_at, sufficient_glimpses
    from ..replay.predictors import load

    if policy is not None:
        return go_on(store, source, reader, mode, policy, steps, from_start=from_start, progress=advance)
    if stop == "sufficient":
        stops = sufficient_glimpses(store, source, mode, load("reference"), advance)
    else:
        stops = {episode.episode_id: int(stop or 0) for episode in source.episodes}
    return stop_at(store, source, reader, mode, stops, advance)
