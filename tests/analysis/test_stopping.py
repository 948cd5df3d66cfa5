"""Stopping: definitions on hand-made episodes, and what they say of policies whose truth is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnistpro_replay.analysis.database import Database
from mnistpro_replay.analysis.stopping import (
    Stop,
    accuracy_if_stopped,
    earliness,
    episode_row,
    first_sufficient,
    first_sustained,
    load_stops,
    over_optimistic,
    premature,
    regret,
)
from mnistpro_replay.analysis.stopping_tables import (
    causes,
    counterfactual_rows,
    risk_coverage_rows,
    stopping_rows,
    survival_rows,
)
from mnistpro_replay.analysis.value import expected_information, value_of_more
from mnistpro_replay.replay.counterfactual import go_on, on_path, stop_at, sufficient_glimpses
from mnistpro_replay.replay.plan import load_source
from mnistpro_replay.replay.predictors import load
from mnistpro_replay.schemas import Geometry
from mnistpro_replay.traces.runner.record import record
from mnistpro_replay.traces.runner.run import Plan
from mnistpro_replay.traces.store import Store


def panel(digit: int, p: float) -> list[float]:
    return [p if k == digit else (1 - p) / 9 for k in range(10)]


def a_stop(
    curve: list[tuple[int, float]], label: str = "3", answer: str | None = "3", **fields: object
) -> Stop:
    """An episode on one digit whose reader believes (digit, probability) after each glimpse."""
    values: dict = {
        "run": "r",
        "episode_id": "0",
        "source_episode_id": "0",
        "canvas": "c",
        "label": label,
        "answer": answer,
        "stop_reason": "answered",
        "n_actions": len(curve),
        "t_max": 36,
        "posterior": np.array([[panel(digit, p)] for digit, p in curve]),
        "coverage": np.linspace(0.1, 0.9, len(curve)),
        "min_coverage": np.linspace(0.1, 0.9, len(curve)),
        "new_ink": np.full(len(curve), 10),
    }
    return Stop(**values | fields)


def test_sufficient_and_sustained_on_a_curve_that_falls_back() -> None:
    stop = a_stop([(3, 0.5), (3, 0.92), (3, 0.6), (3, 0.95), (3, 0.97)])
    row = episode_row(stop)
    assert (row["sufficient_90"], row["sustained_90"], row["gap_90"]) == (1, 3, 3)
    assert row["overshoot_90"] and not row["premature_90"]
    assert (row["sufficient_95"], row["gap_95"]) == (3, 1)


def test_premature_needs_an_answer_and_budget_left() -> None:
    curve = [(3, 0.4), (3, 0.5)]
    assert premature(a_stop(curve), 0.9)
    assert not premature(a_stop(curve, n_actions=36), 0.9)
    assert not premature(a_stop(curve, answer=None, stop_reason="step_limit"), 0.9)
    assert episode_row(a_stop(curve))["gap_90"] is None


def test_over_optimistic_is_wrong_early_and_on_little() -> None:
    little = {"min_coverage": np.array([0.1, 0.2])}
    curve = [(3, 0.4), (3, 0.5)]
    assert over_optimistic(a_stop(curve, answer="5", **little), 0.5, 0.5)
    assert not over_optimistic(a_stop(curve, **little), 0.5, 0.5)
    assert not over_optimistic(a_stop(curve, answer="5", n_actions=30, **little), 0.5, 0.5)
    assert not over_optimistic(a_stop(curve, answer="5", min_coverage=np.array([0.1, 0.6])), 0.5, 0.5)
    assert over_optimistic(a_stop(curve, answer="5", t_max=None, **little), 0.5, 0.5) is None


def test_a_tie_is_never_right() -> None:
    flat = a_stop([(3, 0.1)])
    assert np.allclose(flat.posterior, 0.1) and not flat.right[0]


def test_answers_that_are_no_reading_have_no_probability() -> None:
    assert a_stop([(3, 0.5)], answer="33").of("33") is None
    assert episode_row(a_stop([(3, 0.5)], answer=None))["answer_probability"] is None
    assert episode_row(a_stop([(3, 0.5)], answer="3"))["answer_probability"] == pytest.approx(0.5)


def test_agent_regret_may_be_negative() -> None:
    past, own = regret(a_stop([(5, 0.9), (5, 0.9)]), 0.0)
    assert (past, own) == (0.0, -1.0)
    past, own = regret(a_stop([(3, 0.9), (5, 0.9)], answer="5"), 0.0)
    assert (past, own) == (1.0, 1.0)


CURVES = st.lists(st.tuples(st.integers(0, 9), st.floats(0.11, 0.99)), min_size=1, max_size=12)


@given(curve=CURVES, answer=st.sampled_from(["3", "5", None]), cost=st.sampled_from([0.0, 0.1, 0.5]))
def test_identities(curve: list[tuple[int, float]], answer: str | None, cost: float) -> None:
    stop = a_stop(curve, answer=answer)
    past, _ = regret(stop, cost)
    assert past is not None and past >= 0
    for threshold in (0.3, 0.8, 0.95):
        first, sustained = (
            first_sufficient(stop.confidence, threshold),
            first_sustained(stop.confidence, threshold),
        )
        assert first is None or stop.confidence[first] >= threshold
        if sustained is not None:
            assert first is not None and first <= sustained <= stop.tau
            assert (stop.confidence[sustained:] >= threshold).all()
    assert (first_sustained(stop.confidence, 0.8) is None) == (stop.confidence[-1] < 0.8)


def test_accuracy_if_stopped_keeps_every_episode_at_every_t() -> None:
    stops = [a_stop([(3, 0.9)]), a_stop([(5, 0.9), (5, 0.9), (3, 0.9)])]
    assert accuracy_if_stopped(stops) == [(0, 1, 2), (1, 1, 2), (2, 2, 2)]


def test_earliness_on_a_known_case() -> None:
    result = earliness([a_stop([(3, 0.9)] * 19), a_stop([(3, 0.9)] * 19, answer="5")])
    assert result["earliness"] == pytest.approx(0.5)
    assert result["harmonic_mean"] == pytest.approx(2 * 0.5 * 0.5 / 1.0)


def test_survival_and_incidence_make_one_and_causes_are_told_apart() -> None:
    stops = [
        a_stop([(3, 0.9)] * 2, canvas="a"),
        a_stop([(3, 0.9)] * 4, canvas="b", answer="5"),
        a_stop([(3, 0.9)] * 3, canvas="c", answer=None, stop_reason="invalid_action"),
        a_stop([(3, 0.9)] * 5, canvas="d", answer=None, stop_reason="step_limit"),
    ]
    assert causes(stops).tolist() == [1, 2, 3, 0]
    rows = survival_rows(stops)
    for row in rows:
        total = sum(row[name].interval.estimate for name in ("survival", "right", "wrong", "invalid"))
        assert total == pytest.approx(1)
        assert (
            row["survival"].interval.low <= row["survival"].interval.estimate <= row["survival"].interval.high
        )
    assert [row["at_risk"] for row in rows] == [4, 3, 2, 1]
    assert rows[-1]["never_answered"] == 2
    assert rows[-1]["survival"].interval.estimate == pytest.approx(0.25)


def test_risk_coverage_counts_answers_only() -> None:
    stops = [
        a_stop([(3, 0.9)]),
        a_stop([(3, 0.4)], answer="5"),
        a_stop([(3, 0.4)], answer=None, stop_reason="no_answer"),
    ]
    (row,) = [row for row in risk_coverage_rows(stops) if row["score"] == "confidence"]
    assert (row["n"], row["auroc"]) == (2, 1.0)
    assert row["augrc"] == pytest.approx((1 - 1.0) * 0.25 + 0.5 * 0.25)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Short runs of policies whose stopping is known by construction."""
    store = Store(tmp_path_factory.mktemp("fresh"), create=True)
    reader = load("reference")
    for policy, settings in (("early", {"k": 2}), ("sweep", {}), ("infogain", {"confidence": 0.9})):
        record(Plan(policy=policy, settings=settings, predictor=reader, episodes=20, name=policy), store)
    return store


