"""Belief revision against evidence, on episodes whose truth is known by construction."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnistpro_replay.analysis.beliefs.extract import extract
from mnistpro_replay.analysis.beliefs.metrics import (
    CONTRADICTION,
    Episode,
    belief_rows,
    lines,
    log_odds_against,
    pooled,
    spells,
)
from mnistpro_replay.analysis.beliefs.probability import conservatism, martingale, probability_steps
from mnistpro_replay.schemas.enums import REASONS


def posterior(*best: tuple[int, float]) -> np.ndarray:
    """(G, 1, 10): each glimpse gives its digit the probability, the others share the rest."""
    q = np.empty((len(best), 1, 10))
    for g, (digit, p) in enumerate(best):
        q[g] = (1 - p) / 9
        q[g, 0, digit] = p
    return q


def episode(*thoughts: str | None, **known: Any) -> Episode:
    digits = known.pop("digits", 1)
    return Episode([None if t is None else extract(t, digits) for t in thoughts], digits, **known)


def row(*thoughts: str | None, **known: Any) -> dict[str, Any]:
    return belief_rows(episode(*thoughts, **known))[0]


def ink(*new: int) -> np.ndarray:
    return np.array(new).reshape(-1, 1)


ANCHORED = {
    "label": "9",
    "answer": "4",
    "posterior": posterior((4, 0.6), (4, 0.5), (9, 0.95), (9, 0.97)),
    "new_ink": ink(5, 5, 5, 5),
}


def test_anchored_episode() -> None:
    found = row("A line.", "It is a 4.", "I still think it is a 4.", "It is a 4.", **ANCHORED)
    assert (found["adoption_step"], found["first_belief"], found["first_belief_correct"]) == (1, 4, False)
    assert (found["wrong_belief"], found["wrong_duration"], found["wrong_ended"]) == (4, 3, False)
    assert found["wrong_survived"] is True
    assert (found["n_spells"], found["n_spells_ignored"], found["ignored_rate"]) == (1, 1, 1.0)
    assert (found["anchored"], found["anchored_refuted"]) == (True, True)
    assert found["inertia"] == 1.0
    assert found["evidence_right_glimpse"] == 2
    assert found["reasons"]["lag"] == "never_reached"


def test_correcting_episode() -> None:
    known = {**ANCHORED, "answer": "9"}
    found = row("A line.", "It is a 4.", "This is not a 4 but a 9.", "It is a 9.", **known)
    assert (found["n_flips"], found["n_to_right"], found["correction_balance"]) == (1, 1, 1.0)
    assert found["first_flip_step"] == 2
    assert found["flip_rate"] == pytest.approx(1 / 2)
    assert (found["anchored"], found["anchored_refuted"]) == (False, False)
    assert (found["n_spells"], found["n_spells_ignored"]) == (1, 0)
    assert found["lag"] == 0
    assert found["answer_matches_belief"] is True


def test_flip_flopping_episode() -> None:
    found = row("It is a 4.", "It is a 9.", "It is a 4.", "It is a 9.", **{**ANCHORED, "answer": "9"})
    assert (found["n_flips"], found["flip_rate"]) == (3, 1.0)
    assert (found["n_to_right"], found["n_to_wrong"], found["correction_balance"]) == (
        2,
        1,
        pytest.approx(1 / 3),
    )


def spell_of(*thoughts: str, **known: Any) -> list[tuple]:
    found = episode(*thoughts, **known)
    return [tuple(s) for s in spells(found, lines(found)[0])]


def test_spells_end_in_three_ways() -> None:
    q = posterior((4, 0.9), (9, 0.9), (9, 0.9), (9, 0.9))
    stated = ("It is a 4.", "Going on.", "Going on.", "It is a 9.")
    assert spell_of(*stated, posterior=q, new_ink=ink(1, 1, 1, 1)) == [(4, 1, 2, "revised")]
    assert spell_of(*stated[:3], posterior=q, new_ink=ink(1, 1, 1, 1)) == [(4, 1, 1, "kept")]
    back = posterior((4, 0.9), (9, 0.9), (4, 0.9), (4, 0.9))
    assert spell_of(*stated[:3], posterior=back, new_ink=ink(1, 1, 1, 1)) == [(4, 1, 1, "faded")]


def test_contradiction_needs_new_ink_since_the_belief() -> None:
    q = posterior((9, 0.9), (9, 0.9), (9, 0.9))
    stated = ("It is a 4.", "Going on.", "Going on.")
    assert spell_of(*stated, posterior=q, new_ink=ink(9, 0, 0)) == []
    assert spell_of(*stated, posterior=q, new_ink=ink(9, 0, 1)) == [(4, 2, 0, "kept")]


def test_contradiction_is_nine_to_one() -> None:
    q = np.full(10, 0.0)
    q[[4, 9]] = 0.1, 0.9
    assert log_odds_against(q, 4) == pytest.approx(CONTRADICTION) == pytest.approx(math.log(9))
    assert log_odds_against(q, 9) == 0
    assert log_odds_against(q, 3) == math.inf


def test_evidence_sensitivity_is_a_difference_of_rates() -> None:
    q = posterior((4, 0.9), (4, 0.9), (9, 0.95), (9, 0.95))
    found = row("It is a 4.", "It is a 4.", "It is a 9.", "It is a 9.", posterior=q, new_ink=ink(1, 1, 1, 1))
    assert (found["n_contradicted"], found["n_contradicted_revised"]) == (1, 1)
    assert (found["n_supported"], found["n_supported_revised"]) == (2, 0)
    assert found["evidence_sensitivity"] == 1.0
    assert found["inertia"] == 0.0


def two(*thoughts: str, **known: Any) -> list[dict[str, Any]]:
    return belief_rows(episode(*thoughts, digits=2, **known))


def test_collateral_change() -> None:
    q = np.full((3, 2, 10), 0.1)
    both = "The left digit is a 4 and the right digit is a 7."
    changed = "The right digit is a 1."
    left_only = np.array([[5, 5], [5, 0], [5, 0]])
    _, right = two(both, "Going on.", changed, posterior=q, new_ink=left_only)
    assert (right["n_changes"], right["n_collateral"]) == (1, 1)
    _, right = two(both, "Going on.", changed, posterior=q, new_ink=np.array([[5, 5], [5, 0], [0, 1]]))
    assert (right["n_changes"], right["n_collateral"]) == (1, 0)
    _, right = two(both, "Going on.", changed, posterior=q, new_ink=np.array([[5, 5], [0, 0], [0, 0]]))
    assert (right["n_changes"], right["n_collateral"]) == (1, 0)


def test_each_slot_has_its_own_panel_and_digit() -> None:
    left, right = two("The left digit is a 4 and the right digit is a 7.", label="41", answer="47")
    assert (left["first_belief_correct"], right["first_belief_correct"]) == (True, False)
    assert (left["wrong_belief"], right["wrong_belief"], right["wrong_survived"]) == (None, 7, True)


def test_tied_posterior_is_no_argmax() -> None:
    found = row("It is a 4.", label="9", answer="4", posterior=np.full((1, 1, 10), 0.1), new_ink=ink(0))
    assert found["anchored"] is None
    assert found["reasons"]["anchored"] == "ambiguous"
    assert found["evidence_right_glimpse"] is None


def test_steps_and_glimpses_are_apart() -> None:
    q = posterior((4, 0.9), (9, 0.9))
    found = row(
        "It is a 4.", "Hm.", "It is a 9.", label="9", posterior=q, new_ink=ink(1, 1), glimpse=[0, 0, 1]
    )
    assert (found["adoption_glimpse"], found["belief_right_glimpse"], found["lag"]) == (0, 1, 0)


def test_sustained_evidence() -> None:
    q = posterior((9, 0.9), (4, 0.9), (9, 0.9))
    found = row("It is a 9.", "Hm.", "Hm.", label="9", posterior=q, new_ink=ink(1, 1, 1))
    assert (found["evidence_right_glimpse"], found["belief_right_glimpse"], found["lag"]) == (2, 0, 2)


def test_nothing_known_is_null_with_a_reason() -> None:
    found = row("A line.", None)
    assert (found["n_thoughts"], found["n_explicit"], found["explicit_belief_rate"]) == (1, 0, 0.0)
    for field, value in found.items():
        if value is None:
            assert found["reasons"][field] in REASONS, field
    assert row(None)["explicit_belief_rate"] is None
    assert found["ignored_rate"] is None
    assert found["reasons"]["ignored_rate"] == "not_recorded"


def test_consistency_checks() -> None:
    found = two(
        "The left digit is a 4. The left digit is a 9. There are three digits.", "Both digits are seen."
    )[0]
    assert found["n_two_tops"] == 1
    assert (found["n_count_claims"], found["n_wrong_count_claims"]) == (2, 1)


def test_pooled_rates_have_counts_and_intervals() -> None:
    stated = ("A line.", "It is a 4.", "I still think it is a 4.", "It is a 4.")
    rows = [row(*stated, **ANCHORED), row(*stated, **{**ANCHORED, "answer": "9"}), row("A line.")]
    rates = {r["metric"]: r for r in pooled(rows)}
    survival = rates["wrong_belief_survival"]
    assert (survival["k"], survival["n"], survival["rate"]) == (1, 2, 0.5)
    assert 0 < survival["low"] < 0.5 < survival["high"] < 1
    assert (rates["anchoring"]["k"], rates["anchoring"]["n"]) == (1, 2)
    assert (rates["flip_rate"]["k"], rates["flip_rate"]["n"]) == (0, 4)
    assert rates["collateral_change"]["rate"] is None
    assert pooled([])[0]["rate"] is None


def test_published_survival_interval() -> None:
    """docs/metrics.md 2.2: 15 of 17 wrong beliefs kept is 88 % (Wilson 66-97)."""
    rows = [
        row("A line.", "It is a 4.", label="9", answer="4" if kept else "9")
        for kept in [True] * 15 + [False] * 2
    ]
    found = next(r for r in pooled(rows) if r["metric"] == "wrong_belief_survival")
    assert (found["k"], found["n"]) == (15, 17)
    assert [round(100 * found[k]) for k in ("rate", "low", "high")] == [88, 66, 97]


def stated(*probabilities: float, **known: Any) -> Episode:
    return episode(*[f"I am {100 * p:.0f}% sure it is a 4." for p in probabilities], **known)


def test_martingale_slope_of_entrenchment_and_of_retreat() -> None:
    growing = martingale(probability_steps(stated(0.2, 0.22, 0.26, 0.34, 0.5, 0.82)))
    assert growing.slope is not None and growing.slope == pytest.approx(1, abs=0.1)
    back = martingale(probability_steps(stated(0.9, 0.7, 0.6, 0.55, 0.52)))
    assert back.slope is not None and back.slope == pytest.approx(-0.5, abs=0.05)
    assert back.n == 4
    assert martingale([]).slope is None
    assert martingale(probability_steps(episode("It is a 4.", "It is a 4."))).n == 0


def test_conservatism_of_half_speed_beliefs() -> None:
    odds = np.array([0.0, 1.0, 2.5, 3.0, 4.0])
    q = np.zeros((5, 1, 10))
    q[:, 0, 4] = 1 / (1 + np.exp(-odds))
    q[:, 0, 9] = 1 - q[:, 0, 4]
    believed = 1 / (1 + np.exp(-odds / 2))
    steps = [
        (believed[i], believed[i + 1] - believed[i], float(odds[i + 1] - odds[i]))
        for i in range(len(odds) - 1)
    ]
    assert conservatism(steps).slope == pytest.approx(0.5)
    from_text = conservatism(probability_steps(stated(*believed, posterior=q)))
    assert from_text.slope == pytest.approx(0.5, abs=0.05)
    assert from_text.low is not None and from_text.high is not None
    assert from_text.low < 0.5 < from_text.high


THOUGHTS = st.lists(
    st.sampled_from(["It is a 4.", "It is a 9.", "It's not a 9.", "Maybe a 4 or a 9.", "Going on.", None]),
    min_size=1,
    max_size=7,
)


@settings(deadline=None)
@given(THOUGHTS, st.integers(0, 2**32 - 1))
def test_counts_are_consistent(thoughts: list[str | None], seed: int) -> None:
    rng = np.random.default_rng(seed)
    q = rng.dirichlet(np.full(10, 0.2), size=(len(thoughts), 1))
    fresh = rng.integers(0, 2, size=(len(thoughts), 1))
    found = row(*thoughts, label="9", answer="4", posterior=q, new_ink=fresh)
    assert 0 <= found["n_spells_ignored"] <= found["n_spells"] <= found["n_contradicted"]
    assert found["n_contradicted_revised"] <= found["n_contradicted"]
    assert found["n_supported_revised"] <= found["n_supported"]
    assert found["n_to_right"] + found["n_to_wrong"] + found["n_lateral"] == found["n_flips"]
    assert found["n_flips"] <= max(found["n_explicit_tops"] - 1, 0)
    assert found["n_collateral"] == 0
    revised = [s for s in spell_of(*thoughts, posterior=q, new_ink=fresh) if s[3] == "revised"]
    assert len(revised) == found["n_contradicted_revised"]
