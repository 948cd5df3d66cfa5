"""Stance rules as data: a language's rules are a text file beside this module (`data/*.rules`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_DATA = Path(__file__).parent / "data"
_INDENT = 4
_NAMED = re.compile(r"\{(?:gap:(?P<gap>\d+)(?: (?P<also>\S+))?|(?P<name>[A-Z_]+))\}")


@dataclass(frozen=True)
class Rule:
    """One stance rule.

    Attributes:
        id: Name stored with every candidate that it decided.
        where: Which text around a mention is searched (`stance._around`).
        pattern: Compiled pattern; anchors are part of it.
        kind: A belief kind, or `negated`, `share`, `fragment`, `generic` (resolved in `stance`).
        strength: certain, likely or possible.
    """

    id: str
    where: str
    pattern: re.Pattern[str]
    kind: str
    strength: str


@dataclass(frozen=True)
class Grammar:
    """A language's rules in order of precedence, its clause boundary, and its rules for presupposed digits."""

    rules: tuple[Rule, ...]
    boundary: re.Pattern[str]
    definite: tuple[Rule, ...]


@cache
def grammar(language: str) -> Grammar:
    """Read the rules of a language, `english` or `chinese` (the format is explained in english.rules)."""
    fragments: dict[str, str] = {}
    tables: dict[str, list[Rule]] = {"rules": [], "definite": []}
    table = "rules"
    for head, body in _blocks(f"{language}.rules"):
        if head.startswith("== "):
            table = head[3:]
        elif head.startswith("use "):
            tables[table] += [rule for rule in tables["rules"] if rule.id in head.split()]
        elif head.startswith("@"):
            fragments[head[1:]] = _expand(body, fragments, language)
        else:
            name, where, kind, strength = head.split()
            pattern = re.compile(_expand(body, fragments, language), re.S)
            tables[table].append(Rule(name, where, pattern, kind, strength))
    return Grammar(tuple(tables["rules"]), re.compile(fragments["BOUNDARY"]), tuple(tables["definite"]))


@cache
def patterns(name: str) -> dict[str, re.Pattern[str]]:
    """Read a file of named patterns, `data/NAME.patterns`."""
    fragments: dict[str, str] = {}
    for head, body in _blocks(f"{name}.patterns"):
        fragments[head[1:]] = _expand(body, fragments, "english")
    return {key: re.compile(pattern) for key, pattern in fragments.items()}


def word_lists(name: str) -> dict[str, frozenset[str]]:
    """Read a file of word lists, `data/NAME.txt`: a `[list]` line, then its words."""
    lists: dict[str, frozenset[str]] = {}
    for part in (_DATA / f"{name}.txt").read_text(encoding="utf-8").split("\n[")[1:]:
        title, _, words = part.partition("]")
        lists[title] = frozenset(words.split())
    return lists


def _blocks(file: str) -> Iterator[tuple[str, str]]:
    """Heads with the indented lines that follow them, joined; comments and blank lines dropped."""
    text = (_DATA / file).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    heads = [i for i, line in enumerate(lines) if not line.startswith(" ")]
    for start, end in zip(heads, [*heads[1:], len(lines)], strict=True):
        yield lines[start], "".join(line[_INDENT:] for line in lines[start + 1 : end])


def _expand(body: str, fragments: dict[str, str], language: str) -> str:
    def named(match: re.Match[str]) -> str:
        if match["name"]:
            return fragments[match["name"]]
        return _gap(int(match["gap"]), re.escape(match["also"] or ""), language)

    parts = re.split(r"(\{[A-Z_]+\}|\{gap:[^}]*\})", body)
    return "".join(_NAMED.sub(named, p) if _NAMED.fullmatch(p) else p.replace(" ", r"\s+") for p in parts)


def _gap(length: int, also: str, language: str) -> str:
    """At most `length` plain words, or Chinese characters, up to the end; crossing no punctuation but `also`."""
    if language == "chinese":
        return rf"[^，。；;,！？¤\n]{{0,{length}}}$"
    return rf"(?:[\s{also}]+[\w'-]+){{0,{length}}}[\s\"'({also}]*$"
