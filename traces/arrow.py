"""Records to Arrow and back. The one place that knows how the canonical types are stored."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

import pyarrow as pa

from ..schemas.tables import RECORDS, TABLES, Column, Table

T = TypeVar("T")

_TYPES = {
    "string": pa.string(),
    "int": pa.int64(),
    "float": pa.float64(),
    "bool": pa.bool_(),
    "bytes": pa.binary(),
    "time": pa.timestamp("us", tz="UTC"),
    "json": pa.string(),
    "list<int>": pa.list_(pa.int64()),
    "list<float>": pa.list_(pa.float64()),
    "list<string>": pa.list_(pa.string()),
    "list<list<int>>": pa.list_(pa.list_(pa.int64())),
    "list<list<float>>": pa.list_(pa.list_(pa.float64())),
}

# Arrow text is UTF-8 and cannot hold the lone surrogates that some models emit; they are kept in a private plane.
_TO_PLANE = {code: chr(code + 0x100000) for code in range(0xD800, 0xE000)}
_FROM_PLANE = {ord(char): chr(code) for code, char in _TO_PLANE.items()}
_PLANE_START, _PLANE_END = chr(0x10D800), chr(0x10DFFF)


@cache
def arrow_schema(table: str) -> pa.Schema:
    """Arrow schema of a table, descriptions as field metadata."""
    return pa.schema([_field(column) for column in TABLES[table].columns])


def _field(column: Column) -> pa.Field:
    return pa.field(column.name, _TYPES[column.type], column.nullable, {"description": column.doc})


def to_arrow(table: str, records: Sequence[Any], **constants: Any) -> pa.Table:
    """Rows of a table.

    Args:
        table: its name.
        records: dataclass instances, or (episode_id, record) pairs for tables below an episode.
        constants: columns that are the same in every row (ingest_id, ...).

    Raises:
        KeyError: where a record lacks a column.
    """
    definition = TABLES[table]
    names = [field.name for field in fields(RECORDS[table])]
    own = [column for column in definition.columns if column.name not in constants]
    if own and own[0].name == "episode_id" and "episode_id" not in names:
        rows = [(episode_id, *_values(own[1:])(record)) for episode_id, record in records]
    else:
        rows = [_values(own)(record) for record in records]
    columns = dict(zip((c.name for c in own), zip(*rows, strict=True), strict=True)) if rows else {}
    arrays = [
        _array(column, columns.get(column.name, ()))
        if column.name not in constants
        else pa.array([constants[column.name]] * len(rows), _TYPES[column.type])
        for column in definition.columns
    ]
    return pa.Table.from_arrays(arrays, schema=arrow_schema(table))


def _values(columns: Sequence[Column]) -> Any:
    return attrgetter(*(column.name for column in columns))


def _array(column: Column, values: Iterable[Any]) -> pa.Array:
    if column.type == "json":
        values = [None if v is None else json.dumps(v, ensure_ascii=False, default=str) for v in values]
    values = list(values)
    try:
        return pa.array(values, _TYPES[column.type])
    except UnicodeEncodeError:
        return pa.array([_store_text(value) for value in values], _TYPES[column.type])
    except (pa.ArrowInvalid, OverflowError):
        if column.type != "int":
            raise
        # Integers beyond 64 bits are no counts or sizes: the log's own text keeps them.
        return pa.array([v if v is None or -(2**63) <= v < 2**63 else None for v in values], pa.int64())


def _store_text(value: str | None) -> str | None:
    return value.translate(_TO_PLANE) if value else value


def _load_text(value: str) -> str:
    if any(_PLANE_START <= char <= _PLANE_END for char in value):
        return value.translate(_FROM_PLANE)
    return value


def from_rows(cls: type[T], table: Table, rows: Iterable[dict[str, Any]]) -> list[T]:
    """Records from rows of a table; columns that are no fields of the record are left out."""
    names = {field.name for field in fields(cls)}  # type: ignore[arg-type]
    columns = [(column.name, _loader(column)) for column in table.columns if column.name in names]
    return [cls(**{name: load(row[name]) for name, load in columns}) for row in rows]


def _loader(column: Column) -> Any:
    if column.type == "json":
        return lambda value: None if value is None else json.loads(_load_text(value))
    if column.type == "string":
        # isascii is a flag look-up: nearly every text leaves here.
        return lambda value: value if value is None or value.isascii() else _load_text(value)
    if column.type == "list<int>" and column.unit == "px":
        return lambda value: None if value is None else tuple(value)
    if column.type == "list<list<int>>":
        return lambda value: None if value is None else [tuple(item) for item in value]
    return lambda value: value
