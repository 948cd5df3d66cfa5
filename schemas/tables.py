"""Table definitions, derived from the records: one definition per column."""

from __future__ import annotations

import types
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from . import metrics, records
from .geometry import Point

SCHEMA_VERSION = 1
"""Version of the canonical trace; a store with a newer one is refused."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: name, type (a JSON-like type name), nullability, description, unit, allowed values."""

    name: str
    type: str
    nullable: bool
    doc: str
    unit: str | None = None
    values: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """One table: its columns in order, and what a row is."""

    name: str
    doc: str
    columns: tuple[Column, ...]

    def column(self, name: str) -> Column:
        """The column of that name; KeyError without one."""
        return next((c for c in self.columns if c.name == name), None) or _missing(self.name, name)


def _missing(table: str, name: str) -> Column:
    raise KeyError(f"table {table} has no column {name}")


_TYPES: dict[Any, str] = {
    str: "string",
    int: "int",
    float: "float",
    bool: "bool",
    bytes: "bytes",
    datetime: "time",
    Any: "json",
    Point: "list<int>",
    list[int]: "list<int>",
    list[float]: "list<float>",
    list[str]: "list<string>",
    list[int | None]: "list<int>",
    list[float | None]: "list<float>",
    list[Point]: "list<list<int>>",
    list[list[float]]: "list<list<float>>",
}

_STORED: dict[str, tuple[Column, ...]] = {
    "runs": (
        Column("source_digest", "string", False, "Digest of everything that was read"),
        Column("schema_version", "int", False, "Version of the canonical trace that wrote the row"),
        Column("n_episodes", "int", False, "Episodes in the run"),
        Column("n_steps", "int", False, "Steps in the run"),
        Column("ingested", "time", False, "When the run came into the store (UTC)"),
    ),
}
"""Columns that the store adds when it writes a row."""

INGEST_ID = Column("ingest_id", "string", False, "Key that ties the row to one ingest of one run")
EPISODE_ID = Column("episode_id", "string", False, "Episode that the row belongs to")

RECORDS: dict[str, type] = {
    "runs": records.Run,
    "episodes": records.Episode,
    "steps": records.Step,
    "step_texts": records.StepText,
    "attempts": records.Attempt,
    "tool_calls": records.ToolCall,
    "notes": records.Note,
    "canvases": records.Canvas,
    "images": records.Image,
    "diagnostics": records.Diagnostic,
    "sources": records.SourceFile,
    "predictions": records.PredictionRow,
    "inputs": records.InputRow,
    "episode_metrics": metrics.EpisodeMetrics,
    "step_metrics": metrics.StepMetrics,
}
EPISODE_CHILDREN = ("steps", "step_texts", "attempts", "tool_calls", "notes")
CONTENT_ADDRESSED = ("canvases", "images", "predictions")
"""Tables that are shared between runs and keyed by content, not by ingest."""


def _column(name: str, hint: Any, metadata: Any) -> Column:
    nullable = hint is Any
    if get_origin(hint) in (Union, types.UnionType):
        (hint,) = (h for h in get_args(hint) if h is not type(None))
        nullable = True
    values = get_args(hint) if get_origin(hint) is Literal else None
    return Column(
        name, "string" if values else _TYPES[hint], nullable, metadata["doc"], metadata["unit"], values
    )


def _table(name: str, cls: type) -> Table:
    hints = get_type_hints(cls)
    own = [_column(f.name, hints[f.name], f.metadata) for f in fields(cls) if "doc" in f.metadata]
    own.sort(key=lambda c: c.name.startswith("tokens_") or c.name == "cost")
    keys = () if name in CONTENT_ADDRESSED else (INGEST_ID,)
    if name in EPISODE_CHILDREN:
        keys = (*keys, EPISODE_ID)
    doc = (cls.__doc__ or "").splitlines()[0]
    return Table(name, doc, (*keys, *own, *_STORED.get(name, ())))


TABLES: dict[str, Table] = {name: _table(name, cls) for name, cls in RECORDS.items()}

_JSON_TYPES: dict[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "bytes": {"type": "string", "contentEncoding": "base64"},
    "time": {"type": "string", "format": "date-time"},
    "json": {},
}


def _json_type(column_type: str) -> dict[str, Any]:
    if column_type.startswith("list<"):
        return {"type": "array", "items": _json_type(column_type[5:-1])}
    return dict(_JSON_TYPES[column_type])


def _json_column(column: Column) -> dict[str, Any]:
    schema = _json_type(column.type)
    if column.nullable and "type" in schema:
        schema["type"] = [schema["type"], "null"]
    if column.values:
        schema["enum"] = [*column.values, *([None] if column.nullable else [])]
    schema["description"] = column.doc + (f" [{column.unit}]" if column.unit else "")
    return schema


def json_schema() -> dict[str, Any]:
    """The canonical trace as JSON Schema 2020-12: one definition per table, nullability and units included."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "mnistpro-replay canonical trace",
        "version": SCHEMA_VERSION,
        "$defs": {
            table.name: {
                "description": table.doc,
                "type": "object",
                "properties": {c.name: _json_column(c) for c in table.columns},
                "required": [c.name for c in table.columns if not c.nullable],
            }
            for table in TABLES.values()
        },
    }