def test_measures_say_what_policies_are(fresh: Store) -> None:
    """Tolerance: `early` (two glimpses) is premature in three of ten answers or more, `infogain` in one of ten or
    fewer; `sweep` overshoots in nine of ten or more; `infogain` stops within a glimpse of the first sufficient one."""
    stops = load_stops(Database(fresh, posterior="each"))
    rows = {run: [episode_row(s) for s in stops if s.run == run] for run in ("early", "sweep", "infogain")}
    assert np.mean([row["premature_90"] for row in rows["early"]]) >= 0.3
    assert np.mean([row["overshoot_90"] for row in rows["sweep"]]) > 0.9
    assert np.mean([row["premature_90"] for row in rows["infogain"]]) < 0.1
    gaps = {run: np.mean([row["gap_90"] for row in rows[run] if row["gap_90"] is not None]) for run in rows}
    assert gaps["infogain"] <= 1 < 10 < gaps["sweep"]


def test_table_states_n_and_reader_calibration(fresh: Store) -> None:
    table = stopping_rows(load_stops(Database(fresh, [("early", None)], posterior="each")))
    statistics = {row["statistic"]: row for row in table}
    assert statistics["reader accuracy"]["n"] == 20
    assert statistics["reader calibration error"]["value"].interval.estimate is not None
    assert all(row["n"] == row["value"].interval.n for row in table)


