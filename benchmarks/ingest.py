"""How fast logs are read: official run folders against `orjson.loads`, `.eval` against Inspect, memory against size.

    python benchmarks/ingest.py [--runs FOLDER] [--episodes 60] [--sizes 20 200]

Times are CPU times of this process, taken in turns, so that other work on the machine counts for all alike; peak
memory is that of a fresh process for each size.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from written_logs import evaluate, grow_eval, grow_jsonl

from mnistpro_replay.schemas import Episode
from mnistpro_replay.traces.adapters import Bundle, MemoryBundle, adapter, file_bundle
from mnistpro_replay.traces.adapters.inspect.archive import Archive
from mnistpro_replay.traces.adapters.json_text import loads
from mnistpro_replay.traces.world import Digits, embedded

_REPEATS, _ROUNDS = 3, 11
# Mean moves of the published runs on one digit and on two (paper, table 5).
_SHORT, _LONG = 9, 29


def best(work: Callable[[], Any], repeats: int = _REPEATS) -> float:
    times = []
    for _ in range(repeats):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def consume(name: str, bundle: Bundle, digits: Digits | None = None) -> int:
    return sum(1 for _ in adapter(name).read(bundle, digits or embedded()))


def no_digits() -> Digits:
    """Digits without a single image: no canvas can be drawn, so that only records are read."""
    labels = embedded().labels
    return Digits(np.zeros(0, int), np.zeros((0, 28, 28), np.uint8), labels, "nothing")


def without_pictures(root: Path) -> MemoryBundle:
    """A run folder held in memory, without its pictures."""
    paths = [path for path in root.rglob("*.json") if not path.name.startswith("response_")]
    return MemoryBundle(root.name, {path.relative_to(root).as_posix(): path.read_bytes() for path in paths})


def is_strict(data: bytes) -> bool:
    try:
        orjson.loads(data)
    except orjson.JSONDecodeError:
        return False
    return True


def run_folders(root: Path) -> None:
    """Official run folders: time over that of a JSON parser on the same bytes in memory, canvases apart."""
    adapter("mnistpro"), embedded()
    for strict in (True, False):
        ours = drawn = theirs = size = count = 0.0
        for config in sorted(root.rglob("run_config.json")):
            bundle = without_pictures(config.parent)
            files = [bundle.read(name) for name in bundle.names()]
            if all(map(is_strict, files)) is not strict:
                continue
            parse = orjson.loads if strict else json.loads
            ours += best(lambda bundle=bundle: consume("mnistpro", bundle, no_digits()))
            drawn += best(lambda bundle=bundle: consume("mnistpro", bundle), 1)
            theirs += best(lambda files=files, parse=parse: [parse(data) for data in files])
            size += sum(map(len, files))
            count += 1
        if count:
            kind, parser = ("strict JSON", "orjson") if strict else ("with NaN or Infinity", "json")
            print(
                f"run folders, {kind}: {count:.0f} runs, {size / 1e6:.1f} MB, {ours:.2f} s, "
                f"{parser} {theirs:.2f} s, ratio {ours / theirs:.2f}; with canvases drawn {drawn:.2f} s"
            )


def in_turns(works: Sequence[Callable[[], Any]]) -> tuple[list[float], list[float]]:
    """Median time of each, and how often it goes into the first one's: by rounds, as other work slows them down."""
    rounds = np.array([[best(work, 1) for work in works] for _ in range(_ROUNDS)])
    return np.median(rounds, axis=0).tolist(), np.median(rounds[:, :1] / rounds, axis=0).tolist()


def samples(path: Path) -> int:
    """Samples as Inspect's reader gives them, without its models."""
    with path.open("rb") as file:
        archive = Archive(file)
        return sum(loads(archive.read(name)) is not None for name in archive.names() if "samples/" in name)


def eval_speed(path: Path, recorded: bool) -> None:
    """Against Inspect's reader: ours to samples, which is the same work, and to canonical episodes."""
    from inspect_ai.log import read_eval_log

    bundle = file_bundle(path)
    read = [item for item in adapter("inspect").read(bundle, embedded()) if isinstance(item, Episode)]
    assert all(episode.windows() and episode.canvas for episode in read)
    works = (
        lambda: read_eval_log(str(path)),
        lambda: samples(path),
        lambda: consume("inspect", bundle),
    )
    (theirs, *times), (_, *ratios) = in_turns(works)
    size = path.stat().st_size / 1e6
    print(f".eval, {len(read)} samples, {size:.1f} MB: read_eval_log {theirs:.2f} s; target 5 times as fast")
    kind = "positions recorded" if recorded else "positions recovered from the pictures"
    for what, ours, ratio in zip(("samples", f"canonical episodes, {kind}"), times, ratios, strict=True):
        print(f"  {what}: {ours:.3f} s, {ratio:.1f} times as fast")


def own_peak() -> float:
    """Peak resident memory of this process in MB."""
    # On Linux `ru_maxrss` begins at the size of the process that started this one.
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def peak_memory(name: str, path: Path) -> float:
    """Peak resident memory in MB of a process that reads the file and keeps nothing."""
    out = subprocess.run(
        [sys.executable, __file__, "--child", name, str(path)], capture_output=True, text=True, check=True
    )
    return float(out.stdout)


def memory(folder: Path, log: Path, sizes: Sequence[int]) -> None:
    """Peak memory at growing sizes of one kind of file; the target is that it does not grow."""
    for name, suffix, grow in (("inspect", "eval", grow_eval), ("openai", "jsonl", grow_jsonl)):
        path, figures = folder / f"grown.{suffix}", []
        for size in sizes:
            episodes = grow(log, path, size * 1_000_000)
            peak = peak_memory(name, path)
            figures.append(f"{path.stat().st_size / 1e6:.0f} MB, {episodes} episodes: {peak:.0f} MB")
        print(f".{suffix}, peak memory: {'; '.join(figures)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=Path, help="folder with unpacked official run folders")
    parser.add_argument("--episodes", type=int, default=60, help="episodes of the real evaluations")
    parser.add_argument("--sizes", type=int, nargs="*", default=[20, 200], help="MB of the growing files")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        name, path = arguments.child
        consume(name, file_bundle(Path(path)))
        print(own_peak())
        return
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as folder:
        if not arguments.runs:
            unpack_sample(Path(folder))
        run_folders(arguments.runs or Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        for recorded in (True, False):
            eval_speed(evaluate(Path(folder), arguments.episodes, _SHORT, recorded), recorded)
        memory(Path(folder), evaluate(Path(folder), 10, _LONG, True), arguments.sizes)


def unpack_sample(folder: Path) -> None:
    from importlib.resources import files

    with (files("mnistpro_replay.traces.adapters.mnistpro") / "sample.zip").open("rb") as file:
        zipfile.ZipFile(file).extractall(folder)


if __name__ == "__main__":
    main()
