"""Events between consecutive explicit beliefs (docs/metrics.md 3.4)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnistpro_replay.analysis.beliefs.events import EVENTS, Event, episode_events, prior_states
from mnistpro_replay.analysis.beliefs.extract import extract
from mnistpro_replay.analysis.beliefs.model import slot_names


def said(*thoughts: str, digits: int = 1, label: str | None = None, answer: str | None = None) -> list[Event]:
    return episode_events([extract(t, digits) for t in thoughts], digits, label, answer)


def names(*thoughts: str) -> list[str]:
    return [event.event for event in said(*thoughts)]


@pytest.mark.parametrize(
    ("thoughts", "expected"),
    [
        (["A line.", "It is a 7."], ["SILENT", "ADOPT"]),
        (["It is a 7.", "Going down.", "Still a 7."], ["ADOPT", "SILENT", "CONFIRM"]),
        (["It is a 7.", "It is a 9."], ["ADOPT", "REVISE"]),
        (["It is a 7.", "It is a 9.", "It is a 7."], ["ADOPT", "REVISE", "REINSTATE"]),
        (["It is a 7.", "It's not a 7."], ["ADOPT", "RETRACT"]),
        (["It is a 7.", "It's not a 7.", "It is a 7 after all."], ["ADOPT", "RETRACT", "REINSTATE"]),
        (["It is a 7.", "It could be a 7 or a 1."], ["ADOPT", "WIDEN"]),
        (["It is a 7.", "It could be a 4 or a 9."], ["ADOPT", "RETRACT"]),
        (["It could be a 3, 5 or 8.", "It could be a 3 or an 8."], ["NARROW", "NARROW"]),
        (["It could be a 3 or an 8.", "It could be a 3, 5 or 8."], ["NARROW", "WIDEN"]),
        (["It could be a 3 or an 8.", "It could be a 3 or an 8."], ["NARROW", "CONFIRM"]),
        (["It's not a 1.", "It's not a 1.", "It's not a 7."], ["NARROW", "CONFIRM", "NARROW"]),
        (["It's not a 1.", "I can't rule out a 1."], ["NARROW", "WIDEN"]),
        (["It is a 7.", "It's not a 1."], ["ADOPT", "SILENT"]),
        (["It is a 7.", "Is it a 9? I have to check."], ["ADOPT", "SILENT"]),
        (["It is a 7.", "At first I thought it was a 1."], ["ADOPT", "SILENT"]),
        (["Is it a 9?"], ["SILENT"]),
    ],
)
def test_sequences(thoughts: list[str], expected: list[str]) -> None:
    assert names(*thoughts) == expected


def test_directions() -> None:
    events = said("It is a 7.", "It is a 9.", "It is a 4.", "It is a 9.", "It's not a 9.", label="9")
    assert [e.direction for e in events] == [None, "to_right", "to_wrong", "to_right", "right_lost"]
    assert [e.event for e in events[2:]] == ["REVISE", "REINSTATE", "RETRACT"]
    assert said("It is a 7.", "It is a 4.", label="9")[1].direction == "lateral"
    assert said("It is a 7.", "It's not a 7.", label="9")[1].direction == "wrong_lost"
    assert said("It is a 7.", "It is a 9.")[1].direction is None


def test_swap_needs_both_slots() -> None:
    before = "The left digit is a 7 and the right digit is a 1."
    both = said(before, "The left digit is a 1 and the right digit is a 7.", digits=2, label="17")
    swaps = [e for e in both if e.step == 1 and e.slot != "unassigned"]
    assert [(e.event, e.direction) for e in swaps] == [("SWAP", "to_right"), ("SWAP", "to_right")]
    one = said(before, "The left digit is a 1.", digits=2)
    assert [e.event for e in one if e.step == 1] == ["REVISE", "SILENT", "SILENT"]


def test_commit_compares_answer_and_belief() -> None:
    commit = said("It is a 7.", answer="7")[-1]
    assert (commit.event, commit.step, commit.before, commit.after) == ("COMMIT", 0, 7, 7)
    assert commit.answer_matches_belief is True
    assert said("It is a 7.", answer="1")[-1].answer_matches_belief is False
    assert said("A line.", answer="1")[-1].answer_matches_belief is None
    assert said("It is a 7.")[-1].event == "ADOPT"
    left, right, loose = said("The left digit is a 4.", digits=2, answer="47")[-3:]
    assert (left.answer_matches_belief, right.answer_matches_belief, loose.after) == (True, None, None)
    short = said("The left digit is a 4.", digits=2, answer="4")[-3]
    assert (short.event, short.after, short.answer_matches_belief) == ("COMMIT", None, None)


@pytest.mark.parametrize(
    ("digits", "prior"),
    [
        (2, {"left": [7], "right": [1]}),
        (2, {"left": 7, "right": 1}),
        (2, ["L7", "R1"]),
        (2, ["l7", "r1"]),
    ],
)
def test_prior_forms(digits: int, prior: object) -> None:
    states = prior_states(prior, slot_names(digits))  # type: ignore[arg-type]
    assert (states["left"].held, states["right"].held, states["unassigned"].held) == (7, 1, None)


def test_prior_of_one_digit() -> None:
    assert prior_states([9, 4], ("digit",))["digit"].history == (9, 4)
    assert prior_states([], ("digit",))["digit"].held is None
    assert prior_states([3], slot_names(2))["unassigned"].held == 3


@pytest.mark.parametrize("prior", [[12], ["x"], {"left": [3]}, [-1], ["R"]])
def test_prior_that_makes_no_sense(prior: object) -> None:
    with pytest.raises(ValueError, match="prior"):
        prior_states(prior, ("digit",))  # type: ignore[arg-type]


def test_event_of_two_slots_is_the_weightiest() -> None:
    prior = {"left": [4], "right": [1]}
    thought = "The left digit is still a 4 and the right digit is a 7."
    assert extract(thought, 2, prior).event == "REVISE"
    assert extract("The left digit is a 4.", 2, prior).event == "CONFIRM"
    assert extract("Moving on.", 2, prior).event == "SILENT"


SAYINGS = st.sampled_from(
    [
        "It is a 3.",
        "It is a 5.",
        "Maybe an 8.",
        "It could be a 3 or a 5.",
        "It's not a 3.",
        "I can't rule out a 5.",
        "Is it an 8?",
        "Going left.",
    ]
)


@given(st.lists(SAYINGS, max_size=8), st.sampled_from(["3", "5", None]))
def test_events_fit_the_tops(thoughts: list[str], label: str | None) -> None:
    events = said(*thoughts, label=label)
    assert len(events) == len(thoughts)
    held = None
    for thought, event in zip(thoughts, events, strict=True):
        assert event.event in EVENTS
        assert event.before == held
        top = extract(thought, 1).slots["digit"].top
        assert top is None or event.after == top
        assert (event.event == "REVISE") <= (event.before is not None and event.before != event.after)
        assert (event.event in {"SILENT", "CONFIRM"}) <= (event.before == event.after)
        held = event.after
