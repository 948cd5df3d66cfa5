"""A large store, quickly: real runs of scripted policies, copied under many names with some answers changed.

    python benchmarks/synthetic_store.py STORE --runs 5000 --episodes 200

Paths, pictures and metrics are those of the bundled world; only run names, models and a share of the answers
differ from copy to copy, so that every query meets believable values. What it made is printed.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from mnistpro_replay.analysis.metrics import ensure
from mnistpro_replay.replay.predictors import load
from mnistpro_replay.traces.arrow import arrow_schema
from mnistpro_replay.traces.runner.record import record
from mnistpro_replay.traces.runner.run import Plan
from mnistpro_replay.traces.store import Store

BASES = (("early", 1, {"k": 4}), ("early", 2, {"k": 8}), ("stroke", 1, {}), ("stroke", 2, {}))
MODELS = ("aurora-1", "aurora-2-mini", "borealis", "cirrus-large", "delta-vision", "ember")
MEMORIES = ("image_only", "textual_state", "metric_grid_map", "online_canvas")
TABLES = ("episodes", "steps", "episode_metrics", "step_metrics")
CONTENT = ("canvases", "images")
BY_GLIMPSE = 100
"""Runs that have metrics by glimpse (a store of a million episodes rarely has more: they are derived on demand)."""
SHARD = 100
"""Runs of one commit."""


def make_base(path: Path, episodes: int) -> tuple[Store, dict[str, pl.DataFrame]]:
    """Runs of a few policies with their metrics: the store and its tables."""
    store, reader = Store(path, create=True), load("reference")
    for policy, level, settings in BASES:
        record(
            Plan(policy=policy, level=level, settings=settings, episodes=episodes, predictor=reader), store
        )
    ensure(store, store.runs()["run"].to_list(), "last")
    return store, {name: store.raw(name).collect() for name in ("runs", *CONTENT, *TABLES)}


def copy_run(base: dict[str, pl.DataFrame], number: int) -> dict[str, pl.DataFrame]:
    """One run of the store: a base run under another name, model and memory, some answers changed."""
    rng = np.random.default_rng(number)
    old = base["runs"].row(number % base["runs"].height, named=True)["ingest_id"]
    new, model, memory = (
        f"synthetic{number:07d}",
        MODELS[number % len(MODELS)],
        MEMORIES[number // 7 % len(MEMORIES)],
    )
    made = {name: base[name].filter(pl.col("ingest_id") == old) for name in ("runs", *TABLES)}
    made = {name: rows.with_columns(ingest_id=pl.lit(new)) for name, rows in made.items()}
    made["runs"] = made["runs"].with_columns(
        run=pl.lit(f"{model}/{memory}/{number:05d}"),
        run_id=pl.lit(f"{number:016x}"),
        model=pl.lit(model),
        memory=pl.lit(memory),
        source_digest=pl.lit(new),
    )
    luck = pl.Series(rng.random(made["episodes"].height))
    right, silent = luck < rng.uniform(0.1, 0.5), luck > rng.uniform(0.9, 1.0)
    answer = pl.when(right).then("label").when(silent).then(None).otherwise("answer")
    if number >= BY_GLIMPSE:
        made["step_metrics"] = made["step_metrics"].clear()
    made["episodes"] = made["episodes"].with_columns(
        answer=answer,
        correct=(answer == pl.col("label")).fill_null(False),
        answer_status=pl.when(silent).then(pl.lit("missing")).otherwise("answer_status"),
        stop_reason=pl.when(silent).then(pl.lit("step_limit")).otherwise("stop_reason"),
    )
    return made


def write(store: Store, name: str, frame: pl.DataFrame) -> None:
    """Append rows to a table in one commit."""
    schema = arrow_schema(name)
    store.append_arrow(name, frame.select(schema.names).to_arrow().cast(schema))


def make(path: Path, runs: int, episodes: int) -> None:
    """Write the store; its `runs` rows come last in each shard, as in any ingest."""
    with tempfile.TemporaryDirectory() as scratch:
        _, base = make_base(Path(scratch), episodes)
    store = Store(path, create=True)
    for name in CONTENT:
        write(store, name, base[name])
    for first in range(0, runs, SHARD):
        made = [copy_run(base, number) for number in range(first, min(first + SHARD, runs))]
        for name in (*TABLES, "runs"):
            write(store, name, pl.concat(part[name] for part in made))


def main() -> None:
    """Make a store and print what is in it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("store", type=Path)
    parser.add_argument("--runs", type=int, default=5000)
    parser.add_argument("--episodes", type=int, default=200, help="of each run")
    options = parser.parse_args()
    begun = time.perf_counter()
    make(options.store, options.runs, options.episodes)
    store = Store(options.store)
    counts = {name: store.raw(name).select(pl.len()).collect().item() for name in ("runs", *TABLES)}
    size = sum(file.stat().st_size for file in options.store.rglob("*") if file.is_file())
    print(
        f"{options.store}: {', '.join(f'{n:,} {name}' for name, n in counts.items())}; {size / 2**20:,.0f} MiB"
    )
    print(f"made in {time.perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    main()