def test_stopping_when_sufficient_saves_moves_and_is_calibrated(fresh: Store) -> None:
    source, reader = load_source(fresh, "sweep"), load("reference")
    stops = sufficient_glimpses(fresh, source, "window", reader, lambda done, total: None)
    made = stop_at(fresh, source, reader, "window", stops)
    assert len(made) == 20
    assert all(a.glimpse <= a.actual_glimpse for a in made)
    rows = counterfactual_rows("sweep", made)
    assert [row["against"] for row in rows] == ["predictor at the agent's stop", "the agent's own answer"]
    assert rows[0]["moves_saved"].interval.estimate > 0.5
    accuracy, confidence = rows[0]["counterfactual"].interval, rows[0]["mean_confidence"].interval
    assert accuracy.low <= confidence.high  # of 20 episodes; the soak test asks it of 500
    assert confidence.low <= accuracy.high
    again = stop_at(fresh, source, reader, "window", stops)
    assert [a.counterfactual.prediction.answer for a in again] == [
        a.counterfactual.prediction.answer for a in made
    ]


@pytest.mark.soak
def test_stopping_when_sufficient_is_calibrated_over_500_episodes(tmp_path: Path) -> None:
    store, reader = Store(tmp_path, create=True), load("reference")
    run = record(Plan(policy="sweep", episodes=500), store).run
    source = load_source(store, run)
    stops = sufficient_glimpses(store, source, "window", reader, lambda done, total: None)
    row = counterfactual_rows(run, stop_at(store, source, reader, "window", stops))[0]
    accuracy, confidence = row["counterfactual"].interval, row["mean_confidence"].interval
    assert accuracy.n == 500 and row["moves_saved"].interval.low > 0.5
    assert accuracy.low <= confidence.estimate <= accuracy.high


def test_going_on_and_walking_another_way(fresh: Store) -> None:
    source, reader = load_source(fresh, "early"), load("reference")
    before = fresh.scan("inputs").collect().height
    longer = go_on(fresh, source, reader, "window", "sweep", 5, from_start=False)
    assert all(a.glimpse == a.actual_glimpse + 5 for a in longer)
    for a in longer:
        shown = a.actual.task.episode.windows()
        assert a.counterfactual.task.episode.windows()[: len(shown)] == shown
    other = go_on(fresh, source, reader, "window", "greedy", None, from_start=True)
    assert all(a.counterfactual.task.episode.start == a.actual.task.episode.start for a in other)
    assert np.mean([a.counterfactual.correct for a in other]) > 0.9
    hypothetical = fresh.scan("inputs").collect().height - before
    assert hypothetical == len(longer), "only what agents were shown is remembered as theirs"
    with pytest.raises(ValueError, match="nope"):
        go_on(fresh, source, reader, "window", "nope", None, from_start=True)


def test_value_of_one_more_glimpse(fresh: Store) -> None:
    source, reader, geometry = load_source(fresh, "early"), load("reference"), Geometry()
    worths = []
    for episode in source.episodes[:10]:
        canvas = source.canvases[episode.canvas]
        worth = value_of_more(episode, canvas, geometry, reader)
        assert worth.voi_mean <= worth.voi_max
        assert worth.eig >= -1e-9
        worths.append(worth)
        whole = on_path(episode, [(x, y) for y in (0, 64, 128, 160) for x in (0, 64, 128, 160)], geometry)
        sated = value_of_more(whole, canvas, geometry, reader)
        assert (sated.voi_max, sated.eig) == (0.0, 0.0) and not sated.flip
        assert expected_information(canvas, whole.windows(), (32, 32), geometry) == 0.0
    assert np.mean([w.voi_steps for w in worths]) > 0
