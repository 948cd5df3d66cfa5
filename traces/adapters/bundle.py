"""Files of one source as adapters see them: names relative to a root, bytes on demand."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Protocol

from ...schemas import SourceFile


class Bundle(Protocol):
    """A folder or a single file.

    `name` is the folder's or file's own name. `names()` lists the files that make up the source; `read` and
    `open` also reach files beside them (pictures of a transcript) by a path relative to the same root.
    """

    name: str

    def names(self) -> Sequence[str]:
        """Relative paths with `/`, sorted."""
        ...

    def read(self, name: str) -> bytes:
        """Bytes of a file; FileNotFoundError without it."""
        ...

    def open(self, name: str) -> BinaryIO:
        """A file opened for streaming; FileNotFoundError without it."""
        ...


class FolderBundle:
    """A folder on disk."""

    def __init__(self, root: Path, names: Sequence[str] | None = None, name: str | None = None) -> None:
        self.root = root
        self.name = name if name is not None else root.name
        self._names = sorted(names) if names is not None else None
        self._real_root = os.path.realpath(root)
        self._inside: dict[str, bool] = {}

    def names(self) -> Sequence[str]:
        """Relative paths of all files below the folder."""
        if self._names is None:
            files = (path for path in self.root.rglob("*") if path.is_file())
            self._names = sorted(path.relative_to(self.root).as_posix() for path in files)
        return self._names

    def read(self, name: str) -> bytes:
        """Bytes of a file below the folder."""
        with open(self._path(name), "rb", buffering=0) as file:
            return file.read()

    def open(self, name: str) -> BinaryIO:
        """A file below the folder, opened for reading."""
        return open(self._path(name), "rb")

    def _path(self, name: str) -> str:
        # Resolving every path costs more than reading it: folders are resolved once, files only if links.
        path = os.path.join(self._real_root, name)
        folder = os.path.dirname(path)
        if folder not in self._inside:
            self._inside[folder] = self._is_inside(folder)
        if not self._inside[folder] or (os.path.islink(path) and not self._is_inside(path)):
            raise FileNotFoundError(f"{name} lies outside {self.name}")
        return path

    def _is_inside(self, path: str) -> bool:
        return Path(os.path.realpath(path)).is_relative_to(self._real_root)


def file_bundle(path: Path) -> FolderBundle:
    """A single file; its neighbours stay readable by relative path."""
    return FolderBundle(path.parent, [path.name], name=path.name)


class MemoryBundle:
    """Files held in memory; for tests and for sources that are no files."""

    def __init__(self, name: str, files: Mapping[str, bytes]) -> None:
        self.name = name
        self._files = files

    def names(self) -> Sequence[str]:
        """Names of the files."""
        return sorted(self._files)

    def read(self, name: str) -> bytes:
        """Bytes of a file."""
        try:
            return self._files[name]
        except KeyError as error:
            raise FileNotFoundError(name) from error

    def open(self, name: str) -> BinaryIO:
        """A file as a stream."""
        return io.BytesIO(self.read(name))


class RecordingBundle:
    """A bundle that remembers what was read from it, for the `sources` table."""

    def __init__(self, bundle: Bundle, adapter: str, adapter_version: int) -> None:
        self._bundle = bundle
        self._adapter = adapter
        self._version = adapter_version
        self.name = bundle.name
        self.sources: dict[str, SourceFile] = {}

    def names(self) -> Sequence[str]:
        """Names of the wrapped bundle."""
        return self._bundle.names()

    def read(self, name: str) -> bytes:
        """Bytes of a file, remembered with size and digest."""
        data = self._bundle.read(name)
        self._remember(name, len(data), hashlib.sha256(data).hexdigest())
        return data

    def open(self, name: str) -> BinaryIO:
        """A file opened for streaming; digested in a pass of its own."""
        with self._bundle.open(name) as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
            size = file.tell()
        self._remember(name, size, digest)
        return self._bundle.open(name)

    def _remember(self, name: str, size: int, sha256: str) -> None:
        self.sources[name] = SourceFile(
            path=name, size=size, sha256=sha256, adapter=self._adapter, adapter_version=self._version
        )

    def digest(self) -> str:
        """Digest over everything read: the same files give the same one."""
        sources = self.sources.values()
        lines = sorted(f"{s.path}\0{s.sha256}\0{s.adapter}\0{s.adapter_version}" for s in sources)
        return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()
