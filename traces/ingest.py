"""Raw logs into the store: find runs under a path, read each, lose nothing that can be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import polars as pl

from ..schemas import Diagnostic, Run
from .adapters import Adapter, FolderBundle, Item, RecordingBundle, adapter, detect
from .store import RunExists, RunWriter, Store
from .world.digits import Digits


class Found(NamedTuple):
    """A source: the adapter that knows it, and its files."""

    adapter: Adapter
    bundle: FolderBundle


class IngestedRun(NamedTuple):
    """What became of one run."""

    run: str
    episodes: int
    steps: int
    diagnostics: list[Diagnostic]
    unchanged: bool


@dataclass
class Report:
    """What an ingest did."""

    runs: list[IngestedRun] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def all_diagnostics(self) -> list[Diagnostic]:
        """Diagnostics of the call and of every run."""
        return [*self.diagnostics, *(problem for run in self.runs for problem in run.diagnostics)]


class NothingFound(Exception):
    """A path without anything that an adapter knows."""


def discover(path: Path, formats: Sequence[str] | None = None) -> Iterator[Found | Diagnostic]:
    """Sources under a path: the path itself, else the runs and files below it.

    Yields:
        sources, and a diagnostic for each file that is recognised but refused.
    """
    if path.is_file():
        yield from _discover_file(path, path.name, formats)
        return
    names = sorted(p.relative_to(path).as_posix() for p in path.rglob("*") if p.is_file())
    yield from _discover_folder(path, PurePosixPath("."), names, formats)


def _discover_folder(
    root: Path, at: PurePosixPath, names: list[str], formats: Sequence[str] | None
) -> Iterator[Found | Diagnostic]:
    label = root.name if str(at) == "." else f"{root.name}/{at}"
    bundle = FolderBundle(root / at, names, name=label)
    known = detect(bundle, formats) if names else None
    if known:
        yield Found(known, bundle)
        return
    folders: dict[str, list[str]] = {}
    for name in names:
        head, _, rest = name.partition("/")
        if rest:
            folders.setdefault(head, []).append(rest)
        else:
            yield from _discover_file(root / at / name, str(at / name), formats)
    for head, below in folders.items():
        yield from _discover_folder(root, at / head, below, formats)


def _discover_file(path: Path, label: str, formats: Sequence[str] | None) -> Iterator[Found | Diagnostic]:
    if path.suffix in (".pkl", ".pickle") or path.name.endswith(".pkl.gz"):
        yield Diagnostic(
            code="pickle_refused", message="pickle files run code when opened; export them", path=label
        )
        return
    bundle = FolderBundle(path.parent, [path.name], name=path.name)
    known = detect(bundle, formats)
    if known:
        yield Found(known, bundle)


def ingest(
    store: Store,
    paths: Sequence[Path],
    digits: Digits,
    *,
    name: str | None = None,
    format: str | Adapter | None = None,
    replace: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> Report:
    """Bring everything under `paths` into the store.

    Args:
        store: where to.
        paths: files or folders.
        digits: used to rebuild canvases.
        name: name of the run; a prefix where there are several.
        format: an adapter or its name, or None to find out by content.
        replace: whether a run of the same name from another source is replaced.
        progress: called with the name of each source.

    Raises:
        NothingFound: where no adapter knows anything under the paths, or nothing of it could be read.
        RunExists: where a name is taken by a run from another source.
    """
    report = Report()
    found = list(_sources(paths, format, report))
    if not found:
        raise NothingFound(
            _hint(report) or f"nothing under {', '.join(map(str, paths))} looks like a known format"
        )
    names = _Names(name, several=len(found) > 1)
    for source in found:
        progress(source.bundle.name)
        _ingest_source(store, source, digits, names, replace, report)
    if not report.runs:
        raise NothingFound(f"every record was skipped: {_hint(report) or 'there was none'}")
    return report


def _sources(paths: Sequence[Path], format: str | Adapter | None, report: Report) -> Iterator[Found]:
    if isinstance(format, Adapter):
        yield from (Found(format, _whole(path)) for path in paths)
        return
    nothing = True
    for path in paths:
        for item in discover(path, [format] if format else None):
            if isinstance(item, Diagnostic):
                report.diagnostics.append(item)
            else:
                nothing = False
                yield item
    if nothing and format:
        yield from (Found(adapter(format), _whole(path)) for path in paths)


def _hint(report: Report) -> str:
    return "; ".join(sorted({f"{d.path}: {d.message}" for d in report.diagnostics})[:3])


def _whole(path: Path) -> FolderBundle:
    return FolderBundle(path) if path.is_dir() else FolderBundle(path.parent, [path.name], name=path.name)


class _Names:
    """Names of the runs of one call: the user's, or a prefix before the source's own."""

    def __init__(self, name: str | None, several: bool) -> None:
        self._name, self._several = name, several
        self._given: Counter[str] = Counter()

    def give(self, own: str) -> str:
        base = own if self._name is None else f"{self._name}/{own}" if self._several else self._name
        self._given[base] += 1
        return base if self._given[base] == 1 else f"{base}~{self._given[base]}"


@dataclass
class _Open:
    """A run that is being written, and what was found wrong in it so far."""

    writer: RunWriter
    problems: list[Diagnostic] = field(default_factory=list)

    def take(self, item: Item) -> None:
        assert not isinstance(item, Run)
        if isinstance(item, Diagnostic):
            self.problems.append(item)
        self.writer.add(item)


def _ingest_source(
    store: Store, source: Found, digits: Digits, names: _Names, replace: bool, report: Report
) -> None:
    """Write the runs of a source; a reader that yields a run again goes on with it."""
    bundle = RecordingBundle(source.bundle, source.adapter.name, source.adapter.version)
    runs: dict[int, _Open] = {}
    current: _Open | None = None
    loose: list[Item] = []
    for item in source.adapter.read(bundle, digits):
        if isinstance(item, Run):
            if id(item) not in runs:
                item.run = names.give(item.run)
                runs[id(item)] = _Open(store.writer(item, "", replace=True))
            current = runs[id(item)]
            for early in loose:
                current.take(early)
            loose = []
        elif current is None:
            loose.append(item)
        else:
            current.take(item)
    report.diagnostics.extend(item for item in loose if isinstance(item, Diagnostic))
    for run in runs.values():
        report.runs.append(_finish(store, run.writer, bundle, run.problems, replace))


def _finish(
    store: Store, writer: RunWriter, bundle: RecordingBundle, problems: list[Diagnostic], replace: bool
) -> IngestedRun:
    """Commit a run, unless the store has it from the same source already."""
    digest, run = bundle.digest(), writer.run
    writer.source_digest = digest
    there = store.raw("runs").filter(pl.col("run") == run.run).collect().to_dicts()
    if there and there[0]["source_digest"] == digest:
        writer.abandon()
        return IngestedRun(run.run, there[0]["n_episodes"], there[0]["n_steps"], problems, unchanged=True)
    if there and not replace and not _grown(store, there[0], bundle):
        writer.abandon()
        raise RunExists(
            f"there is a run {run.run!r} already, from another source; --replace replaces it, "
            "--name gives another name"
        )
    if not writer.n_episodes and not any(problem.code == "empty_run" for problem in problems):
        code = "all_records_skipped" if problems else "empty_run"
        problem = Diagnostic(code=code, message="no episode could be read", path=bundle.name)
        problems.append(problem)
        writer.add(problem)
    for source in bundle.sources.values():
        writer.add(source)
    writer.commit()
    return IngestedRun(run.run, writer.n_episodes, writer.n_steps, problems, unchanged=False)


def _grown(store: Store, row: dict[str, object], bundle: RecordingBundle) -> bool:
    """Whether the source is the one that the store has, changed or grown: most of its files are the same."""
    old = store.raw("sources").filter(pl.col("ingest_id") == row["ingest_id"]).collect()
    known = dict(zip(old["path"], old["sha256"], strict=True))
    same = sum(known.get(path) == source.sha256 for path, source in bundle.sources.items())
    return bool(known) and 2 * same >= len(known)
