"""Inspect logs to canonical records, one sample at a time."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from typing import Any

from ....schemas import Diagnostic
from ....schemas.extras import MissingExtra
from ...world.digits import Digits
from ..bundle import Bundle
from ..facts import gather
from ..json_text import BadJson, as_text, loads
from ..settle import Item, Runs
from ..transcripts import drain, head, read_json, stem
from .archive import Archive
from .chunks import put_together, sample_members
from .sample import read_sample

VERSION = 2

_NEWEST = 3


def read(bundle: Bundle, digits: Digits) -> Iterator[Item]:
    """Records of one log.

    Args:
        bundle: an `.eval` or `.json` file; pictures that it names by path lie beside it.
        digits: used to rebuild canvases.
    """
    runs, problems = Runs(stem(bundle.name), "inspect", digits), []
    for name in bundle.names():
        is_zip = head(bundle, name, 4) == b"PK\x03\x04"
        log = _ZipLog(bundle, name, problems) if is_zip else _JsonLog(bundle, name, problems)
        for sample in log.samples():
            draft = read_sample(sample, log.facts, bundle, name)
            draft.version = log.version
            yield from drain(problems)
            yield from runs.items(draft)
        log.check()
    yield from drain(problems)


class _Log:
    header: Mapping[str, Any]

    def __init__(self, bundle: Bundle, name: str, problems: list[Diagnostic]) -> None:
        self.bundle, self.name, self.problems = bundle, name, problems
        self.header = {}

    def note(self, code: str, message: str, position: str | None = None) -> None:
        problem = Diagnostic(code=code, message=message[:300], path=self.name, position=position)
        self.problems.append(problem)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What the header says of task and model, for every sample."""
        spec = self.header.get("eval")
        if not isinstance(spec, dict):
            return {}
        # The task's own name for an agent is no statement about the agent that acted.
        facts = gather(spec.get("metadata"), spec.get("task_args"))
        named = {"run": spec.get("task"), "model": spec.get("model"), "created": spec.get("created")}
        config = spec.get("model_generate_config") or self.header.get("plan", {}).get("config")
        return {k: v for k, v in named.items() if v is not None} | {"settings": config or None} | facts

    @cached_property
    def version(self) -> str | None:
        """Version of the log format, and of Inspect where it is told."""
        spec = self.header.get("eval")
        packages = spec.get("packages") if isinstance(spec, dict) else None
        program = as_text(packages.get("inspect_ai")) if isinstance(packages, dict) else None
        return " ".join(
            filter(None, (as_text(self.header.get("version")), program and f"inspect_ai {program}"))
        )

    def check(self) -> None:
        """Report a version from the future, and a run that did not finish."""
        version = self.header.get("version")
        if isinstance(version, int) and version > _NEWEST:
            self.note(
                "unknown_version", f"log version {version} is newer than this reader; upgrade mnistpro-replay"
            )
        if self.header.get("status") in ("started", "cancelled", "error"):
            self.note("run_incomplete", f"the log's status is {self.header['status']!r}")

    def samples(self) -> Iterator[dict[str, Any]]:
        raise NotImplementedError


class _JsonLog(_Log):
    def samples(self) -> Iterator[dict[str, Any]]:
        document = read_json(self.bundle, self.name, self.problems)
        if not isinstance(document, dict):
            return
        self.header = document
        for number, sample in enumerate(document.get("samples") or []):
            if isinstance(sample, dict):
                yield sample
            else:
                self.note("record_skipped", "a sample that is no object", f"samples[{number}]")


class _ZipLog(_Log):
    def samples(self) -> Iterator[dict[str, Any]]:
        with self.bundle.open(self.name) as file:
            try:
                archive = Archive(file)
            except zipfile.BadZipFile as error:
                self.note("truncated_file", f"the zip has no directory, it was cut off: {error}")
                return
            self._read_header(archive)
            for name in archive.duplicates:
                self.note("duplicate_record", "the sample was written again; the last one was taken", name)
            for member in sample_members(archive.names()):
                if isinstance(member, str):
                    sample = self._member(archive, member)
                else:
                    sample = put_together(member, partial(self._member, archive))
                if isinstance(sample, dict):
                    yield sample
                elif sample is not None or not isinstance(member, str):
                    self.note("record_skipped", "a sample that is no object, or without its shell")

    def _read_header(self, archive: Archive) -> None:
        if "header.json" in archive.names():
            self.header = self._member(archive, "header.json") or {}
            return
        self.note("run_incomplete", "no header: the run was cut off")
        if "_journal/start.json" in archive.names():
            self.header = self._member(archive, "_journal/start.json") or {}

    def _member(self, archive: Archive, name: str) -> Any:
        try:
            return loads(archive.read(name))[0]
        except BadJson as error:
            self.note(error.code, str(error), f"{name} {error.position or ''}".strip())
        except MissingExtra as error:
            self.note("not_supported", str(error), name)
        except (zipfile.BadZipFile, OSError, ValueError) as error:
            self.note("record_skipped", f"damaged member: {error}", name)
        except Exception as error:
            self.note("record_skipped", f"damaged member: {type(error).__name__}: {error}", name)
        return None
