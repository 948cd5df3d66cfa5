"""A mapping file: where in a user's rows the fields of the canonical trace are."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping as AnyMapping
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..facts import NAMES
from .paths import find, parse

KINDS = ("jsonl", "json", "csv", "parquet")
ROWS = ("episode", "step")
RUN_FIELDS = (
    "run model agent memory horizon turn_mode harness arm window stride panel n_panels draw_border t_max seed"
).split()
EPISODE_FIELDS = [name for name in NAMES if name not in RUN_FIELDS] + ["start_image"]
_NUMBERS = (
    "digit_indices start windows window stride panel n_panels draw_border t_max seed horizon repeat success "
    "control_success execution_position reward valid"
).split()
STEP_FIELDS = (
    "action direction answer window image image_before thought reply reward valid number time".split()
)


class MappingError(ValueError):
    """A mapping file that is none; the message says where and what to write."""


@dataclass
class Mapping:
    """A mapping, read and checked.

    Args:
        kind: how rows are stored.
        rows: what a row is.
        records: path to the rows in a JSON document.
        steps: path to the steps of an episode's row.
        run: constants or paths by field of the run.
        episode: the same for the episode.
        step: the same for a step.
        values: translations by field: the user's value to ours.
    """

    kind: str
    rows: str
    records: list[str | int] | None = None
    steps: list[str | int] | None = None
    run: dict[str, Any] = field(default_factory=dict)
    episode: dict[str, Any] = field(default_factory=dict)
    step: dict[str, Any] = field(default_factory=dict)
    values: dict[str, dict[str, Any]] = field(default_factory=dict)

    def get(self, table: dict[str, Any], row: Any) -> dict[str, Any]:
        """The fields of one table for one row, translated, those without a value left out."""
        found = {}
        for name, rule in table.items():
            value = _apply(rule, row)
            translated = self.values.get(name, {}).get(str(value), value)
            if translated is not None:
                found[name] = _number(translated) if name in _NUMBERS else translated
        return found


def _number(value: Any) -> Any:
    """Text of a number as the number: CSV has nothing but text."""
    if isinstance(value, list):
        return [_number(item) for item in value]
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _apply(rule: Any, row: Any) -> Any:
    """A constant, a parsed path, or a list of them (a pair of coordinates)."""
    if isinstance(rule, Where):
        return find(row, rule.parts)
    if isinstance(rule, list):
        values = [_apply(item, row) for item in rule]
        return None if None in values else values
    return rule


@dataclass(frozen=True)
class Where:
    """A parsed path, told from a constant."""

    parts: list[str | int]


def load(path: Path) -> Mapping:
    """Read a mapping file.

    Raises:
        MappingError: naming the table and key that is wrong.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise MappingError(f"{path}: {error}") from error
    source = document.get("source", {})
    kind, rows = source.get("kind"), source.get("rows", "episode")
    if kind not in KINDS or rows not in ROWS:
        raise MappingError(
            f"{path}: [source] needs kind = one of {', '.join(KINDS)} and rows = episode or step"
        )
    if rows == "step" and "source_episode_id" not in document.get("episode", {}):
        raise MappingError(
            f'{path}: with rows = "step", [episode] source_episode_id says which rows belong together'
        )
    return Mapping(
        kind,
        rows,
        _path(source.get("records"), path),
        _path(source.get("steps"), path),
        _table(document, "run", RUN_FIELDS, path),
        _table(document, "episode", EPISODE_FIELDS, path),
        _table(document, "step", STEP_FIELDS, path),
        {
            name: dict(table)
            for name, table in document.get("values", {}).items()
            if isinstance(table, AnyMapping)
        },
    )


def _path(value: Any, path: Path) -> list[str | int] | None:
    if value is None:
        return None
    try:
        return parse(str(value))
    except ValueError as error:
        raise MappingError(f"{path}: [source] {error}") from error


def _table(document: dict[str, Any], name: str, known: Sequence[str], path: Path) -> dict[str, Any]:
    rules = {}
    for key, rule in document.get(name, {}).items():
        if key not in known:
            raise MappingError(f"{path}: [{name}] has no field {key!r}; there are {', '.join(known)}")
        try:
            rules[key] = _rule(rule)
        except ValueError as error:
            raise MappingError(f"{path}: [{name}] {key}: {error}") from error
    return rules


def _rule(rule: Any) -> Any:
    if isinstance(rule, str) and rule.startswith("$"):
        return Where(parse(rule))
    return [_rule(item) for item in rule] if isinstance(rule, list) else rule
