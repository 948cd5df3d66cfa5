"""Rows of JSONL, JSON, CSV and Parquet files, one at a time."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from ....schemas import Diagnostic
from ..bundle import Bundle
from ..transcripts import read_json, read_lines
from .mapping import Mapping
from .paths import find


def read_rows(bundle: Bundle, name: str, mapping: Mapping, problems: list[Diagnostic]) -> Iterator[Any]:
    """Rows of a file of the mapping's kind; empty CSV cells are left out."""
    if mapping.kind == "jsonl":
        yield from (line.value for line in read_lines(bundle, name, problems))
    elif mapping.kind == "json":
        document = read_json(bundle, name, problems)
        parts = [part for part in mapping.records or [] if part != "*"]
        rows = find(document, parts) if parts else document
        yield from rows if isinstance(rows, list) else [rows] if rows is not None else []
    elif mapping.kind == "csv":
        with bundle.open(name) as file:
            for row in csv.DictReader(io.TextIOWrapper(file, "utf-8-sig", newline="")):
                yield {
                    key: value for key, value in row.items() if key is not None and value not in (None, "")
                }
    else:
        yield from _parquet(bundle, name, problems)


def _parquet(bundle: Bundle, name: str, problems: list[Diagnostic]) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with bundle.open(name) as file:
            for batch in pq.ParquetFile(file).iter_batches(batch_size=256):
                yield from batch.to_pylist()
    except (pa.ArrowInvalid, OSError) as error:
        problems.append(
            Diagnostic(code="not_supported", message=f"not a Parquet file: {error}"[:300], path=name)
        )
