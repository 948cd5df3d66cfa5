"""Beliefs extracted by asking a model: structure, what is left out, agreement with the rules."""

from __future__ import annotations

import json

import pytest
from fake_server import FakeServer, Received, spec

from mnistpro_replay.analysis.beliefs.asked import Asked, extraction
from mnistpro_replay.analysis.beliefs.extract import extract
from mnistpro_replay.analysis.beliefs.score import kappa
from mnistpro_replay.traces.models.client import Client, RequestFailed

THOUGHT = "This is probably a 7, but it could be a 1. It is not a 4."


THOUGHTS = [
    THOUGHT,
    "I think this is a 3.",
    "It must be an 8, certainly not a 0.",
    "Nothing to be seen here, I go on to the right.",
    "Could it be a 5? Maybe a 6.",
]


def candidate(digit: int, quote: str, **more) -> dict:
    return {"digit": digit, "kind": "hedged", "strength": "likely", "p": None, "quote": quote} | more


def reply(top: object = 7, candidates: list | None = None, excluded: object = (4,)) -> dict:
    found = [candidate(7, "probably a 7"), candidate(1, "could be a 1", strength="possible")]
    slot = {"top": top, "candidates": found if candidates is None else candidates}
    return {"slots": {"digit": slot | {"excluded": list(excluded)}}, "n_digits_claim": None}


def test_a_reply_becomes_an_extraction_with_spans() -> None:
    found = extraction(reply(), THOUGHT, 1, prior=[3])
    slot = found.slots["digit"]
    assert (slot.top, slot.excluded, found.event) == (7, (4,), "REVISE")
    assert [(c.digit, THOUGHT[slice(*c.span)], c.rule) for c in slot.candidates] == [
        (7, "7", "asked"),
        (1, "1", "asked"),
    ]
    assert found.to_json().keys() == extract(THOUGHT, 1, [3]).to_json().keys()


@pytest.mark.parametrize(
    "wrong",
    [
        candidate(9, "a 9 for sure"),
        candidate(7, ""),
        candidate(12, "probably a 7"),
        candidate(7, "probably a 7", kind="felt"),
        candidate(7, "probably a 7", strength="very"),
        "7",
    ],
)
def test_what_the_thought_does_not_say_is_left_out(wrong: object) -> None:
    slot = extraction(reply(candidates=[wrong]), THOUGHT, 1).slots["digit"]
    assert slot.candidates == () and slot.top is None


def test_a_question_is_no_top() -> None:
    asked = candidate(7, "probably a 7", kind="question")
    assert extraction(reply(candidates=[asked]), THOUGHT, 1).slots["digit"].top is None


def test_a_malformed_reply_is_asked_for_again() -> None:
    said = ["no", '{"slots": []}', json.dumps(reply())]
    with FakeServer(lambda request: said[server.replies]) as server:
        assert Asked(Client(spec(server)))(THOUGHT, 1).slots["digit"].top == 7
    assert server.replies == 3 and THOUGHT in server.received[0].texts[0]
    with FakeServer(lambda request: "no") as server, pytest.raises(RequestFailed, match="without slots"):
        Asked(Client(spec(server)))(THOUGHT, 1)


def test_kappa_of_a_model_that_repeats_the_rules_is_one() -> None:
    by_rules = {thought: extract(thought, 1) for thought in THOUGHTS}
    assert len({e.slots["digit"].top for e in by_rules.values()}) > 2

    def repeat(request: Received) -> str:
        thought = next(t for t in by_rules if request.texts[0].endswith(t.rstrip("\n")))
        slot = by_rules[thought].slots["digit"].to_json()
        for c in slot["candidates"]:
            c["quote"] = thought[slice(*c["span"])]
        return json.dumps({"slots": {"digit": slot}, "n_digits_claim": None})

    with FakeServer(repeat) as server:
        asked = Asked(Client(spec(server)))
        found = [asked(thought, 1).to_json() for thought in by_rules]
    agreement = kappa([e.to_json() for e in by_rules.values()], found)
    assert agreement.n == len(by_rules) and agreement.kappa == 1.0
