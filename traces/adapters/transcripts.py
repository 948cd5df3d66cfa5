"""Files of transcripts: heads for detection, JSON documents and lines for reading, time and usage."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from ...schemas import Diagnostic, Usage
from .bundle import Bundle
from .content import Opener
from .json_text import BadJson, finite, loads, whole

_HEAD = 1 << 20
TRUTHS = "episodes.jsonl"
"""File beside transcripts with what they do not say: one object an episode, `episode_id` and facts."""


class Line(NamedTuple):
    """A record of a JSONL file: its number from 1, and its value."""

    number: int
    value: Any


def head(bundle: Bundle, name: str, size: int = _HEAD) -> bytes:
    """The first bytes of a file; empty where it cannot be read."""
    try:
        with bundle.open(name) as file:
            return file.read(size)
    except OSError:
        return b""


def has_markers(data: bytes, *patterns: bytes) -> bool:
    """Whether every pattern is found."""
    return all(re.search(pattern, data) for pattern in patterns)


def members(bundle: Bundle, suffixes: Sequence[str], is_kind: Callable[[bytes], bool]) -> list[str]:
    """Files of a bundle that are of a format by their heads, or nothing where others lie between them.

    A folder of transcripts is one source only as a whole: mixed ones are looked through file by file. Empty files
    and the list of truths (`episodes.jsonl`) beside the transcripts are of any format.
    """
    every = bundle.names()
    names = [name for name in every if PurePosixPath(name).suffix in suffixes or len(every) == 1]
    names = [name for name in names if PurePosixPath(name).name != TRUTHS or len(every) == 1]
    found = False
    for name in names:
        data = head(bundle, name)
        if data and not is_kind(data):
            return []
        found = found or bool(data)
    return names if found else []


def beside(bundle: Bundle, name: str) -> Opener:
    """Opens files that a transcript names relative to its own folder."""
    folder = PurePosixPath(name).parent

    def read(path: str) -> bytes:
        return bundle.read((folder / path).as_posix())

    return read


def read_json(bundle: Bundle, name: str, problems: list[Diagnostic]) -> Any:
    """A JSON document, or None and a diagnostic."""
    try:
        return loads(bundle.read(name))[0]
    except BadJson as error:
        problems.append(Diagnostic(code=error.code, message=str(error), path=name, position=error.position))
    except OSError as error:
        problems.append(Diagnostic(code="record_skipped", message=str(error), path=name))
    return None


def read_lines(bundle: Bundle, name: str, problems: list[Diagnostic]) -> Iterator[Line]:
    """Records of a JSONL file, one at a time; a bad line is reported with its number and left out."""
    number = 0
    with bundle.open(name) as file:
        for number, text in enumerate(file, start=1):
            if not text.strip():
                continue
            try:
                yield Line(number, loads(text)[0])
            except BadJson as error:
                last = not text.endswith(b"\n")
                code = "truncated_file" if last else "invalid_json"
                problems.append(
                    Diagnostic(code=code, message=str(error), path=name, position=f"line {number}")
                )
    if number == 0:
        problems.append(Diagnostic(code="empty_file", message="the file is empty", path=name))


def drain(problems: list[Diagnostic]) -> Iterator[Diagnostic]:
    """Hand over the diagnostics so far."""
    yield from problems
    problems.clear()


def stem(name: str) -> str:
    """A file's name without folders and extension."""
    return PurePosixPath(name).name.split(".")[0] or name


def inclusive_usage(usage: Any) -> Usage | None:
    """Usage whose input tokens include the cached ones: OpenAI (both APIs), ATIF, Codex, Gemini."""
    if not isinstance(usage, dict):
        return None
    details = _first(usage, "prompt_tokens_details", "input_tokens_details") or {}
    cached = _count(usage, "cached_tokens", "cached_input_tokens", "cached")
    cached = _count(details, "cached_tokens") if cached is None else cached
    read = Usage(tokens_cache_read=cached)
    total = _count(usage, "prompt_tokens", "input_tokens", "input")
    read.tokens_input = None if total is None else max(0, total - (cached or 0))
    read.tokens_output = _count(usage, "completion_tokens", "output_tokens", "output")
    details = _first(usage, "completion_tokens_details", "output_tokens_details") or {}
    read.tokens_reasoning = _count(details, "reasoning_tokens")
    if read.tokens_reasoning is None:
        read.tokens_reasoning = _count(usage, "reasoning_output_tokens", "thoughts")
    read.cost = finite(_first(usage, "cost_usd", "cost", "total_cost"))
    return read


def exclusive_usage(usage: Any) -> Usage | None:
    """Usage whose input tokens exclude the cached ones: Anthropic, Inspect."""
    if not isinstance(usage, dict):
        return None
    return Usage(
        tokens_input=whole(usage.get("input_tokens")),
        tokens_cache_read=_count(usage, "cache_read_input_tokens", "input_tokens_cache_read"),
        tokens_cache_write=_count(usage, "cache_creation_input_tokens", "input_tokens_cache_write"),
        tokens_output=whole(usage.get("output_tokens")),
        tokens_reasoning=whole(usage.get("reasoning_tokens")),
        cost=finite(_first(usage, "total_cost", "cost")),
    )


def _first(mapping: Mapping[str, Any], *names: str) -> Any:
    for name in names:
        value = mapping.get(name)
        if value is not None:
            return value
    return None


def _count(mapping: Any, *names: str) -> int | None:
    return whole(_first(mapping, *names)) if isinstance(mapping, dict) else None
