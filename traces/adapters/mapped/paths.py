"""The JSON-path subset of mappings: `$.a.b`, `$.a[0]`, `$.a[*].b`, `$['a key']`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_PART = re.compile(r"\.([^.\[\]]+)|\[(\d+|\*)\]|\['([^']*)'\]")


def parse(path: str) -> list[str | int]:
    """The parts of a path; `*` stands for all items of a list.

    >>> parse("$.turns[*].pos[0]")
    ['turns', '*', 'pos', 0]

    Raises:
        ValueError: for text that is no path.
    """
    parts: list[str | int] = []
    at = 1
    while path.startswith("$") and at < len(path):
        match = _PART.match(path, at)
        if not match:
            break
        name, index, quoted = match.groups()
        parts.append(name or quoted or (index if index == "*" else int(index)))
        at = match.end()
    if not path.startswith("$") or at < len(path):
        raise ValueError(f"{path!r} is no path; write $.name, $.name[0], $.name[*] or $['a name']")
    return parts


def find(value: Any, parts: list[str | int]) -> Any:
    """What a path leads to: the value, a list of values for `*`, None where it leads nowhere."""
    for number, part in enumerate(parts):
        if part == "*":
            rest = parts[number + 1 :]
            return [find(item, rest) for item in value] if isinstance(value, list) else None
        if isinstance(part, int):
            value = value[part] if isinstance(value, list) and part < len(value) else None
        else:
            value = value.get(part) if isinstance(value, dict) else None
    return value


def leaves(value: Any, path: str = "$", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Paths to everything in a value that is no object; the items of a list of objects share theirs."""
    if isinstance(value, dict) and depth < 8:
        for name, item in value.items():
            step = f".{name}" if re.fullmatch(r"[^.\[\]'\s]+", str(name)) else f"['{name}']"
            yield from leaves(item, path + step, depth + 1)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for item in value[:200]:
            yield from leaves(item, path + "[*]", depth + 1)
    else:
        yield path, value
