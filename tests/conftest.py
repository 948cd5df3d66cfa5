"""Fixtures that all rooms share."""

from __future__ import annotations

import io
import os
import sys
import tarfile
import zipfile
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from mnistpro_replay.analysis.metrics import ensure
from mnistpro_replay.cli import context
from mnistpro_replay.cli.main import main
from mnistpro_replay.traces.ingest import ingest
from mnistpro_replay.traces.store import Store
from mnistpro_replay.traces.world import embedded

REPOSITORY = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real run folders and published numbers; tests that need it skip without it."""
    folder = Path(os.environ.get("MNISTPRO_REPLAY_SHARED", REPOSITORY.parent / "shared"))
    if not (folder / "upstream").is_dir():
        pytest.skip("no shared folder beside the repository")
    return folder


@pytest.fixture(scope="session")
def upstream(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every archive of official run folders, unpacked: one folder `<state>__<run>/<run>` each."""
    root = tmp_path_factory.mktemp("upstream")
    for archive in sorted((shared / "upstream").glob("*.tar.xz")):
        with tarfile.open(archive) as tar:
            tar.extractall(root / archive.name.removesuffix(".tar.xz"), filter="data")
    return root


@pytest.fixture(scope="session")
def sample_folders(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """The two bundled official run folders, by number of digits."""
    root = tmp_path_factory.mktemp("sample")
    archive = files("mnistpro_replay.traces.adapters.mnistpro") / "sample.zip"
    with zipfile.ZipFile(io.BytesIO(archive.read_bytes())) as zipped:
        zipped.extractall(root)
    return {2 if folder.name.startswith("multidigit_2") else 1: folder for folder in root.iterdir()}


@pytest.fixture(scope="session")
def sample_store(sample_folders: dict[int, Path], tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store with the bundled runs as `l1` and `l2`. Do not write to it."""
    store = Store(tmp_path_factory.mktemp("store"), create=True)
    for level, folder in sample_folders.items():
        ingest(store, [folder], embedded(), name=f"l{level}")
    return store


@pytest.fixture
def rng() -> np.random.Generator:
    """A seeded generator."""
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def upstream_store(upstream: Path, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store with every official run folder, under its own name, metrics derived. Do not change its runs."""
    store = Store(tmp_path_factory.mktemp("upstream_store"), create=True)
    ingest(store, [upstream], embedded())
    ensure(store, store.runs()["run"].to_list())
    return store


class Result(NamedTuple):
    """What a command did."""

    status: int
    out: str
    err: str


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Run a command line in this process."""

    def run(*arguments: object) -> Result:
        for name, value in vars(context.Globals()).items():
            setattr(context.OPTIONS, name, value)
        monkeypatch.setattr(sys, "argv", ["mnistpro-replay", *map(str, arguments)])
        try:
            main()
            status = 0
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else int(bool(stop.code))
        return Result(status, *capsys.readouterr())

    return run
