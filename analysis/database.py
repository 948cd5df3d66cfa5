"""DuckDB views over the live rows of a store, for tables, the dashboard and the user's own queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import Any

import duckdb
import polars as pl
from deltalake import DeltaTable

from ..schemas import TABLES
from ..schemas.metrics import Posterior
from ..schemas.tables import CONTENT_ADDRESSED
from ..traces.arrow import arrow_schema
from ..traces.store import Store
from . import sql
from .metrics import DERIVED, ensure, is_current

Selected = tuple[str, Sequence[str] | None]
"""A run, and the source ids of its chosen episodes (None for all)."""

_IN_VIEWS_SQL = ("runs", "episodes", "episode_metrics", "step_metrics")
_NOT_COPIED = ("images", "step_texts", "canvases")


class QueryError(Exception):
    """A query that is refused or wrong; the message says why."""


def sql_file(name: str) -> str | None:
    """The text of `sql/NAME.sql`; None where there is no such file."""
    path = files(sql) / f"{name}.sql"
    return path.read_text() if name.replace("_", "").isalnum() and path.is_file() else None


class Database:
    """A read-only picture of a store at the moment of opening; open another to see what came later.

    Args:
        store: where traces and metrics are.
        selected: runs and episodes that the views hold; all of them by default.
        posterior: derive metrics first where they are missing, with the reference reader after `last` or `each`
            shown glimpse, or `none`; None derives nothing.
        progress: called with episodes derived and to derive.

    Each thread takes what it needs through `query`, which uses a cursor of its own.
    """

    def __init__(
        self,
        store: Store,
        selected: Sequence[Selected] | None = None,
        *,
        posterior: Posterior | None = "none",
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> None:
        self.store = store
        self.selected = [(run, None) for run in store.runs()["run"]] if selected is None else list(selected)
        if posterior is not None:
            ensure(store, [run for run, _ in self.selected], posterior, progress=progress)
        self._connection = duckdb.connect(":memory:")
        paths = [path for name in TABLES for path in self._add_raw(name)]
        self._select()
        self._connection.execute(sql_file("views") or "")
        for name in TABLES:
            if name not in _IN_VIEWS_SQL:
                self._connection.execute(_view(name))
        self._lock(paths)

    def _add_raw(self, name: str) -> list[str]:
        """Make `raw_NAME` of a table's files, or of a copy where DuckDB cannot read them; the files."""
        if not self.store.exists(name) or (name in DERIVED and not is_current(self.store, name)):
            self._copy(name, arrow_schema(name).empty_table())
            return []
        paths = self.store.files(name)
        if self.store.is_local and paths:
            self._connection.execute(f"CREATE VIEW raw_{name} AS FROM read_parquet({_list(paths)})")
            return paths
        rows = DeltaTable(self.store.uri(name)).to_pyarrow_dataset()
        self._copy(name, arrow_schema(name).empty_table() if name in _NOT_COPIED or not paths else rows)
        return []

    def _copy(self, name: str, rows: Any) -> None:
        self._connection.register("arriving", rows)
        self._connection.execute(f"CREATE TABLE raw_{name} AS FROM arriving")
        self._connection.unregister("arriving")

    def _select(self) -> None:
        chosen = [{"run": run, "everything": ids is None} for run, ids in self.selected]
        ids = [{"run": run, "source_episode_id": i} for run, some in self.selected for i in some or ()]
        runs = pl.DataFrame(chosen, {"run": pl.String, "everything": pl.Boolean})
        self._copy_frame("selected_runs", runs)
        self._copy_frame(
            "selected_episodes", pl.DataFrame(ids, {"run": pl.String, "source_episode_id": pl.String})
        )

    def _copy_frame(self, name: str, frame: pl.DataFrame) -> None:
        self._connection.register("arriving", frame)
        self._connection.execute(f"CREATE TABLE {name} AS FROM arriving")
        self._connection.unregister("arriving")

    def _lock(self, paths: Sequence[str]) -> None:
        """No files but the store's own, no extensions, no variables of this program, and no way back."""
        for setting in (
            f"allowed_paths = {_list(paths)}",
            "enable_external_access = false",
            "python_enable_replacements = false",
            "lock_configuration = true",
        ):
            self._connection.execute(f"SET {setting}")

    def query(self, statement: str, parameters: Mapping[str, Any] | None = None) -> pl.DataFrame:
        """Rows of a query on the views.

        Args:
            statement: one SELECT (also FROM, WITH, DESCRIBE, SHOW), or the name of a file in `analysis/sql`.
            parameters: values of `$name` in it.

        Raises:
            QueryError: for anything but one reading statement, and for SQL that does not run.
        """
        text = sql_file(statement) or statement
        cursor = self._connection.cursor()
        try:
            statements = cursor.extract_statements(text)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise QueryError("one SELECT at a time: the store is read-only here")
            return cursor.sql(text, params=dict(parameters or {}) or None).pl()
        except duckdb.Error as error:
            raise QueryError(str(error)) from error
        finally:
            cursor.close()


def _list(paths: Sequence[str]) -> str:
    return "[" + ", ".join("'" + path.replace("'", "''") + "'" for path in paths) + "]"


def _view(name: str) -> str:
    """A view of a table's live rows: those of selected runs and, below an episode, of selected episodes."""
    if name in CONTENT_ADDRESSED:
        return f"CREATE VIEW {name} AS FROM raw_{name}"
    columns = {column.name for column in TABLES[name].columns}
    if "episode_id" in columns and name != "diagnostics":
        keys, parent = "(ingest_id, episode_id)", "episodes"
    else:
        keys, parent = "(ingest_id)", "runs"
    return f"CREATE VIEW {name} AS SELECT p.run, c.* FROM raw_{name} c JOIN {parent} p USING {keys}"
