"""What every command shares: global options, the store, output, and how errors are told."""

from __future__ import annotations

import fnmatch
import json
import os
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from ..schemas import Diagnostic
    from ..traces.store import Store
    from ..traces.world import Digits

CONFIG_NAME = "mnistpro-replay.toml"
DEFAULT_STORE = "mnistpro-store"


class UsageError(Exception):
    """The call itself is wrong: exit status 2."""


class NotHeld(Exception):
    """Done, but something asked for was not there or did not hold: exit status 1."""


@dataclass
class Globals:
    """Options that are accepted before and after the command."""

    store: str | None = None
    config: Path | None = None
    json: bool = False
    quiet: bool = False
    verbose: bool = False
    settings: dict[str, Any] = field(default_factory=dict)


OPTIONS = Globals()


def take_globals(arguments: Sequence[str]) -> list[str]:
    """Move the global options out of a command line, wherever they stand before a `--`, into `OPTIONS`."""
    rest: list[str] = []
    words = iter(arguments)
    for word in words:
        name, joined, value = word.partition("=")
        if word == "--":
            return [*rest, word, *words]
        if name in ("--store", "--config"):
            value = value if joined else next(words, "")
            if not value:
                raise UsageError(f"{name} needs a value")
            setattr(OPTIONS, name[2:], Path(value) if name == "--config" else value)
        elif word in ("--json", "-q", "--quiet", "-v", "--verbose"):
            setattr(OPTIONS, {"-q": "quiet", "-v": "verbose"}.get(word, word[2:]), True)
        else:
            rest.append(word)
    return rest


def load_config() -> dict[str, Any]:
    """The configuration file: the one given, else the nearest upwards, else the user's; empty without any."""
    if not OPTIONS.settings:
        OPTIONS.settings = _read_config() or {"": {}}
    return OPTIONS.settings


def _read_config() -> dict[str, Any]:
    if OPTIONS.config:
        if not OPTIONS.config.is_file():
            raise UsageError(f"no configuration file {OPTIONS.config}")
        return _parse(OPTIONS.config)
    here = Path.cwd()
    user = Path(os.environ.get("XDG_CONFIG_HOME", Path.home() / ".config")) / "mnistpro-replay"
    for folder in (here, *here.parents, user):
        if (folder / CONFIG_NAME).is_file():
            return _parse(folder / CONFIG_NAME)
    return {}


def _parse(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {error}") from error


def store_path() -> str:
    """Where the store is."""
    return OPTIONS.store or os.environ.get("MNISTPRO_REPLAY_STORE") or DEFAULT_STORE


def open_store(*, create: bool = False) -> Store:
    """The store; StoreError where there is none."""
    from ..traces.store import Store

    return Store(store_path(), create=create)


def open_store_for(traces: Sequence[str]) -> Store:
    """The store, made where it is not there and one of `traces` is raw logs to be ingested on the way."""
    aliases = load_config().get("traces", {})
    raw = any(
        Path(trace.partition("#")[0]).exists() or trace.partition("#")[0] in aliases for trace in traces
    )
    return open_store(create=raw)


def digits_from(path: Path | None) -> Digits:
    """The user's digits, or the embedded sample."""
    from ..traces.world import embedded, load

    if path is None:
        return embedded()
    try:
        return load(path)
    except (FileNotFoundError, ValueError) as error:
        raise UsageError(str(error)) from error


@dataclass(frozen=True)
class Selection:
    """A run of the store, and the source ids of its chosen episodes (None for all)."""

    run: str
    ids: list[str] | None


def select(store: Store, traces: Sequence[str]) -> list[Selection]:
    """Runs that `--traces` names: a run or glob with `#ids`, an alias, or a path that is ingested on the way.

    Raises:
        UsageError: where nothing of that name is there.
    """
    names = store.runs()["run"].to_list()
    if not names and not traces:
        raise UsageError(f"the store at {store.path} holds no run; `mnistpro-replay ingest PATH` brings some")
    found = [selection for trace in traces or ["*"] for selection in _select(store, trace, names)]
    merged: dict[str, Selection] = {}
    for selection in found:
        before = merged.get(selection.run)
        ids = (
            None
            if selection.ids is None or (before and before.ids is None)
            else [*(before.ids or [] if before else []), *selection.ids]
        )
        merged[selection.run] = Selection(selection.run, ids)
    return list(merged.values())


def _select(store: Store, trace: str, names: list[str]) -> Iterator[Selection]:
    pattern, ids = trace, None
    if trace not in names and "#" in trace:
        pattern, _, listed = trace.rpartition("#")
        ids = [part.strip() for part in listed.split(",") if part.strip()]
        if not ids:
            raise UsageError(f"{trace!r} selects no episode; write RUN#17 or RUN#3,5,9")
    alias = load_config().get("traces", {}).get(pattern)
    if isinstance(alias, dict):
        pattern = str(alias.get("path") or alias.get("run") or pattern)
    matching = [pattern] if pattern in names else [n for n in names if fnmatch.fnmatchcase(n, pattern)]
    if not matching and Path(pattern).exists():
        matching = _ingest(store, Path(pattern))
    if not matching:
        raise UsageError(f"no run {pattern!r} in {store.path}; `mnistpro-replay runs` lists what is there")
    for name in matching:
        if ids is not None:
            _check_ids(store, name, ids)
        yield Selection(name, ids)


def _ingest(store: Store, path: Path) -> list[str]:
    from ..traces.ingest import ingest
    from ..traces.world import embedded

    return [run.run for run in ingest(store, [path], embedded()).runs]


def _check_ids(store: Store, run: str, ids: list[str]) -> None:
    import polars as pl

    rows = store.scan("episodes").filter(pl.col("run") == run).select("source_episode_id").collect()
    unknown = sorted(set(ids) - set(rows["source_episode_id"]))
    if unknown:
        raise UsageError(f"run {run!r} has no episode {', '.join(unknown)}")


def console(*, error: bool = False) -> Console:
    """A console on stdout or stderr, at least 100 columns wide where it is no terminal."""
    from rich.console import Console

    stream = sys.stderr if error else sys.stdout
    width = None if stream.isatty() else int(os.environ.get("COLUMNS", 120))
    return Console(stderr=error, width=width, highlight=False, soft_wrap=False)


def emit(payload: Any) -> None:
    """One JSON document on stdout; what is not finite becomes null."""
    sys.stdout.write(json.dumps(_plain(payload), ensure_ascii=True, default=str) + "\n")


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):
        return _plain(value.item())
    return value


