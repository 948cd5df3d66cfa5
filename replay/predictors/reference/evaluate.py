"""Every figure of the model card, from the shipped weights.

    python -m mnistpro_replay.replay.predictors.reference.evaluate --digits-from FOLDER

`FOLDER` holds the MNIST test digits (IDX files, a torchvision root or a Keras .npz). Prints the tables of
MODEL_CARD.md and writes them with `figures.json` into `--out`.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from statsmodels.stats.proportion import proportion_confint

from ....schemas import DIRECTIONS, EVIDENCE_MODES, Evidence, Geometry, Point, walk
from ....traces.world import build_canvas, embedded, load, offline_canvas, start_window
from . import walks
from .predictor import Reference, best

GLIMPSES = (1, 3, 6, 12, 20)
"""Glimpses shown, the start included: after k there were k - 1 moves."""
FIRST_ATTEMPT = {1: 0.752, 3: 0.830, 6: 0.865, 12: 0.914, 20: 0.940}
FULL_TARGET = {1: 0.99, 2: 0.975}
ECE_TARGET = 0.02
BINS = 15
SEED = 2_026
PAIRS = 2_000
PER_TENTH = 20_000
_CHUNK = 100


def random_walk(geometry: Geometry, start: Point, glimpses: int, seed: Sequence[int]) -> list[Point]:
    """Positions of a random walk: directions drawn uniformly from the four; blocked moves stay and count."""
    names = list(DIRECTIONS)
    moves = np.random.default_rng(seed).integers(len(names), size=glimpses - 1)
    return walk(geometry, start, [names[i] for i in moves])


def walk_posteriors(
    reader: Reference, worlds: Sequence[Sequence[np.ndarray]], glimpses: Sequence[int], evidence: Evidence
) -> np.ndarray:
    """Read random walks from the official start, and then the full canvas.

    Args:
        reader: the predictor.
        worlds: digits, uint8 (28, 28), of each canvas; the i-th walk is seeded with (SEED, i).
        glimpses: numbers of glimpses after which to read.
        evidence: evidence mode.

    Returns:
        float32 (worlds, len(glimpses) + 1, panels, 10).
    """
    geometry = Geometry(n_panels=len(worlds[0]))
    parts = []
    for first in range(0, len(worlds), _CHUNK):
        views = []
        for i, digits in enumerate(worlds[first : first + _CHUNK], first):
            canvas = build_canvas(digits)
            path = random_walk(geometry, start_window(canvas, geometry), max(glimpses), (SEED, i))
            views += [offline_canvas(canvas, path[:k], geometry, evidence) for k in glimpses] + [canvas]
        parts.append(reader.posterior(np.stack(views)))
    return np.concatenate(parts).reshape(len(worlds), len(glimpses) + 1, geometry.n_panels, 10)


def proportion(hits: np.ndarray) -> dict[str, Any]:
    """n, share and 95 % Wilson interval of a bool array."""
    low, high = proportion_confint(int(hits.sum()), len(hits), method="wilson")
    value = float(hits.mean())  # which rounding puts a hair outside the interval at 0 and 1
    return {"n": len(hits), "value": value, "low": min(float(low), value), "high": max(float(high), value)}  # pyright: ignore[reportArgumentType]


def calibration_error(confidence: np.ndarray, right: np.ndarray, bins: int = BINS) -> float:
    """Expected calibration error: mean over answers of |accuracy - confidence| of their equal-mass bin."""
    order = np.argsort(confidence, kind="stable")
    gap = right[order] - confidence[order].astype(float)
    return float(sum(abs(part.sum()) for part in np.array_split(gap, bins)) / len(order))


def level_rows(
    reader: Reference, worlds: list[list[np.ndarray]], labels: np.ndarray, first: int
) -> list[dict]:
    """Accuracy after k glimpses and in full: all digits of a canvas right.

    Args:
        reader: the predictor.
        worlds: digits of each canvas.
        labels: int (worlds, panels).
        first: also give the figures over the first so many canvases; 0 for none.
    """
    level, rows = labels.shape[1], []
    for evidence in EVIDENCE_MODES if level == 1 else ("window",):
        posterior = walk_posteriors(reader, worlds, GLIMPSES, evidence)
        right = best(posterior) == labels[:, None, :]
        for column, k in enumerate((*GLIMPSES, None)):
            if k is None and evidence != "window":
                continue
            target = (FIRST_ATTEMPT.get(k) if level == 1 else None) if k else FULL_TARGET[level]
            shared = {"level": level, "evidence": evidence if k else "full", "glimpses": k, "target": target}
            answered = best(posterior[:, column]) >= 0
            ece = calibration_error(posterior[:, column].max(axis=-1)[answered], right[:, column][answered])
            hits = right[:, column].all(axis=1)
            if first:
                rows.append(
                    {"canvases": f"first {first:,}", **shared, **proportion(hits[:first]), "ece": None}
                )
            rows.append({"canvases": f"all {len(hits):,}", **shared, **proportion(hits), "ece": ece})
    return rows


def masked_panels(digits: np.ndarray, labels: np.ndarray, n: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Features and labels of `n` masked panels in each tenth of the seen area, in batches of one tenth.

    The mixture is the training's (policies, windows, evidence modes, one to three panels), on digits as they
    are and with the number of glimpses even from 1 to the budget; panels without visible ink are left out.
    """
    prior = walks.mean_ink(embedded("train").images)
    missing, seed = np.full(10, n), SEED
    while missing.any():
        cells, answers = walks.batch(digits, labels.astype(np.int64), prior, 2_000, 0.0, 1.0, seed)
        seed += 1
        tenth = tenths(cells)
        for t in np.flatnonzero(missing):
            chosen = np.flatnonzero(tenth == t)[: missing[t]]
            missing[t] -= len(chosen)
            if len(chosen):
                yield cells[chosen], answers[chosen]


