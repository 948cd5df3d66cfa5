"""Coverage kernels against the official definitions in plain NumPy, on one core, in one run.

    python benchmarks/kernels.py [--baselines DIR] [--upstream FILE] [--digits-from DIR]

L1 and L2 are random walks of 9 and 36 glimpses over the published episodes, a batch of 2,000; `upstream` are the
windows that the official runner logged. Every figure is first checked to equal the official one exactly. Official
and ours alternate, round by round, in processor time, and the fastest call of each counts. A summed-area table is
made once per canvas: `ratio` leaves it out, `shared` adds its time as often as the batch has canvases, `alone` as if
every episode had a canvas to itself.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from mnistpro_replay.analysis.kernels.coverage import canvas_tables, coverage_curves
from mnistpro_replay.analysis.kernels.official import official_figures
from mnistpro_replay.schemas import DIRECTIONS, Geometry, walk
from mnistpro_replay.traces.world import Digits, build_canvas, embedded, load, sample, start_window

SHARED = Path(__file__).resolve().parent.parent.parent / "shared"
TARGETS = {"official figures": 25, "curve / end of episode": 60, "curve / every prefix": 400}
Paths = list[list[tuple[int, int]]]


class Case(NamedTuple):
    """Episodes of one geometry: their canvases, which of them is whose, and the windows of each."""

    name: str
    geometry: Geometry
    canvases: np.ndarray
    canvas_of: np.ndarray
    paths: Paths


def walks(level: int, glimpses: int, digits: Digits, copies: int = 20) -> Case:
    geometry = Geometry(n_panels=level)
    canvases = [build_canvas([digits.image(i) for i in key]) for key in sample(digits, level)]
    rng = np.random.default_rng(0)
    paths = [
        walk(geometry, start_window(canvas, geometry), rng.choice(list(DIRECTIONS), glimpses - 1).tolist())
        for canvas in canvases * copies
    ]
    owner = np.tile(np.arange(len(canvases)), copies)
    return Case(f"L{level}, {glimpses} glimpses", geometry, np.stack(canvases), owner, paths)


def upstream(file: Path, digits: Digits) -> Iterator[Case]:
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    rows = [row for row in rows if row["windows"] and all(map(digits.has, row["indices"]))]

    def world(row: dict) -> tuple[int, int]:
        return len(row["indices"]), int(re.search(r"_box(\d+)_", row["run"])[1])

    for (n_panels, window), group in groupby(sorted(rows, key=world), key=world):
        group = list(group)
        keys = sorted({tuple(row["indices"]) for row in group})
        canvases = np.stack([build_canvas([digits.image(i) for i in key]) for key in keys])
        owner = np.array([keys.index(tuple(row["indices"])) for row in group])
        paths = [[tuple(w) for w in row["windows"]] for row in group]
        mean = np.mean([len(path) for path in paths])
        name = f"upstream L{n_panels} box {window}, {mean:.0f} glimpses"
        yield Case(name, Geometry(window=window, n_panels=n_panels), canvases, owner, paths)


def measure(case: Case, official: ModuleType, rounds: int, rng: np.random.Generator) -> dict[str, float]:
    """Microseconds per episode of each figure (per canvas for `table`)."""
    box, tables = case.geometry.window, canvas_tables(case.canvases, case.geometry.n_panels)
    windows = np.array([p for path in case.paths for p in path])
    batch = tables, case.canvas_of, windows, np.cumsum([0] + [len(path) for path in case.paths])
    some = rng.permutation(len(case.paths))[:100]
    check(case, official, batch, some[:20])

    def plain(function: Callable, episodes: np.ndarray) -> None:
        for e in episodes:
            function(case.canvases[case.canvas_of[e]], case.paths[e], box)

    jobs = {
        "end": (lambda: plain(official.end_of_episode, some), len(some), 1),
        "prefix": (lambda: plain(official.every_prefix, some[:20]), len(some[:20]), 1),
        "figures": (lambda: official_figures(*batch, box), len(case.paths), 5),
        "curve": (lambda: coverage_curves(*batch, box), len(case.paths), 5),
        "table": (lambda: canvas_tables(case.canvases, case.geometry.n_panels), len(case.canvases), 1),
    }
    fastest = dict.fromkeys(jobs, np.inf)
    for _ in range(rounds):
        for name, (job, n, calls) in jobs.items():
            for _ in range(calls):
                started = time.process_time()
                job()
                fastest[name] = min(fastest[name], (time.process_time() - started) / n * 1e6)
    return fastest


def check(case: Case, official: ModuleType, batch: tuple, episodes: np.ndarray) -> None:
    box, offsets = case.geometry.window, batch[-1]
    figures, curves = official_figures(*batch, box), coverage_curves(*batch, box)
    for e in episodes:
        expected = official.every_prefix(case.canvases[case.canvas_of[e]], case.paths[e], box)
        inside = slice(offsets[e], offsets[e + 1])
        assert curves.coverage[inside].tolist() == [row[0] for row in expected]
        assert curves.area[inside].tolist() == [row[2] for row in expected]
        assert tuple(column[e] for column in figures) == expected[-1]


def report(case: Case, times: dict[str, float], table: Table) -> None:
    per_episode = times["table"] * len(case.canvases) / len(case.paths)
    pairs = zip(TARGETS.items(), (("end", "figures"), ("end", "curve"), ("prefix", "curve")), strict=True)
    for (label, target), (theirs, ours) in pairs:
        ratios = [times[theirs] / (times[ours] + extra) for extra in (0, per_episode, times["table"])]
        table.add_row(
            case.name if label == "official figures" else "",
            f"{len(case.paths):,}" if label == "official figures" else "",
            label,
            f"{times[theirs]:,.0f}",
            f"{times[ours]:.2f}",
            f"{target}x",
            f"[{'green' if ratios[0] >= target else 'red'}]{ratios[0]:,.0f}x",
            *(f"{ratio:,.1f}x" for ratio in ratios[1:]),
        )
    table.add_row("", "", "summed-area table", "", f"{times['table']:.1f}", end_section=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = os.environ.get("MNISTPRO_REPLAY_SHARED", SHARED)
    parser.add_argument("--baselines", type=Path, default=Path(default) / "baselines")
    parser.add_argument(
        "--upstream", type=Path, default=Path(default) / "upstream" / "reference_metrics.jsonl"
    )
    parser.add_argument("--digits-from", type=Path, help="all test digits, for the upstream runs with seed 7")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    spec = importlib.util.spec_from_file_location("official", options.baselines / "official_metrics.py")
    official = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(official)
    digits = load(options.digits_from) if options.digits_from else embedded()
    cases = [walks(1, 9, digits), walks(2, 36, digits)]
    if options.upstream.exists():
        cases += upstream(options.upstream, digits)
    table = Table(title="Microseconds per episode (summed-area table: per canvas), one core")
    for column in ("case", "episodes", "figure"):
        table.add_column(column)
    for column in ("official", "ours", "target", "ratio", "shared", "alone"):
        table.add_column(column, justify="right")
    for case in cases:
        report(case, measure(case, official, options.rounds, np.random.default_rng(1)), table)
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
