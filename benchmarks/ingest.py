"""How fast logs are read: official run folders against `orjson.loads`, `.eval` against Inspect, memory against size.

    python benchmarks/ingest.py [--runs FOLDER] [--sizes 200 1000]

Times are CPU times of this process, so that other work on the machine does not count; peak memory is that of a child
process for each size.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from mnistpro_replay.schemas import Geometry
from mnistpro_replay.traces.adapters import Bundle, MemoryBundle, adapter, file_bundle
from mnistpro_replay.traces.adapters.inspect.archive import Archive
from mnistpro_replay.traces.adapters.json_text import loads
from mnistpro_replay.traces.world import Digits, embedded
from mnistpro_replay.traces.world.canvas import build_canvas, observe, start_window, to_png

_REPEATS = 3
_MOVES = "right down left up right right down left".split()


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


def episodes(count: int) -> Iterator[dict[str, Any]]:
    """Tool-using episodes as Inspect samples with pictures as attachments."""
    digits, geometry = embedded(), Geometry()
    for number in range(count):
        index = int(digits.index[number % len(digits.index)])
        canvas = build_canvas([digits.image(index)])
        at = start_window(canvas, geometry)
        windows = [at]
        for direction in _MOVES:
            at = geometry.move(at, direction)[0]
            windows.append(at)
        uris = [
            "data:image/png;base64," + base64.b64encode(to_png(observe(canvas, w, geometry))).decode()
            for w in windows
        ]
        yield {"id": number, "index": index, "label": str(digits.labels[index]), "uris": uris}


def sample(episode: dict[str, Any]) -> Any:
    from inspect_ai.log import EvalSample
    from inspect_ai.model import (
        ChatMessageAssistant,
        ChatMessageTool,
        ChatMessageUser,
        ContentImage,
        ContentText,
    )
    from inspect_ai.tool import ToolCall

    image = [ContentImage(image=uri) for uri in episode["uris"]]
    messages: list[Any] = [ChatMessageUser(content=[ContentText(text="go"), image[0]])]
    actions = [("move", {"direction": d}) for d in _MOVES] + [("submit", {"answer": episode["label"]})]
    for number, (name, arguments) in enumerate(actions):
        call = ToolCall(id=f"c{number}", function=name, arguments=arguments)
        messages.append(ChatMessageAssistant(content="I think about it. " * 20, tool_calls=[call]))
        content = "ok" if name == "submit" else [image[number + 1]]
        messages.append(ChatMessageTool(content=content, tool_call_id=f"c{number}", function=name))
    metadata = {"digit_indices": [episode["index"]]}
    return EvalSample(
        id=episode["id"], epoch=1, input="go", target=episode["label"], messages=messages, metadata=metadata
    )


def write_eval(path: Path, count: int) -> None:
    """A log by Inspect's own writer; for more samples than fit in memory its members are repeated under other ids."""
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSpec, write_eval_log

    spec = EvalSpec(
        created="2026-11-29T00:00:00+00:00", task="t", dataset=EvalDataset(), model="m/m", config=EvalConfig()
    )
    log = EvalLog(status="success", eval=spec, samples=[sample(episode) for episode in episodes(count)])
    write_eval_log(log, str(path))


def write_jsonl(path: Path, count: int) -> None:
    with path.open("w") as file:
        for episode in episodes(count):
            image = [{"type": "image_url", "image_url": {"url": uri}} for uri in episode["uris"]]
            messages: list[Any] = [{"role": "user", "content": [image[0]]}]
            for number, direction in enumerate(_MOVES):
                reply = json.dumps({"action": "move", "direction": direction, "thought": "x" * 300})
                messages.append({"role": "assistant", "content": reply})
                messages.append({"role": "user", "content": [image[number + 1]]})
            answer = json.dumps({"action": "answer", "value": episode["label"]})
            messages.append({"role": "assistant", "content": answer})
            record = {"messages": messages, "label": episode["label"], "digit_indices": [episode["index"]]}
            file.write(json.dumps(record | {"episode_id": episode["id"]}) + "\n")


def eval_speed(path: Path, count: int) -> None:
    """Against Inspect's reader: ours to samples, which is the same work, and to canonical records."""
    from inspect_ai.log import read_eval_log

    def samples() -> int:
        with path.open("rb") as file:
            archive = Archive(file)
            return sum(
                loads(archive.read(name)) is not None for name in archive.names() if "samples/" in name
            )

    theirs = best(lambda: read_eval_log(str(path)))
    print(
        f".eval, {count} samples, {path.stat().st_size / 1e6:.1f} MB: inspect_ai's read_eval_log {theirs:.2f} s"
    )
    for what, work in (
        ("to samples", samples),
        (
            "to canonical records, pictures and windows included",
            lambda: consume("inspect", file_bundle(path)),
        ),
    ):
        ours = best(work)
        print(f"  ours {what}: {ours:.2f} s, {theirs / ours:.1f} times as fast")


def peak_memory(name: str, path: Path) -> float:
    """Peak resident memory in MB of a process that reads the file and keeps nothing."""
    out = subprocess.run(
        [sys.executable, __file__, "--child", name, str(path)], capture_output=True, text=True, check=True
    )
    return float(out.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, help="folder with unpacked official run folders")
    parser.add_argument("--sizes", type=int, nargs=2, default=[200, 1000], help="episodes in the two files")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        name, path = arguments.child
        consume(name, file_bundle(Path(path)))
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        return
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if arguments.runs:
        run_folders(arguments.runs)
    else:
        with tempfile.TemporaryDirectory() as folder:
            unpack_sample(Path(folder))
            run_folders(Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        logs(Path(folder), arguments.sizes)


def unpack_sample(folder: Path) -> None:
    from importlib.resources import files

    with (files("mnistpro_replay.traces.adapters.mnistpro") / "sample.zip").open("rb") as file:
        zipfile.ZipFile(file).extractall(folder)


def logs(folder: Path, sizes: list[int]) -> None:
    for name, suffix, write in (("inspect", "eval", write_eval), ("openai", "jsonl", write_jsonl)):
        peaks = []
        for count in sizes:
            path = folder / f"{count}.{suffix}"
            write(path, count)
            peaks.append(peak_memory(name, path))
        if name == "inspect":
            eval_speed(folder / f"{sizes[0]}.eval", sizes[0])
        figures = ", ".join(f"{n} episodes {peak:.0f} MB" for n, peak in zip(sizes, peaks, strict=True))
        print(f".{suffix}: peak memory {figures}")


if __name__ == "__main__":
    main()