def tenths(cells: np.ndarray) -> np.ndarray:
    """Which tenth of the panel's area was seen, 0 to 9, for features (M, 8, 28, 28)."""
    seen = cells[:, 4:].sum(axis=(1, 2, 3), dtype=np.int64)
    return np.minimum(seen * 10 // walks.PANEL**2, 9)


def calibration_rows(reader: Reference, digits: np.ndarray, labels: np.ndarray, n: int) -> list[dict]:
    """Calibration error and accuracy in each tenth of the seen area, over `n` masked panels each."""
    collected = []
    for cells, answers in masked_panels(digits, labels, n):
        probabilities = reader.read_cells(cells)
        collected.append((tenths(cells), probabilities.max(axis=1), best(probabilities) == answers))
    tenth, confidence, right = (np.concatenate(part) for part in zip(*collected, strict=True))
    rows = []
    for t in range(10):
        inside = tenth == t
        ece = calibration_error(confidence[inside], right[inside])
        rows.append(
            {
                "seen": [t / 10, (t + 1) / 10],
                **proportion(right[inside]),
                "confidence": float(confidence[inside].mean()),
                "ece": ece,
                "target": ECE_TARGET,
            }
        )
    return rows


def speed(reader: Reference, digits: np.ndarray) -> float:
    """Panels a second through `posterior`, in processor time, best of five."""
    canvases = np.stack([build_canvas([digit]) for digit in digits[:500]])
    taken = []
    for _ in range(5):
        began = time.process_time()
        reader.posterior(canvases)
        taken.append(time.process_time() - began)
    return len(canvases) / min(taken)


def evaluate(reader: Reference, digits: np.ndarray, labels: np.ndarray, per_tenth: int = PER_TENTH) -> dict:
    """All figures: {weights, accuracy, calibration, panels_per_cpu_second}."""
    pairs = np.random.default_rng(SEED).integers(len(digits), size=(PAIRS, 2))
    accuracy = level_rows(reader, [[digit] for digit in digits], labels[:, None], first=2_000)
    accuracy += level_rows(reader, [[digits[a], digits[b]] for a, b in pairs], labels[pairs], first=0)
    return {
        "weights": reader.version,
        "accuracy": accuracy,
        "calibration": calibration_rows(reader, digits, labels, per_tenth),
        "panels_per_cpu_second": round(speed(reader, digits)),
    }


def tables(figures: dict) -> str:
    """The figures as Markdown, aligned so that they can be read as they are."""
    head = ["canvases", "level", "evidence", "glimpses", "n", "accuracy %", "95 % interval", "target", "ECE"]
    accuracy = [
        [
            row["canvases"],
            f"L{row['level']}",
            row["evidence"],
            str(row["glimpses"] or ""),
            f"{row['n']:,}",
            f"{row['value']:.2%}"[:-1],
            f"{row['low']:.2%}-{row['high']:.2%}".replace("%", ""),
            "" if row["target"] is None else f"{'>' if row['glimpses'] else '>='} {row['target']:.1%}"[:-1],
            "" if row["ece"] is None else f"{row['ece']:.4f}",
        ]
        for row in figures["accuracy"]
    ]
    calibration = [
        [
            "{:.1f}-{:.1f}".format(*row["seen"]),
            f"{row['n']:,}",
            f"{row['value']:.2%}"[:-1],
            f"{row['confidence']:.2%}"[:-1],
            f"{row['ece']:.4f}",
            f"<= {row['target']}",
        ]
        for row in figures["calibration"]
    ]
    return "\n\n".join(
        [
            "Weights `{weights}`; {panels_per_cpu_second:,} panels a second on one core.".format(**figures),
            _markdown(head, accuracy),
            _markdown(["seen area", "n", "accuracy %", "confidence %", "ECE", "target"], calibration),
        ]
    )


def _markdown(head: list[str], rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [head, ["-" * width for width in widths], *rows]
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |"
        for line in lines
    )


def main() -> None:
    """Evaluate, print, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--digits-from", type=Path, required=True, help="the MNIST test digits")
    parser.add_argument("--weights", type=Path, help="other weights than the shipped ones")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent, help="where the figures go")
    args = parser.parse_args()
    digits = load(args.digits_from)
    reader = Reference(args.weights) if args.weights else Reference()
    figures = evaluate(reader, digits.images, digits.labels)
    text = tables(figures)
    print(text)
    (args.out / "figures.json").write_text(json.dumps(figures, indent=1) + "\n")
    card = args.out / "MODEL_CARD.md"
    if card.exists():
        before, _, rest = card.read_text().partition("<!-- figures -->")
        after = rest.partition("<!-- /figures -->")[2]
        card.write_text(f"{before}<!-- figures -->\n\n{text}\n\n<!-- /figures -->{after}")


if __name__ == "__main__":
    main()