def say(text: str) -> None:
    """A line for people: on stdout, or on stderr beside `--json`; nothing with `-q`."""
    if not OPTIONS.quiet:
        console(error=OPTIONS.json).print(text, markup=False, soft_wrap=True)


def warn(text: str) -> None:
    """A line on stderr."""
    console(error=True).print(text, markup=False, soft_wrap=True)


def show_table(
    rows: Sequence[dict[str, Any]],
    columns: dict[str, str],
    *,
    title: str | None = None,
    right: Iterable[str] = (),
    blank: str = "–",
) -> None:
    """Print rows as an aligned table.

    Args:
        rows: values by key; what is null or missing shows as `blank`.
        columns: headings by key, in order.
        title: line above the table.
        right: keys of the right-aligned columns, which are never broken.
        blank: what stands for nothing.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=title,
        box=box.SIMPLE_HEAD,
        title_justify="left",
        title_style="bold",
        pad_edge=False,
        show_edge=False,
    )
    for key, heading in columns.items():
        table.add_column(
            heading, justify="right" if key in right else "left", overflow="fold", no_wrap=key in right
        )
    for row in rows:
        table.add_row(*(Text(blank if row.get(key) is None else cell(row[key])) for key in columns))
    console(error=OPTIONS.json).print(table)


def cell(value: Any) -> str:
    """A value as a table cell."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)


def percent(value: float | None, interval: Sequence[float | None] | None = None) -> str:
    """A fraction as percent, with its interval where there is one."""
    if value is None:
        return "–"
    bounds = [f"{100 * bound:.1f}" for bound in interval or () if bound is not None]
    return f"{100 * value:.1f}" + (f" [{', '.join(bounds)}]" if len(bounds) == 2 else "")


@contextmanager
def progress(title: str) -> Iterator[Progress]:
    """A progress bar on stderr, where that is a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    quiet = OPTIONS.quiet or not sys.stderr.isatty()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(error=True), transient=True, disable=quiet) as bar:
        bar.add_task(title, total=None)
        yield bar


@contextmanager
def counting(title: str) -> Iterator[Callable[[int, int], None]]:
    """The same for work that says how much is done: a function of done and total."""
    with progress(title) as bar:
        yield lambda done, total: bar.update(bar.task_ids[0], completed=done, total=total)


def show_diagnostics(diagnostics: Sequence[Diagnostic], *, limit: int = 20) -> None:
    """Diagnostics on stderr: one line each, the many alike counted."""
    from collections import Counter

    counts = Counter(problem.code for problem in diagnostics)
    shown: Counter[str] = Counter()
    for problem in diagnostics:
        shown[problem.code] += 1
        if shown[problem.code] > 3 and not OPTIONS.verbose:
            continue
        if sum(shown.values()) > limit and not OPTIONS.verbose:
            break
        where = ":".join(part for part in (problem.path, problem.position) if part)
        episode = f" episode {problem.episode_id}" if problem.episode_id is not None else ""
        warn(f"  {problem.code}{episode}{' ' + where if where else ''}: {problem.message}")
    more = sum(counts.values()) - sum(min(count, 3) for count in counts.values())
    if more > 0 and not OPTIONS.verbose:
        warn(f"  ... and {more} more of the same kinds (-v shows all)")


def stop(message: str, status: int) -> NoReturn:
    """End the program with one line on stderr."""
    warn(f"mnistpro-replay: {message}")
    raise SystemExit(status)
