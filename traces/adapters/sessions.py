"""Session files of coding agents: one file a session, one session an episode."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from ...schemas import Diagnostic
from ..world.digits import Digits
from .bundle import Bundle
from .content import Message, Opener
from .facts import gather
from .json_text import as_text
from .messages import draft_episode
from .settle import Item, Runs
from .transcripts import TRUTHS, Line, beside, drain, read_lines, stem


@dataclass
class Session:
    """One session: its id, messages, and what the file says beside them."""

    id: str
    messages: list[Message]
    facts: dict[str, Any] = field(default_factory=dict)
    version: str | None = None


@dataclass
class SessionFile:
    """One file while it is read."""

    name: str
    lines: Iterator[Line]
    open_file: Opener
    problems: list[Diagnostic]
    unknown: Counter[str] = field(default_factory=Counter)

    def note(self, code: str, message: str, line: int | None = None) -> None:
        """Record a diagnostic."""
        position = None if line is None else f"line {line}"
        self.problems.append(Diagnostic(code=code, message=message[:300], path=self.name, position=position))


Parser = Callable[[SessionFile], Iterator[Session]]


def read_sessions(bundle: Bundle, digits: Digits, adapter: str, parse: Parser) -> Iterator[Item]:
    """Records of session files.

    Args:
        bundle: the files; `episodes.jsonl` among them says what the transcripts do not (labels, digit indices).
        digits: used to rebuild canvases.
        adapter: name of the adapter, for the runs.
        parse: takes a file apart into sessions.
    """
    runs, problems = Runs(stem(bundle.name), adapter, digits), []
    truths = _read_truths(bundle, problems)
    for name in bundle.names():
        if PurePosixPath(name).name == TRUTHS or PurePosixPath(name).suffix not in (".jsonl", ".json", ""):
            continue
        lines = read_lines(bundle, name, problems)
        file = SessionFile(name, lines, beside(bundle, name), problems)
        for session in parse(file):
            truth = truths.get(session.id, truths.get(stem(name), {}))
            draft = draft_episode(session.messages, session.id, session.facts | truth, name)
            draft.episode.source_episode_id = as_text(truth.get("source_episode_id")) or session.id
            draft.version, draft.open_file = session.version, file.open_file
            yield from drain(problems)
            yield from runs.items(draft)
        if file.unknown:
            kinds = ", ".join(f"{count} {kind!r}" for kind, count in file.unknown.most_common(5))
            file.note("unknown_record", f"left out records of unknown types: {kinds}")
    yield from drain(problems)


def _read_truths(bundle: Bundle, problems: list[Diagnostic]) -> dict[str, dict[str, Any]]:
    """Facts by session id or file stem (`session`), else by `episode_id`."""
    truths = {}
    for name in bundle.names():
        if PurePosixPath(name).name != TRUTHS:
            continue
        for line in read_lines(bundle, name, problems):
            facts = gather(line.value)
            key = (
                line.value.get("session", facts.get("source_episode_id"))
                if isinstance(line.value, dict)
                else None
            )
            truths[str(key)] = facts
    return truths
