"""What if the agent had stopped earlier, gone on, or walked another way? Other evidence, the same machinery.

A counterfactual is a path over the same hidden canvas from the same start. A predictor reads what that path would have
shown, exactly as in a swap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import NamedTuple

import numpy as np

from ..schemas import Episode, Evidence, Geometry, Point, Predictor, Step
from ..traces.episodes import finish
from ..traces.runner.policies import Hidden, make
from ..traces.runner.policies.base import follow
from ..traces.store import Store
from .plan import Plan, Source, Task, make_plan
from .representations import representation
from .swap import Pair, swap

SUFFICIENT = 0.9
"""Confidence from which evidence counts as sufficient (design, `sufficient`)."""


class Alternative(NamedTuple):
    """An episode's reading where the agent stopped, and on the counterfactual path.

    `glimpse` and `actual_glimpse` are the numbers of the last shown glimpse on each path.
    """

    actual: Pair
    counterfactual: Pair
    actual_glimpse: int
    glimpse: int


def on_path(episode: Episode, windows: Sequence[Point], geometry: Geometry) -> Episode:
    """The episode as if exactly `windows` had been shown, without texts and answer."""
    steps = [
        Step(step=n, action_kind="move", window_before=a, window_after=b, clipped=None, shown=True)
        for n, (a, b) in enumerate(zip(windows, windows[1:], strict=False))
    ]
    bare = replace(
        episode, steps=steps, step_texts=[], attempts=[], tool_calls=[], notes=[], start=windows[0]
    )
    return finish(replace(bare, start_shown=True, tokens_input=None, tokens_output=None, cost=None), geometry)


def confidence(probabilities: Sequence[Sequence[float]]) -> float:
    """Confidence c of a posterior: the product over panels of the largest probability (metrics page §3.1)."""
    return prod(max(panel) for panel in probabilities)


def sufficient_glimpses(
    store: Store,
    source: Source,
    evidence: Evidence,
    reference: Predictor,
    progress: Callable[[int, int], None],
    threshold: float = SUFFICIENT,
) -> dict[str, int]:
    """By episode, the first shown glimpse whose evidence is sufficient, else the last one.

    `reference` reads after each glimpse; its replies are stored like those of any swap.
    """
    plan = make_plan(
        [source], representation("canvas"), evidence, "each", supported=reference.representations
    )
    outcome = swap(store, plan, reference, progress=progress)
    stops: dict[str, int] = {}
    sure: set[str] = set()
    for pair in outcome.pairs:
        name = pair.task.episode.episode_id
        if name in sure:
            continue
        stops[name] = pair.task.glimpse
        if pair.prediction and pair.prediction.probabilities:
            if confidence(pair.prediction.probabilities) >= threshold:
                sure.add(name)
    return stops


def stop_at(
    store: Store,
    source: Source,
    predictor: Predictor,
    evidence: Evidence,
    stops: dict[str, int],
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Alternative]:
    """Read each episode's evidence up to the glimpse in `stops`, and up to where the agent stopped."""
    plan = make_plan(
        [source], representation("canvas"), evidence, "last", supported=predictor.representations
    )
    last = {task.episode.episode_id: task for task in plan.tasks}
    early = {name: _cut(task, min(stops[name], task.glimpse)) for name, task in last.items() if name in stops}
    made = swap(
        store, Plan([*plan.tasks, *early.values()], plan.not_applicable), predictor, progress=progress
    )
    actual, counterfactual = made.pairs[: len(plan.tasks)], made.pairs[len(plan.tasks) :]
    by_name = {pair.task.episode.episode_id: pair for pair in actual}
    return [
        Alternative(by_name[pair.task.episode.episode_id], pair, last[name].glimpse, pair.task.glimpse)
        for name, pair in zip(early, counterfactual, strict=True)
    ]


def _cut(task: Task, glimpse: int) -> Task:
    cut = task._replace(glimpse=glimpse)
    return cut._replace(input_hash=cut.input().hash)


def go_on(
    store: Store,
    source: Source,
    predictor: Predictor,
    evidence: Evidence,
    policy: str,
    moves: int | None,
    *,
    from_start: bool,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Alternative]:
    """Let a policy continue each path for at most `moves`, or walk its own way from the same start.

    Args:
        store: cache of replies.
        source: a run with its episodes.
        predictor: who reads both paths' evidence.
        evidence: which pixels of a glimpse count as seen.
        policy: name of the policy.
        moves: most moves to add; None for what the budget allows.
        from_start: forget the agent's path and start where it started.
        progress: called with the predictor calls made and to be made.

    Raises:
        ValueError: for an unknown policy.
    """
    plan = make_plan(
        [source], representation("canvas"), evidence, "last", supported=predictor.representations
    )
    geometry = source.run.geometry()
    assert geometry is not None or not plan.tasks
    walked = []
    for number, task in enumerate(plan.tasks):
        windows = task.episode.windows() or []
        canvas = source.canvases[task.episode.canvas or ""]
        begin = windows[:1] if from_start else windows
        path = follow(
            make(policy),
            Hidden(canvas, task.episode.label or ""),
            begin,
            geometry,  # pyright: ignore[reportArgumentType]
            np.random.default_rng([source.run.seed or 0, number]),
            moves,
        )
        walked.append(on_path(task.episode, path, geometry))  # pyright: ignore[reportArgumentType]
    actual = swap(store, plan, predictor, progress=progress).pairs
    other = make_plan(
        [source._replace(episodes=walked)],
        representation("canvas"),
        evidence,
        "last",
        supported=predictor.representations,
    )
    other.hypothetical = True
    pairs = swap(store, other, predictor, progress=progress).pairs
    return [
        Alternative(before, after, before.task.glimpse, after.task.glimpse)
        for before, after in zip(actual, pairs, strict=True)
    ]
