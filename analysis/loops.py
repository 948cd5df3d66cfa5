"""Loops: did a move that led back follow the agent's own plan, or go against it?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np

from ..schemas import DIRECTIONS, Episode, Run
from .audit import is_looping
from .database import Database
from .measures import Row, Value
from .statistics import cluster_bootstrap, proportion

Verdict = Literal["followed", "against", "unstated"]
VERDICTS: dict[Verdict, tuple[str, str]] = {
    "followed": (
        "planning error",
        "the move went where the thought before it last said it would go: the plan itself led back",
    ),
    "against": ("instruction following", "the move went elsewhere than the thought before it last said"),
    "unstated": (
        "no plan stated",
        "the thought before the move is missing, or has no verb of motion with a direction",
    ),
}
"""What each verdict on a move that led back (blocked ones included) means, and its rule."""

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
    """Moves that led back to a shown position held before, blocked ones included, with their plans.

    As many as docs/metrics.md A1 counts revisits.
    """
    thoughts = {text.step: text.thought for text in episode.step_texts}
    directions = {step.step: step.direction for step in episode.steps}
    held: set[Any] = set()
    moves = []
    for glimpse in episode.glimpses():
        if glimpse.step is not None and glimpse.window in held:
            direction, plan = directions[glimpse.step], planned_direction(thoughts.get(glimpse.step))
            verdict: Verdict = "unstated" if plan is None else "followed" if plan == direction else "against"
            moves.append(LoopMove(glimpse.step, direction or "", plan, verdict))
        held.add(glimpse.window)
    return moves


def looping(episode: Episode) -> bool:
    """Whether `audit` would call an episode looped."""
    windows = episode.windows() or []
    back = sum(now != before and now in windows[:n] for n, (before, now) in enumerate(pairwise(windows), 1))
    return is_looping(back, len(windows) - 1)


def table(database: Database) -> list[Row]:
    """`run_rows` of the selected runs."""
    return [
        row
        for name, ids in database.selected
        for row in run_rows(database.store.run(name), database.store.episodes(name, ids, texts=True))
    ]


def run_rows(run: Run, episodes: Sequence[Episode]) -> list[Row]:
    """Over the moves that led back: how many followed a stated plan, went against it, or had none.

    Returns:
        rows of run, model, level, part (`all` episodes, and the `looping` ones alone), statistic (the
            verdict), means, n (moves that led back), share, shown_by (the moves of that verdict), reason (why
            there is no share) and rule. Intervals resample canvases, as moves of one episode are not
            independent; with one canvas they are Wilson's.
    """
    known = [episode for episode in episodes if episode.windows() is not None]
    why = None if known else "not_recorded"
    if not any(text.thought for episode in known for text in episode.step_texts):
        why = why or "no_thoughts"
    found = [] if why else [(episode, move) for episode in known for move in loop_moves(episode)]
    loops = {episode.episode_id for episode in known if looping(episode)}
    parts = {"all": found, "looping": [pair for pair in found if pair[0].episode_id in loops]}
    keys = {"run": run.run, "model": run.model, "level": run.level}
    return [
        {
            **keys,
            "part": part,
            "statistic": verdict,
            "means": means,
            **_counted(verdict, moves, why),
            "rule": rule,
        }
        for part, moves in parts.items()
        for verdict, (means, rule) in VERDICTS.items()
    ]


def _counted(verdict: Verdict, found: Sequence[tuple[Episode, LoopMove]], why: str | None) -> dict[str, Any]:
    hits = np.array([move.verdict == verdict for _, move in found], float)
    canvases = np.array([episode.canvas or episode.episode_id for episode, _ in found])
    steps = [
        {"episode": e.source_episode_id, "step": m.step, "direction": m.direction, "planned": m.planned}
        for e, m in found
        if m.verdict == verdict
    ]
    # One canvas cannot be resampled.
    several = len(set(canvases)) > 1
    share = cluster_bootstrap(hits, canvases) if several else proportion(int(hits.sum()), len(hits))
    reason = why or (None if found else "no_revisits")
    return {"n": len(found), "share": Value(share, True), "shown_by": steps, "reason": reason}
