"""Logs of the size that a benchmark asks for: a real evaluation by Inspect, and files grown from it."""

from __future__ import annotations

import base64
import json
import zipfile
from collections.abc import Iterator
from itertools import count, cycle, islice
from pathlib import Path
from typing import Any

from mnistpro_replay.schemas import Geometry
from mnistpro_replay.traces.adapters.inspect.archive import Archive
from mnistpro_replay.traces.adapters.json_text import loads
from mnistpro_replay.traces.world import embedded
from mnistpro_replay.traces.world.canvas import build_canvas, observe, start_window, to_png

_ROUTE = "right down left up right right down left".split()
_THOUGHT = "I see a stroke that bends, and move on to where it may lead. " * 6


def evaluate(folder: Path, episodes: int, moves: int, recorded: bool) -> Path:
    """A log of Inspect's mock model playing episodes with tools.

    Args:
        folder: where the log goes.
        episodes: all of different digits.
        moves: of each episode, before its answer.
        recorded: whether the log says where the windows are, or only shows it.
    """
    from inspect_ai import Task, eval
    from inspect_ai.dataset import MemoryDataset
    from inspect_ai.model import get_model
    from inspect_ai.solver import generate, use_tools

    played = [_play(number, moves) for number in range(episodes)]
    task = Task(
        dataset=MemoryDataset([_sample(episode, recorded) for episode in played]),
        solver=[use_tools(_move(played, recorded), _submit()), generate()],
        name="glimpses",
    )
    model = get_model("mockllm/model", custom_outputs=_replies(played))
    (log,) = eval(task, model=model, log_dir=str(folder), display="none", max_samples=1, log_images=True)
    if log.status != "success":
        raise RuntimeError(str(log.error))
    return Path(log.location.removeprefix("file://"))


def _play(number: int, moves: int) -> dict[str, Any]:
    digits, geometry = embedded(), Geometry()
    index = int(digits.index[number])
    canvas = build_canvas([digits.image(index)])
    windows, directions = [start_window(canvas, geometry)], list(islice(cycle(_ROUTE), moves))
    for direction in directions:
        windows.append(geometry.move(windows[-1], direction)[0])
    pictures = [base64.b64encode(to_png(observe(canvas, at, geometry))).decode() for at in windows]
    uris = [f"data:image/png;base64,{picture}" for picture in pictures]
    label = str(digits.labels[index])
    return {
        "id": number,
        "index": index,
        "label": label,
        "moves": directions,
        "windows": windows,
        "uris": uris,
    }


def _sample(episode: dict[str, Any], recorded: bool) -> Any:
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ChatMessageUser, ContentImage, ContentText

    facts = {"digit_indices": [episode["index"]]}
    world = {"start": episode["windows"][0], "window": 64, "stride": 32, "panel": 224, "n_panels": 1}
    content = [ContentText(text="Find out the digit."), ContentImage(image=episode["uris"][0])]
    return Sample(
        id=episode["id"],
        input=[ChatMessageUser(content=content)],
        target=episode["label"],
        metadata=facts | world if recorded else facts,
    )


def _move(played: list[dict[str, Any]], recorded: bool) -> Any:
    from inspect_ai.model import ContentImage, ContentText
    from inspect_ai.tool import tool

    observations = (
        (at, uri)
        for episode in played
        for at, uri in zip(episode["windows"][1:], episode["uris"][1:], strict=True)
    )

    @tool
    def move() -> Any:
        async def execute(direction: str) -> Any:
            """Move the window.

            Args:
                direction: up, down, left or right.
            """
            at, uri = next(observations)
            told = [ContentText(text=json.dumps({"window": at}))] if recorded else []
            return [*told, ContentImage(image=uri)]

        return execute

    return move()


def _submit() -> Any:
    from inspect_ai.tool import tool

    @tool
    def submit() -> Any:
        async def execute(answer: str) -> str:
            """Give the answer.

            Args:
                answer: the digit.
            """
            return "ok"

        return execute

    return submit()


def _replies(played: list[dict[str, Any]]) -> Iterator[Any]:
    from inspect_ai.model import ModelOutput, ModelUsage

    for episode in played:
        outputs = [
            ModelOutput.for_tool_call("mockllm/model", name, arguments, content=_THOUGHT)
            for name, arguments in (
                *(("move", {"direction": direction}) for direction in episode["moves"]),
                ("submit", {"answer": episode["label"]}),
            )
        ]
        for output in (*outputs, ModelOutput.from_content("mockllm/model", "Done.")):
            # Without usage the mock model counts tokens, with a vocabulary that it would download.
            output.usage = ModelUsage(input_tokens=10, output_tokens=2, total_tokens=12)
            yield output


def _repeated(log: Path) -> Iterator[dict[str, Any]]:
    """The samples of a log again and again, each time under other ids."""
    with log.open("rb") as file:
        archive = Archive(file)
        members = [archive.read(name) for name in archive.names() if name.startswith("samples/")]
    for number, member in zip(count(), cycle(members)):
        yield loads(member)[0] | {"id": number}


def grow_eval(log: Path, path: Path, size: int) -> int:
    """Write a log of `size` bytes, compressed as Inspect does; returns the number of samples."""
    import zipfile_zstd  # noqa: F401

    with zipfile.ZipFile(path, "w", zipfile.ZIP_ZSTANDARD) as out, log.open("rb") as file:  # type: ignore[attr-defined]
        out.writestr("header.json", Archive(file).read("header.json"))
        for written, sample in enumerate(_repeated(log), start=1):
            out.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
            if out.fp.tell() >= size:  # type: ignore[union-attr]
                return written
    raise AssertionError


def grow_jsonl(log: Path, path: Path, size: int) -> int:
    """Write the same conversations as chat messages, one a line; returns their number."""
    with path.open("w") as out:
        for written, sample in enumerate(_repeated(log), start=1):
            facts = sample["metadata"] | {"label": sample["target"], "episode_id": sample["id"]}
            record = {"messages": [_chat(message, sample) for message in sample["messages"]], **facts}
            out.write(json.dumps(record) + "\n")
            if out.tell() >= size:
                return written
    raise AssertionError


def _chat(message: dict[str, Any], sample: dict[str, Any]) -> dict[str, Any]:
    def part(part: dict[str, Any]) -> dict[str, Any]:
        if part["type"] != "image":
            return {"type": "text", "text": part["text"]}
        uri = sample["attachments"][part["image"].removeprefix("attachment://")]
        return {"type": "image_url", "image_url": {"url": uri}}

    def call(call: dict[str, Any]) -> dict[str, Any]:
        function = {"name": call["function"], "arguments": json.dumps(call["arguments"])}
        return {"id": call["id"], "type": "function", "function": function}

    content = message["content"]
    chat = {
        "role": message["role"],
        "content": content if isinstance(content, str) else [*map(part, content)],
    }
    if "tool_calls" in message:
        chat["tool_calls"] = [call(each) for each in message["tool_calls"]]
    return chat | {name: message[name] for name in ("tool_call_id",) if name in message}
