"""The audit: for every category one planted trace that must get it, and one near miss that must not."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mnistpro_replay.analysis.audit import CATEGORIES, Verdict, audit, audit_rows
from mnistpro_replay.analysis.cases import cases
from mnistpro_replay.analysis.metrics import ensure
from mnistpro_replay.replay.predictors import load
from mnistpro_replay.schemas import Canvas, Episode, Geometry, Point, Run, Step, StepText
from mnistpro_replay.traces.episodes import finish, settle_answer
from mnistpro_replay.traces.runner.policies.sweep import boustrophedon
from mnistpro_replay.traces.runner.record import record
from mnistpro_replay.traces.runner.run import Plan
from mnistpro_replay.traces.store import Store
from mnistpro_replay.traces.world import build_canvas, embedded, pixel_hash, to_png

GEOMETRY = Geometry(n_panels=2)
LABEL = "10"
CANVAS = build_canvas([embedded().image(4931), embedded().image(2777)])
LEFT, RIGHT = (80, 64), (300, 64)


def trace(
    name: str,
    moves: Sequence[str],
    answer: str | None,
    *,
    start: Point = LEFT,
    label: str = LABEL,
    stop: str = "answered",
    raw_type: str = "string",
    error: str | None = None,
    thoughts: dict[int, str] | None = None,
    maps: dict[int, list[int]] | None = None,
) -> Episode:
    """An episode that walks `moves` and ends as it is told to."""
    steps, texts, position = [], [], start
    for number, direction in enumerate(moves):
        after, clipped = GEOMETRY.move(position, direction)
        step = Step(
            step=number, action_kind="move", direction=direction, window_before=position, window_after=after
        )
        step.clipped, step.shown = clipped, True
        steps.append(step)
        position = after
    if stop == "answered":
        steps.append(
            Step(step=len(moves), action_kind="answer", window_before=position, window_after=position)
        )
    for number in range(len(steps)):
        entry = (
            None if maps is None or number not in maps else [{"coords": maps[number], "features": "stroke"}]
        )
        texts.append(StepText(step=number, thought=(thoughts or {}).get(number), spatial_map=entry))
    episode = Episode(
        episode_id=name,
        source_episode_id=name,
        canvas=pixel_hash(CANVAS),
        label=label,
        start=start,
        steps=steps,
        step_texts=texts,
        stop_reason=stop,
        error=error,
        answer_raw_type=raw_type,
    )
    settle_answer(episode, 2, answer)
    return finish(episode, GEOMETRY)


WHOLE = boustrophedon(GEOMETRY, LEFT)
HALF = ["right"] * 7
LOOPING = ["right", "left"] * 3 + ["right"] * 9
PLANTED: dict[str, tuple[Episode, Episode]] = {
    "runner error": (
        trace("error+", HALF, None, stop="error", error="BackendError: 429"),
        trace("error-", HALF, "11"),
    ),
    "no valid answer": (trace("invalid+", HALF, "one zero"), trace("invalid-", HALF, "11")),
    "right digits, wrong order": (trace("order+", WHOLE, "01"), trace("order-", WHOLE, "00")),
    "leading zero lost": (
        trace("zero+", WHOLE, "1", label="01", raw_type="integer"),
        trace("zero-", WHOLE, "1", label="01", raw_type="string"),
    ),
    "never saw a digit": (trace("never+", ["up"], "17"), trace("never-", HALF, "17")),
    "single-digit answer": (trace("single+", WHOLE, "1"), trace("single-", WHOLE, "11")),
    "stopped early, little seen": (
        trace("early+", HALF, "17"),
        trace("early-", WHOLE[:39] + ["up"] * 2, "17"),
    ),
    "saw all, read wrong": (trace("all+", WHOLE, "17"), trace("all-", HALF, "17")),
    "looped": (trace("looped+", ["right", "left"] * 4, "17"), trace("looped-", LOOPING, "17")),
    "blocked at the wall": (
        trace("blocked+", ["up"] * 5 + HALF, "17"),
        trace("blocked-", ["up"] * 4 + HALF, "17"),
    ),
    "budget spent": (
        trace("budget+", (WHOLE * 2)[:78], None, stop="step_limit"),
        trace("budget-", (WHOLE * 2)[:77], "17"),
    ),
    "claimed new, but seen": (
        trace("claim+", ["right", "left", *HALF], "17", thoughts={1: "I move on to a new region."}),
        trace("claim-", ["right", "left", *HALF], "17", thoughts={3: "I move on to a new region."}),
    ),
    "map drift": (
        trace("drift+", HALF, "17", maps={n: [n + (n > 3), 0] for n in range(8)}),
        trace("drift-", HALF, "17", maps={n: [n, 0] for n in range(8)}),
    ),
    "unexplained": (
        trace(
            "unexplained+", [*HALF, *["down", "up"] * 2, "down", *["left"] * 7, "down", *["right"] * 8], "17"
        ),
        trace("unexplained-", WHOLE, "17"),
    ),
}


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Verdict | None]:
    store = Store(tmp_path_factory.mktemp("audit"), create=True)
    run = Run(run="planted", window=64, stride=32, panel=224, n_panels=2, level=2, t_max=GEOMETRY.budget)
    with store.writer(run, "planted") as writer:
        writer.add(Canvas(canvas=pixel_hash(CANVAS), png=to_png(CANVAS), width=448, height=224))
        for planted in PLANTED.values():
            for episode in planted:
                writer.add(episode)
        writer.add(trace("right", WHOLE, LABEL))
    ensure(store, ["planted"])
    return {case.episode.episode_id: audit(case) for case in cases(store, "planted")}


@pytest.mark.parametrize("category", PLANTED)
def test_planted_gets_it_and_the_near_miss_does_not(
    category: str, verdicts: dict[str, Verdict | None]
) -> None:
    planted, near_miss = (verdicts[episode.episode_id] for episode in PLANTED[category])
    assert planted is not None and category in planted.steps
    assert near_miss is None or category not in near_miss.steps


def test_steps_point_at_what_shows_it(verdicts: dict[str, Verdict | None]) -> None:
    assert verdicts["blocked+"].steps["blocked at the wall"] == [2, 3, 4]
    assert verdicts["claim+"].steps["claimed new, but seen"] == [1]
    assert verdicts["drift+"].steps["map drift"][0] == 4
    assert verdicts["looped+"].steps["looped"] == list(range(1, 8))


def test_a_right_answer_is_no_failure(verdicts: dict[str, Verdict | None]) -> None:
    assert verdicts["right"] is None


def test_every_failure_has_one_that_leads(verdicts: dict[str, Verdict | None]) -> None:
    order = [category.name for category in CATEGORIES]
    failed = [verdict for verdict in verdicts.values() if verdict]
    assert len(failed) == 2 * len(PLANTED)
    for verdict in failed:
        assert verdict.leads == min(verdict.steps, key=order.index)
        assert list(verdict.steps) == ["unexplained"] or "unexplained" not in verdict.steps


def test_rows_count_leads_once_and_state_n(verdicts: dict[str, Verdict | None]) -> None:
    failed = [verdict for verdict in verdicts.values() if verdict]
    rows = audit_rows(failed, {"planted": len(verdicts)})
    assert sum(row["leads"] for row in rows) == len(failed)
    for row in rows:
        assert row["n"] == len(failed)
        interval = row["share"].interval
        assert interval.low <= interval.estimate <= interval.high


def test_every_category_is_planted_or_believed() -> None:
    assert {category.name for category in CATEGORIES} == {*PLANTED, "anchored on a refuted belief"}


def test_only_the_anchored_believer_is_anchored(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Tolerance: at least eight of ten anchored believers, and none of the correcting ones."""
    store, reader = Store(tmp_path_factory.mktemp("believers"), create=True), load("reference")
    found = {}
    for policy in ("believer-anchored", "believer-correcting"):
        record(Plan(policy=policy, predictor=reader, episodes=10, name=policy), store)
        ensure(store, [policy], "each")
        found[policy] = [
            verdict
            for case in cases(store, policy)
            if (verdict := audit(case)) and "anchored on a refuted belief" in verdict.steps
        ]
    assert len(found["believer-anchored"]) >= 8
    assert found["believer-correcting"] == []
