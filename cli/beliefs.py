"""`beliefs extract | annotate | score`: stated beliefs from free text."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .context import OPTIONS, UsageError, emit, open_store, percent, say, select, show_table
from .models import model_tables

if TYPE_CHECKING:
    from ..analysis.beliefs.model import Extraction

beliefs = typer.Typer(help="Stated beliefs from free text.", no_args_is_help=True)

Extractor = Annotated[str, typer.Option(help="rules, or a model")]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.add_typer(beliefs, name="beliefs")


@beliefs.command("extract")
def extract(extractor: Extractor = "rules") -> None:
    """Read JSON lines {"thought", "digits", "prior"?} on stdin; write one JSON object a line."""
    for line in sys.stdin:
        if line.strip():
            thought, digits, prior = _request(line)
            found = _extract(extractor, thought, digits, prior)
            sys.stdout.write(json.dumps(found.to_json(), ensure_ascii=True) + "\n")


def _request(line: str) -> tuple[str, int, Any]:
    try:
        request = json.loads(line)
        thought, digits = request["thought"], request["digits"]
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f'each line is {{"thought": ..., "digits": ...}}, not {line.strip()[:80]!r}'
        ) from error
    if not isinstance(thought, str) or not isinstance(digits, int) or isinstance(digits, bool) or digits < 1:
        raise UsageError(f"thought is text and digits a whole number from 1, not {line.strip()[:80]!r}")
    return thought, digits, request.get("prior")


def _extract(extractor: str, thought: str, digits: int, prior: Any = None) -> Extraction:
    try:
        return _extractor(extractor)(thought, digits, prior)
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(f"prior {prior!r} is not understood: {error}") from error


@cache
def _extractor(name: str) -> Callable[..., Extraction]:
    """The rules, or a model; UsageError for a model that cannot be asked."""
    if name == "rules":
        from ..analysis.beliefs.extract import extract as by_rules

        return by_rules
    from ..analysis.beliefs.asked import Asked
    from ..traces.models import find
    from ..traces.models.client import Client

    try:
        return Asked(Client(find(name, model_tables())))
    except ValueError as error:
        raise UsageError(f"no extractor {name!r}: {error}") from error


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
    predicted = None if blank else [_extract("rules", t["thought"], t["digits"]).to_json() for t in drawn]
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


@beliefs.command("score")
def score(
    sheet: Annotated[
        Path | None, typer.Argument(help="Labelled sheet; the bundled sentences without")
    ] = None,
    extractor: Extractor = "rules",
) -> None:
    """Precision and recall of tops against hand labels, with intervals, by kind; kappa."""
    from ..analysis.beliefs.score import kappa, read_sheet, sentences
    from ..analysis.beliefs.score import score as compare

    if sheet is not None and not sheet.is_file():
        raise UsageError(f"no file {sheet}")
    try:
        labelled = read_sheet(sheet.read_text(encoding="utf-8")) if sheet else sentences()
    except (ValueError, KeyError) as error:
        raise UsageError(f"{sheet}: {error}") from error
    predicted = [
        _extract(extractor, row["thought"], row["digits"], row.get("prior")).to_json() for row in labelled
    ]
    rows, agreement = compare(predicted, labelled), kappa(predicted, labelled)
    if OPTIONS.json:
        emit({"rows": [{**row, "n": row["n_thoughts"]} for row in rows], "kappa": agreement._asdict()})
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
    low = (
        "–"
        if agreement.kappa is None
        else f"{agreement.kappa:.3f} [{agreement.low:.3f}, {agreement.high:.3f}]"
    )
    say(f"Cohen's kappa with the labels over {agreement.n} slots: {low}")
