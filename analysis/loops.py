"""Loops: did a move that led back follow the agent's own plan, or go against it?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

from ..schemas import DIRECTIONS, Episode
from .statistics import proportion

Verdict = Literal["followed", "against", "unstated"]

_WORDS = {"upward": "up", "upwards": "up", "downward": "down", "downwards": "down"}
_WORDS |= {"leftward": "left", "leftwards": "left", "rightward": "right", "rightwards": "right"}
_WORDS |= {name: name for name in DIRECTIONS}
_PLAN = re.compile(
    r"\b(?:(?P<not>not|never|don't|avoid|instead of|rather than)\s+)?"
    r"(?:mov(?:e|ing)|go(?:ing)?|head(?:ing)?|shift(?:ing)?|step(?:ping)?|scroll(?:ing)?|pan(?:ning)?|"
    r"continu(?:e|ing)|explor(?:e|ing)|proceed(?:ing)?|return(?:ing)?|look(?:ing)?|try(?:ing)?|scan(?:ning)?)"
    r"(?:\s+(?:the|window|back|further|again|one|a|step|more|to|once|straight|on|moving|going|it|view|now|slightly|and)){0,4}"
    rf"\s+(?P<where>{'|'.join(sorted(_WORDS, key=len, reverse=True))})\b",
    re.IGNORECASE,
)
"""A plan: a verb of motion, at most four plain words, a direction. The last one of a thought is its plan."""


class LoopMove(NamedTuple):
    """A move to a position that the window had held before."""

    step: int
    direction: str
    planned: str | None
    verdict: Verdict


def planned_direction(thought: str | None) -> str | None:
    """The direction that a thought plans to move in: its last statement of the kind, or None.

    >>> planned_direction("I came from the left. I will move further down."), planned_direction("A loop on the left.")
    ('down', None)
    """
    plans = [match for match in _PLAN.finditer(thought or "") if not match["not"]]
    return _WORDS[plans[-1]["where"].lower()] if plans else None


def loop_moves(episode: Episode) -> list[LoopMove]:
    """Moves that led back to a position held before, blocked ones included, with their plans."""
    thoughts = {text.step: text.thought for text in episode.step_texts}
    held = {episode.start}
    moves = []
    for step in episode.steps:
        if step.action_kind != "move" or not step.valid or step.window_after is None:
            continue
        if step.window_after in held:
            plan = planned_direction(thoughts.get(step.step))
            verdict: Verdict = (
                "unstated" if plan is None else "followed" if plan == step.direction else "against"
            )
            moves.append(LoopMove(step.step, step.direction or "", plan, verdict))
        held.add(step.window_after)
    return moves


def summary(episodes: Iterable[Episode]) -> list[dict[str, Any]]:
    """Over the moves that led back: how many followed a stated plan, went against it, or had none.

    Returns:
        one row a verdict: hits, n (moves that led back), share with its Wilson interval. Moves of one
        episode are not independent; the interval is that of so many single moves.
    """
    verdicts = Counter(move.verdict for episode in episodes for move in loop_moves(episode))
    n = sum(verdicts.values())
    rows = []
    for verdict in ("followed", "against", "unstated"):
        share = proportion(verdicts[verdict], n)
        row = {"verdict": verdict, "hits": verdicts[verdict], "n": n, "share": share.estimate}
        rows.append(row | {"low": share.low, "high": share.high})
    return rows
