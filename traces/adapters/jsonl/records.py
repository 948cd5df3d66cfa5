"""Canonical records to plain JSON and back."""

from __future__ import annotations

import base64
from dataclasses import fields
from datetime import datetime
from functools import cache
from typing import Any, TypeVar

from ....schemas.tables import RECORDS, TABLES
from ..facts import read_time

T = TypeVar("T")


def to_plain(record: Any) -> dict[str, Any]:
    """A record as a JSON object: its columns by name, times as ISO text, bytes as base64; child lists left out."""
    names = _columns(type(record))
    return {name: _plain(getattr(record, name)) for name in names}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def from_plain(cls: type[T], values: Any) -> T:
    """A record from a JSON object; unknown names are ignored.

    Raises:
        ValueError: where a required column is missing or the value is no object.
    """
    if not isinstance(values, dict):
        raise ValueError(f"a {cls.__name__} is no object")
    types = _columns(cls)
    given = {name: _typed(types[name], value) for name, value in values.items() if name in types}
    try:
        return cls(**given)
    except TypeError as error:
        raise ValueError(f"{cls.__name__}: {error}") from error


def _typed(kind: str, value: Any) -> Any:
    if value is None:
        return None
    if kind == "point":
        return tuple(value)
    if kind == "list<list<int>>":
        return [tuple(item) for item in value]
    if kind == "time":
        return read_time(value)
    return base64.b64decode(value) if kind == "bytes" else value


@cache
def _columns(cls: type) -> dict[str, str]:
    """Type of each column that is a field of the record, by name."""
    table = next(TABLES[name] for name, record in RECORDS.items() if record is cls)
    names = {field.name for field in fields(cls)}
    return {
        column.name: "point" if column.type == "list<int>" and column.unit == "px" else column.type
        for column in table.columns
        if column.name in names
    }
