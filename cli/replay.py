"""Frozen evidence: `verify`, `canvas`, `swap`, `plot`, `predictors`."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .batch import Batch, Batches
from .context import (
    OPTIONS,
    NotHeld,
    UsageError,
    counting,
    emit,
    open_store,
    open_store_for,
    percent,
    say,
    select,
    show_table,
    warn,
)
from .models import MaxCalls, MaxCost, PromptFolder, Rpm, Tpm, get_predictor, limits, model_tables, prompts

if TYPE_CHECKING:
    from ..replay.plan import At
    from ..replay.swap import Outcome
    from ..schemas import Evidence

Traces = Annotated[
    list[str] | None, typer.Option("--traces", help="Run, glob, RUN#EPISODES, alias or path; repeatable")
]
EvidenceOption = Annotated[
    str, typer.Option(help="window, or visible_exact (without what the outline covers)")
]
RepresentationOption = Annotated[
    list[str] | None, typer.Option(help="Form of the evidence, default canvas; repeatable (docs/replay.md)")
]
AtOption = Annotated[str, typer.Option(help="last, each, or the number of a shown glimpse")]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for command in (verify, canvas, swap, plot, predictors):
        app.command()(command)


def evidence_mode(text: str) -> Evidence:
    """An evidence mode; UsageError for another word."""
    from ..schemas import EVIDENCE_MODES

    if text not in EVIDENCE_MODES:
        raise UsageError(f"no evidence {text!r}; there are {', '.join(EVIDENCE_MODES)}")
    return text  # type: ignore[return-value]


def glimpse_at(text: str) -> At:
    """`last`, `each` or a glimpse number; UsageError for anything else."""
    if text in ("last", "each"):
        return text  # type: ignore[return-value]
    if not text.isdigit():
        raise UsageError(f"--at takes last, each or a glimpse number from 0, not {text!r}")
    return int(text)


def verify(traces: Traces = None) -> None:
    """Render every recorded observation again and compare."""
    from ..replay.verify import VERDICTS, Verification
    from ..replay.verify import verify as check

    store = open_store_for(traces or [])
    rows, total = [], Verification()
    for chosen in select(store, traces or []):
        result = Verification()
        for finding in check(store, chosen.run, chosen.ids):
            result.add(finding)
            total.add(finding)
        reasons = ", ".join(f"{n} {reason}" for reason, n in result.reasons.most_common())
        rows.append({"run": chosen.run, **{v: result.counts[v] for v in VERDICTS}, "reasons": reasons})
    mismatches = [
        {"run": f.run, "episode": f.episode, "step": f.step, "reason": f.reason} for f in total.mismatches
    ]
    if OPTIONS.json:
        emit(
            {
                **{v: total.counts[v] for v in VERDICTS},
                "reasons": total.reasons,
                "mismatches": mismatches,
                "rows": rows,
            }
        )
    else:
        columns = {"run": "run", "exact": "exact", "outline_only": "outline only", "mismatch": "mismatch"}
        columns |= {"not_checkable": "not checkable", "reasons": "because"}
        show_table(rows, columns, right=("exact", "outline_only", "mismatch", "not_checkable"))
    for found in mismatches[:20]:
        where = "start" if found["step"] is None else f"step {found['step']}"
        warn(f"  mismatch {found['run']}#{found['episode']} {where}: {found['reason']}")
    if mismatches:
        raise NotHeld(f"{len(mismatches)} mismatches")
    if not total.checked:
        raise NotHeld("no recorded picture could be checked")


def canvas(
    out: Annotated[Path, typer.Option(help="Folder for the pictures")],
    traces: Traces = None,
    evidence: EvidenceOption = "window",
    at: AtOption = "last",
) -> None:
    """Write offline canvases: what was seen, put together."""
    from ..replay.canvases import write_canvases

    mode, where = evidence_mode(evidence), glimpse_at(at)
    store, written, left_out = open_store_for(traces or []), 0, 0
    for chosen in select(store, traces or []):
        done, without = write_canvases(store, chosen.run, chosen.ids, mode, where, out)
        written, left_out = written + done, left_out + without
    if OPTIONS.json:
        emit({"written": written, "left_out": left_out, "out": str(out)})
    say(f"wrote {written} canvases to {out}")
    if left_out:
        raise NotHeld(f"{left_out} episodes have no such canvas (glimpses or canvas unknown)")


def swap(
    predictor: Annotated[list[str], typer.Option(help="Who reads; repeatable")],
    traces: Traces = None,
    representation: RepresentationOption = None,
    evidence: EvidenceOption = "window",
    at: AtOption = "last",
    concurrency: Annotated[int | None, typer.Option(min=1, help="Readings under way at once")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count the calls")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Ask again even where a reply is stored")] = False,
    rpm: Rpm = None,
    tpm: Tpm = None,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    prompt_folder: PromptFolder = None,
    batch: Batch = False,
) -> None:
    """Let another predictor read the frozen evidence."""
    from ..analysis.paired import paired_table
    from ..replay.plan import plan_for
    from ..replay.swap import Outcome, estimate
    from ..replay.swap import swap as run_swap

    mode, where = evidence_mode(evidence), glimpse_at(at)
    store = open_store_for(traces or [])
    selections = [(chosen.run, chosen.ids) for chosen in select(store, traces or [])]
    total, rows = Outcome(), []
    allowed, texts = limits(rpm, tpm, max_calls, max_cost), prompts(prompt_folder)
    readers = [get_predictor(name, allowed, texts) for name in predictor]
    batches = Batches(readers) if batch else None
    for name, reader in zip(predictor, readers, strict=True):
        for form in representation or ["canvas"]:
            try:
                plan = plan_for(store, selections, reader, form=form, evidence=mode, at=where)
            except (KeyError, ValueError) as error:
                raise UsageError(error.args[0]) from error
            if batches:
                outcome, ended = batches.step(store, plan, reader, fresh, dry_run)
            elif dry_run:
                outcome, ended = estimate(store, plan, reader, fresh=fresh), False
            else:
                with counting(f"{name} reads") as advance:
                    outcome = run_swap(
                        store, plan, reader, concurrency=concurrency, fresh=fresh, progress=advance
                    )
                ended = True
            _merge(total, outcome)
            rows += paired_table(outcome.pairs, name) if ended else []
    _report_swap(total, rows, dry_run, batches)


def _merge(total: Outcome, outcome: Outcome) -> None:
    total.predictor_calls += outcome.predictor_calls
    total.cached += outcome.cached
    total.deduplicated += outcome.deduplicated
    total.failed += outcome.failed
    total.errors += outcome.errors
    total.not_applicable += outcome.not_applicable
    total.stopped = total.stopped or outcome.stopped
    if outcome.cost is not None:
        total.cost = (total.cost or 0.0) + outcome.cost


def _report_swap(total: Outcome, rows: list[dict[str, Any]], dry_run: bool, batches: Batches | None) -> None:
    if OPTIONS.json:
        keys = ("predictor_calls", "cached", "deduplicated", "failed", "cost", "stopped")
        keys = (*keys, "errors", "not_applicable")
        more = {"batch": vars(batches.requests)} if batches else {}
        emit({**{key: getattr(total, key) for key in keys}, "table": rows, **more})
    elif dry_run or not (batches and batches.waiting):
        show_swap(rows)
        verb = "would be made" if dry_run else "made"
        say(
            f"{total.predictor_calls} predictor calls {verb}, {total.cached} answered from the store, "
            f"{total.deduplicated} repeated inputs, {total.failed} failed"
            + (f", {'about ' if dry_run else ''}{total.cost:.4f} USD" if total.cost is not None else "")
        )
        for reason, count in total.not_applicable.most_common():
            say(f"  {count} not replayed: {reason}")
    for error, count in total.errors.most_common(5):
        warn(f"  {count} failed: {error}")
    if total.stopped and not (total.predictor_calls or total.cached):
        raise UsageError(total.stopped)
    if total.stopped:
        raise NotHeld(f"stopped: {total.stopped}; everything received is kept, the same command goes on")
    if total.failed:
        raise NotHeld(f"{total.failed} inputs failed; the same command asks for them again")


def show_swap(rows: list[dict[str, Any]]) -> None:
    """Print the paired report: a table for each run, predictor and representation, percent with 95 % intervals."""
    columns = {
        "part": "episodes",
        "n": "n",
        "original": "agent %",
        "swapped": "predictor %",
        "difference": "difference",
        "discordant": "only a/p",
        "p": "McNemar p",
    }
    for title, group in groupby(rows, _swap_title):
        shown = [
            {
                "part": f"{row['part']:<16}",
                "n": row["n"],
                "original": percent(row["original"], row["original_interval"]),
                "swapped": percent(row["swapped"], row["swapped_interval"]),
                "difference": percent(row["difference"], row["difference_interval"]),
                "discordant": f"{row['only_original']} / {row['only_swapped']}",
                "p": p_text(row["p"]),
            }
            for row in group
        ]
        show_table(shown, columns, title=title, right=tuple(columns)[1:])


def _swap_title(row: dict[str, Any]) -> str:
    at = "" if row["at"] == "last" else f", glimpse {row['at']}"
    return f"{row['run']}: {row['predictor']} reads {row['representation']} ({row['evidence']}{at})"


def p_text(p: float | None) -> str:
    """A p value, to three digits."""
    return "–" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"


def plot(
    episode: Annotated[str, typer.Argument(help="RUN#EPISODE")],
    out: Annotated[Path, typer.Option(help="File to write; its ending chooses PNG, GIF or HTML")],
) -> None:
    """Draw one episode: the path over the canvas."""
    from ..replay.player import write

    store = open_store()
    (chosen, *more) = select(store, [episode])
    if more or chosen.ids is None or len(chosen.ids) != 1:
        raise UsageError("plot takes one episode: RUN#EPISODE")
    try:
        write(store, chosen.run, chosen.ids[0], out)
    except ValueError as error:
        raise UsageError(str(error)) from error
    say(f"wrote {out}")


def predictors() -> None:
    """List predictors and what each needs."""
    from ..replay.predictors import BUILT_IN, names
    from ..traces.models import ALIASES

    rows: list[dict[str, Any]] = []
    for name in names():
        known = BUILT_IN.get(name)
        rows.append(
            {
                "predictor": name,
                "reads": known.description if known else "plug-in",
                "needs": f"extra {known.extra}" if known and known.extra else "nothing",
            }
        )
    rows += [_model_row(name) for name in dict.fromkeys([*ALIASES, *model_tables()])]
    rows.append(
        {"predictor": "PROVIDER/MODEL", "reads": "any model of a provider", "needs": "extra llm, its key"}
    )
    if OPTIONS.json:
        emit(rows)
        return
    show_table(rows, {"predictor": "predictor", "reads": "what it is", "needs": "needs"})


def _model_row(name: str) -> dict[str, Any]:
    from ..traces.models import find

    try:
        spec = find(name, model_tables())
    except ValueError as error:
        raise UsageError(str(error)) from error
    where = f" at {spec.base_url}" if spec.base_url else ""
    return {"predictor": name, "reads": f"{spec.id}{where}", "needs": "extra llm, its key", "model": spec.id}
