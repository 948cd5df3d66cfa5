"""How good an extractor is: precision and recall of tops, agreement of two, and the sheet for hand labels."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..statistics import proportion

SHEET: tuple[str, ...] = ("thought", "digits", "prior", "slot", "top", "excluded", "n_digits_claim", "kind")
"""Columns of the sheet for hand labels: one row per thought and slot."""

Labelled = Mapping[str, Any]
"""An object of `Extraction.to_json`; only `slots` (with `top`) is needed, `kind` groups the score."""


def sentences() -> list[dict[str, Any]]:
    """The labelled sentences that ship with the package: thought, digits, prior?, labels, kind, batch."""
    text = (Path(__file__).parent / "data" / "sentences.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def score(predicted: Sequence[Labelled], labelled: Sequence[Labelled]) -> list[dict[str, Any]]:
    """Precision and recall of tops over all slots, overall (`all`) and by `kind` of the labelled thought.

    Args:
        predicted: Extractions, in the order of `labelled`.
        labelled: The hand labels.

    Returns:
        Rows of kind, n_thoughts, hits, n_predicted, n_labelled, precision and recall with Wilson intervals
        (`*_low`, `*_high`); None where nothing was predicted or labelled.

    Raises:
        ValueError: If the two have different lengths or slots.
    """
    groups: dict[str, list[tuple[Labelled, Labelled]]] = {"all": []}
    for found, truth in zip(predicted, labelled, strict=True):
        if found["slots"].keys() != truth["slots"].keys():
            raise ValueError(f"slots differ: {sorted(found['slots'])} and {sorted(truth['slots'])}")
        groups["all"].append((found, truth))
        if truth.get("kind") is not None:
            groups.setdefault(str(truth["kind"]), []).append((found, truth))
    return [_row(kind, pairs) for kind, pairs in groups.items()]


def _row(kind: str, pairs: Sequence[tuple[Labelled, Labelled]]) -> dict[str, Any]:
    tops = [(f["slots"][s]["top"], t["slots"][s]["top"]) for f, t in pairs for s in t["slots"]]
    hits = sum(found == truth for found, truth in tops if truth is not None)
    row: dict[str, Any] = {"kind": kind, "n_thoughts": len(pairs), "hits": hits}
    for name, count, n in (
        ("precision", "n_predicted", sum(found is not None for found, _ in tops)),
        ("recall", "n_labelled", sum(truth is not None for _, truth in tops)),
    ):
        found = proportion(hits, n)
        row |= {count: n, name: found.estimate, f"{name}_low": found.low, f"{name}_high": found.high}
    return row


class Kappa(NamedTuple):
    """Cohen's kappa with its 95 % interval; None where it is undefined (one category only, or n = 0)."""

    kappa: float | None
    low: float | None
    high: float | None
    n: int


def kappa(a: Sequence[Labelled], b: Sequence[Labelled]) -> Kappa:
    """Agreement of two extractors on the top of every slot of the same thoughts (`no top` is a category).

    Raises:
        ValueError: If the two have different lengths.
    """
    from statsmodels.stats.inter_rater import cohens_kappa

    pairs = [
        (x["slots"][s]["top"], y["slots"][s]["top"]) for x, y in zip(a, b, strict=True) for s in x["slots"]
    ]
    table = np.zeros((11, 11))
    for x, y in pairs:
        table[10 if x is None else x, 10 if y is None else y] += 1
    used = np.flatnonzero(table.sum(axis=0) + table.sum(axis=1))
    if len(used) < 2:
        return Kappa(None, None, None, len(pairs))
    result = cohens_kappa(table[np.ix_(used, used)])
    return Kappa(float(result["kappa"]), float(result["kappa_low"]), float(result["kappa_upp"]), len(pairs))


def write_sheet(thoughts: Iterable[Mapping[str, Any]], predicted: Iterable[Labelled] | None = None) -> str:
    """A CSV sheet for hand labels, one row per thought and slot; blank, or filled with predictions to correct.

    Args:
        thoughts: Objects with `thought`, `digits` and perhaps `prior`.
        predicted: Extractions in the same order.
    """
    from .model import silent

    thoughts = list(thoughts)
    filled = [silent(t["digits"]).to_json() for t in thoughts] if predicted is None else list(predicted)
    out = io.StringIO()
    writer = csv.DictWriter(out, SHEET, lineterminator="\n")
    writer.writeheader()
    for thought, labels in zip(thoughts, filled, strict=True):
        for slot, belief in labels["slots"].items():
            writer.writerow(_sheet_row(thought, labels, slot, belief))
    return out.getvalue()


def _sheet_row(
    thought: Mapping[str, Any], labels: Labelled, slot: str, belief: Mapping[str, Any]
) -> dict[str, Any]:
    prior = thought.get("prior")
    return {
        "thought": thought["thought"],
        "digits": thought["digits"],
        "prior": "" if prior is None else json.dumps(prior),
        "slot": slot,
        "top": "" if belief["top"] is None else belief["top"],
        "excluded": " ".join(map(str, belief["excluded"])),
        "n_digits_claim": "" if labels["n_digits_claim"] is None else labels["n_digits_claim"],
        "kind": labels.get("kind") or "",
    }


def read_sheet(text: str) -> list[dict[str, Any]]:
    """The labels of a filled sheet, one object per thought in the structure of `Extraction.to_json`.

    Raises:
        ValueError: If columns are missing or a cell is not what it should be, with the row.
    """
    reader = csv.DictReader(io.StringIO(text))
    missing = set(SHEET) - set(reader.fieldnames or ())
    if missing:
        raise ValueError(f"sheet: missing columns: {', '.join(sorted(missing))}")
    out: list[dict[str, Any]] = []
    for number, row in enumerate(reader, start=2):
        try:
            known = out[-1] if out and row["slot"] not in out[-1]["slots"] else None
            if known is None or known["thought"] != row["thought"]:
                known = _sheet_label(row)
                out.append(known)
            known["slots"][row["slot"]] = {
                "top": _digit(row["top"]),
                "excluded": sorted(int(d) for d in row["excluded"].split()),
            }
        except (ValueError, TypeError) as error:
            raise ValueError(f"sheet, row {number}: {error}") from error
    return out


def _sheet_label(row: Mapping[str, str]) -> dict[str, Any]:
    label: dict[str, Any] = {"thought": row["thought"], "digits": int(row["digits"]), "slots": {}}
    if row["prior"]:
        label["prior"] = json.loads(row["prior"])
    label["n_digits_claim"] = int(row["n_digits_claim"]) if row["n_digits_claim"] else None
    return {**label, "kind": row["kind"]} if row["kind"] else label


def _digit(cell: str) -> int | None:
    if not cell:
        return None
    digit = int(cell)
    if not 0 <= digit <= 9:
        raise ValueError(f"not a digit: {cell}")
    return digit
