"""Append-only journals: a JSON line per thing received, fsynced, so that a crash loses what was under way."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson


class Journal:
    """A file of JSON lines that only grows, held by one process at a time.

    Raises:
        BlockingIOError: where another process holds it.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._file = path.open("ab+")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._file.close()
            raise BlockingIOError(f"{path.name} is in use by another process") from error
        self._cut_torn_line()

    def _cut_torn_line(self) -> None:
        self._file.seek(0)
        data = self._file.read()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            self._file.truncate(whole)

    def append(self, *records: dict[str, Any]) -> None:
        """Write records and wait until they are on disk."""
        form = orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY
        self._file.writelines(orjson.dumps(record, option=form) for record in records)
        self._file.flush()
        os.fsync(self._file.fileno())

    def records(self) -> Iterator[dict[str, Any]]:
        """Everything written so far."""
        self._file.seek(0)
        for line in self._file:
            yield orjson.loads(line)

    def clear(self) -> None:
        """Forget everything: what it held has been committed elsewhere."""
        self._file.truncate(0)
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Let go of the file; an empty one is removed."""
        empty = os.fstat(self._file.fileno()).st_size == 0
        if empty:
            self.path.unlink(missing_ok=True)
        self._file.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
