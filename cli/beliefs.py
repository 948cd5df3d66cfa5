"""`beliefs extract | annotate | score`: stated beliefs from free text."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .context import (
    OPTIONS,
    NotHeld,
    UsageError,
    counting,
    emit,
    open_store,
    percent,
    say,
    select,
    show_table,
    warn,
)
from .models import MaxCalls, MaxCost, PromptFolder, Rpm, Tpm, limits, model_tables, prompts

if TYPE_CHECKING:
    from ..analysis.beliefs.extract import Thought
    from ..analysis.beliefs.model import Extraction
    from ..analysis.beliefs.score import Kappa
    from ..replay.swap import Outcome
    from ..traces.models import Limits

beliefs = typer.Typer(help="Stated beliefs from free text.", no_args_is_help=True)

Extractor = Annotated[str, typer.Option(help="rules, or a model")]
Concurrency = Annotated[int, typer.Option(min=1, help="Thoughts that a model is asked about at once")]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.add_typer(beliefs, name="beliefs")


@beliefs.command("extract")
def extract(
    extractor: Extractor = "rules",
    concurrency: Concurrency = 8,
    fresh: Annotated[bool, typer.Option("--fresh", help="Ask again even where a reply is stored")] = False,
    rpm: Rpm = None,
    tpm: Tpm = None,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    prompt_folder: PromptFolder = None,
) -> None:
    """Read JSON lines {"thought", "digits", "prior"?} on stdin; write one JSON object a line."""
    thoughts = (_request(line) for line in sys.stdin if line.strip())
    if extractor == "rules":
        for thought in thoughts:
            _write(_by_rules(thought))
        return
    allowed = limits(rpm, tpm, max_calls, max_cost)
    found, outcome = _ask(extractor, list(thoughts), allowed, prompt_folder, concurrency, fresh=fresh)
    for each in found:
        _write(each)
    _check(found, outcome)


def _write(found: Extraction | str) -> None:
    """One line: an extraction, or null and why."""
    nothing = {"slots": None, "n_digits_claim": None, "reason": found}
    line = nothing if isinstance(found, str) else found.to_json()
    sys.stdout.write(json.dumps(line, ensure_ascii=True) + "\n")


def _request(line: str) -> Thought:
    from ..analysis.beliefs.extract import Thought

    try:
        request = json.loads(line)
        thought, digits = request["thought"], request["digits"]
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f'each line is {{"thought": ..., "digits": ...}}, not {line.strip()[:80]!r}'
        ) from error
    if not isinstance(thought, str) or not isinstance(digits, int) or isinstance(digits, bool) or digits < 1:
        raise UsageError(f"thought is text and digits a whole number from 1, not {line.strip()[:80]!r}")
    return Thought(thought, digits, request.get("prior"))


def _by_rules(thought: Thought) -> Extraction:
    from ..analysis.beliefs.extract import extract as by_rules

    try:
        return by_rules(*thought)
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(f"prior {thought.prior!r} is not understood: {error}") from error


def _ask(
    name: str,
    thoughts: list[Thought],
    allowed: Limits,
    prompt_folder: Path | None,
    concurrency: int,
    *,
    fresh: bool = False,
) -> tuple[list[Extraction | str], Outcome]:
    """By a model, through the store's cache; UsageError where it cannot be asked, or a prior not be read."""
    from ..analysis.beliefs.asked import Asked, asked_beliefs
    from ..traces.models import find

    try:
        asked = Asked(find(name, model_tables()), allowed, prompts(prompt_folder), concurrency)
    except ValueError as error:
        raise UsageError(f"no extractor {name!r}: {error}") from error
    with counting(f"{name} reads") as advance:
        try:
            found, outcome = asked_beliefs(
                open_store(create=True), asked, thoughts, fresh=fresh, progress=advance
            )
        except (ValueError, TypeError, KeyError) as error:
            raise UsageError(f"a prior is not understood: {error}") from error
    if outcome.stopped and all(isinstance(each, str) for each in found):
        raise UsageError(outcome.stopped)
    return found, outcome


def _check(found: list[Extraction | str], outcome: Outcome) -> None:
    """Say what was asked; NotHeld where a thought has no extraction."""
    lost = sum(isinstance(each, str) for each in found)
    if not OPTIONS.quiet:
        cost = "" if outcome.cost is None else f", {outcome.cost:.4f} USD"
        warn(
            f"{outcome.predictor_calls} thoughts asked about, {outcome.cached} answered from the store{cost}"
        )
    for error, count in outcome.errors.most_common(5):
        warn(f"  {count} failed: {error}")
    if outcome.stopped:
        raise NotHeld(f"stopped: {outcome.stopped}; everything received is kept, the same command goes on")
    if lost:
        raise NotHeld(f"{lost} thoughts without an extraction, each with its reason")


