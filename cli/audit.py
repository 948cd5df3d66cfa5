"""`audit`: why each episode failed, with the steps that show it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from .analyze import open_database
from .context import OPTIONS, UsageError, emit, open_store_for, say, select, show_table
from .replay import Traces
from .tabulate import write

if TYPE_CHECKING:
    from ..analysis.audit import Verdict
    from ..traces.store import Store
    from .context import Selection

_LISTED = 40


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(audit)


def audit(
    traces: Traces = None,
    category: Annotated[str | None, typer.Option(help="Only episodes to which this category applies")] = None,
) -> None:
    """Say why each episode failed, with the steps that show it."""
    from ..analysis.audit import CATEGORIES, audit_rows, verdict_row
    from ..analysis.tables import plain

    names = [each.name for each in CATEGORIES]
    if category is not None and category not in names:
        raise UsageError(f"no category {category!r}; there are {', '.join(names)}")
    store = open_store_for(traces or [])
    selections = select(store, traces or [])
    verdicts, episodes = judge(store, selections)
    rows = [row for row in audit_rows(verdicts, episodes) if category in (None, row["category"])]
    chosen = [verdict for verdict in verdicts if category is None or category in verdict.steps]
    if OPTIONS.json:
        emit({"rows": plain(rows), "episodes": [verdict_row(verdict) for verdict in chosen]})
        return
    shown = [row for row in rows if row["count"]]
    for run, total in episodes.items():
        mine = [row for row in shown if row["run"] == run]
        failed = sum(verdict.run == run for verdict in verdicts)
        columns = ("category", "count", "leads", "share", "definition")
        write(
            [{c: row[c] for c in columns} for row in mine],
            "text",
            f"{run}: {failed} of {total} episodes failed",
        )
    _list(chosen)


def judge(store: Store, selections: list[Selection]) -> tuple[list[Verdict], dict[str, int]]:
    """Verdicts on the failed episodes of runs, and how many episodes each run has."""
    from ..analysis.audit import audit as verdict_on
    from ..analysis.cases import cases

    open_database(store, [(chosen.run, chosen.ids) for chosen in selections], "each")
    verdicts, episodes = [], {}
    for chosen in selections:
        looked_at = list(cases(store, chosen.run, chosen.ids))
        episodes[chosen.run] = len(looked_at)
        verdicts += [verdict for case in looked_at if (verdict := verdict_on(case))]
    return verdicts, episodes


def _list(verdicts: list[Verdict]) -> None:
    rows = [
        {
            "episode": f"{verdict.run}#{verdict.source_episode_id}",
            "label": verdict.label,
            "answer": verdict.answer,
            "leads": verdict.leads,
            "steps": _steps(verdict.steps[verdict.leads]),
            "also": ", ".join(name for name in verdict.steps if name != verdict.leads),
        }
        for verdict in verdicts[:_LISTED]
    ]
    columns = {"episode": "episode", "label": "label", "answer": "answer", "leads": "because"}
    show_table(rows, columns | {"steps": "at step", "also": "also"}, right=("label", "answer"))
    if len(verdicts) > _LISTED:
        say(f"... and {len(verdicts) - _LISTED} more episodes; --json has them all")


def _steps(steps: list[int]) -> str:
    shown = ", ".join(map(str, steps[:6]))
    return f"{shown}, ..." if len(steps) > 6 else shown
