"""One definition per column: records, tables and JSON Schema say the same."""

from __future__ import annotations

import dataclasses
import json

import pytest

from mnistpro_replay.schemas import SCHEMA_VERSION, TABLES, json_schema
from mnistpro_replay.schemas.enums import DIAGNOSTICS, REASONS
from mnistpro_replay.schemas.tables import RECORDS
from mnistpro_replay.traces.arrow import arrow_schema


@pytest.mark.parametrize("name", TABLES)
def test_every_column_is_described_typed_and_unique(name: str) -> None:
    columns = TABLES[name].columns
    names = [column.name for column in columns]
    assert len(names) == len(set(names))
    assert all(column.doc and not column.doc.endswith(".") for column in columns)
    assert arrow_schema(name).names == names
    fields = {f.name for f in dataclasses.fields(RECORDS[name]) if "doc" in f.metadata}
    assert fields <= set(names)


def test_json_schema_is_the_same_definition() -> None:
    schema = json.loads(json.dumps(json_schema()))
    assert schema["version"] == SCHEMA_VERSION
    assert set(schema["$defs"]) == set(TABLES)
    steps = schema["$defs"]["steps"]
    assert steps["properties"]["action_kind"]["enum"] == ["move", "answer", "look", "invalid", "unknown"]
    assert "[px]" in steps["properties"]["window_before"]["description"]
    assert steps["properties"]["window_before"]["type"] == ["array", "null"]
    assert "step" in steps["required"] and "thought" not in steps["required"]


def test_unknown_column_is_a_key_error() -> None:
    assert TABLES["steps"].column("shown").type == "bool"
    with pytest.raises(KeyError, match="no column"):
        TABLES["steps"].column("nothing")


def test_closed_lists_are_told() -> None:
    assert all(text and not text.endswith(".") for text in {**DIAGNOSTICS, **REASONS}.values())