@beliefs.command("annotate")
def annotate(
    out: Annotated[Path, typer.Option(help="CSV sheet to write")],
    traces: Annotated[list[str] | None, typer.Option("--traces", help="Whose thoughts")] = None,
    sample: Annotated[int, typer.Option(min=1, help="Thoughts to draw")] = 200,
    seed: Annotated[int, typer.Option(help="Of the draw")] = 0,
    blank: Annotated[bool, typer.Option("--blank", help="Leave the labels empty")] = False,
) -> None:
    """Write a sheet of thoughts for hand labels, filled with what the rules say unless --blank."""
    import random

    from ..analysis.beliefs.score import write_sheet

    thoughts = list(_thoughts(traces or []))
    if not thoughts:
        raise UsageError("the selected runs hold no thoughts")
    drawn = random.Random(seed).sample(thoughts, min(sample, len(thoughts)))
    predicted = None if blank else [_by_rules(_thought(t)).to_json() for t in drawn]
    out.write_text(write_sheet(drawn, predicted), encoding="utf-8")
    say(f"wrote {len(drawn)} of {len(thoughts)} thoughts to {out}")


def _thoughts(traces: list[str]) -> Iterator[dict[str, Any]]:
    store = open_store()
    for chosen in select(store, traces):
        digits = store.run(chosen.run).n_panels or 1
        for episode in store.episodes(chosen.run, chosen.ids, texts=True):
            for text in episode.step_texts:
                if text.thought:
                    yield {"thought": text.thought, "digits": digits}


def _thought(row: dict[str, Any]) -> Thought:
    from ..analysis.beliefs.extract import Thought

    return Thought(row["thought"], row["digits"], row.get("prior"))


@beliefs.command("score")
def score(
    sheet: Annotated[
        Path | None, typer.Argument(help="Labelled sheet; the bundled sentences without")
    ] = None,
    extractor: Extractor = "rules",
    concurrency: Concurrency = 8,
    rpm: Rpm = None,
    tpm: Tpm = None,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    prompt_folder: PromptFolder = None,
) -> None:
    """Precision and recall of tops against hand labels, by kind; kappa with the labels, a model's with the rules."""
    from ..analysis.beliefs.score import kappa
    from ..analysis.beliefs.score import score as compare

    labelled = _labelled(sheet)
    rules = [_by_rules(_thought(row)) for row in labelled]
    found: list[Extraction | str] = [*rules]
    outcome = None
    if extractor != "rules":
        allowed = limits(rpm, tpm, max_calls, max_cost)
        found, outcome = _ask(
            extractor, [_thought(row) for row in labelled], allowed, prompt_folder, concurrency
        )
    read = [n for n, each in enumerate(found) if not isinstance(each, str)]
    predicted = [found[n].to_json() for n in read]  # type: ignore[union-attr]
    truth = [labelled[n] for n in read]
    rows, agreement = compare(predicted, truth), {"labels": kappa(predicted, truth)}
    if outcome is not None:
        agreement["rules"] = kappa([rules[n].to_json() for n in read], predicted)
    _show_score(rows, agreement)
    if outcome is not None:
        _check(found, outcome)


def _labelled(sheet: Path | None) -> list[dict[str, Any]]:
    from ..analysis.beliefs.score import read_sheet, sentences

    if sheet is not None and not sheet.is_file():
        raise UsageError(f"no file {sheet}")
    try:
        return read_sheet(sheet.read_text(encoding="utf-8")) if sheet else sentences()
    except (ValueError, KeyError) as error:
        raise UsageError(f"{sheet}: {error}") from error


def _show_score(rows: list[dict[str, Any]], agreement: dict[str, Kappa]) -> None:
    """Print the score, and kappa by whom the tops are compared with."""
    if OPTIONS.json:
        kappas = {"kappa" if other == "labels" else f"kappa_{other}": k for other, k in agreement.items()}
        told = {name: found._asdict() for name, found in kappas.items()}
        emit({"rows": [{**row, "n": row["n_thoughts"]} for row in rows], **told})
        return
    shown = [
        {
            "kind": row["kind"],
            "thoughts": row["n_thoughts"],
            "tops": f"{row['n_predicted']} / {row['n_labelled']}",
            "precision": percent(row["precision"], (row["precision_low"], row["precision_high"])),
            "recall": percent(row["recall"], (row["recall_low"], row["recall_high"])),
        }
        for row in rows
    ]
    columns = {"kind": "kind", "thoughts": "thoughts", "tops": "tops found / labelled"}
    columns |= {"precision": "precision % [95 %]", "recall": "recall % [95 %]"}
    show_table(shown, columns, right=("thoughts", "tops", "precision", "recall"))
    for other, found in agreement.items():
        told = "–" if found.kappa is None else f"{found.kappa:.3f} [{found.low:.3f}, {found.high:.3f}]"
        say(f"Cohen's kappa with the {other} over {found.n} slots: {told}")
