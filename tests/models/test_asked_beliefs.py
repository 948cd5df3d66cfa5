"""Beliefs extracted by asking a model: structure, what is left out, agreement with the rules."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from fake_server import KEY, WIRES, FakeServer, Received, spec

from mnistpro_replay.analysis.beliefs.asked import ATTEMPTS, Asked, asked_beliefs, extraction
from mnistpro_replay.analysis.beliefs.extract import Thought, extract
from mnistpro_replay.analysis.beliefs.score import kappa, write_sheet
from mnistpro_replay.replay.swap import Outcome
from mnistpro_replay.traces.models import Prompts
from mnistpro_replay.traces.store import Store

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


def of(request: Received) -> str:
    """The thought that a request asks about."""
    return next(t for t in THOUGHTS if request.texts[0].endswith(t))


def as_the_rules(request: Received) -> str:
    """What the rules read, as a model would write it."""
    thought = of(request)
    slots = {}
    for name, found in extract(thought, 1).to_json()["slots"].items():
        for c in found["candidates"]:
            c["quote"] = thought[slice(*c["span"])]
        slots[name] = found
    return json.dumps({"slots": slots, "n_digits_claim": None})


def read(store: Store, server: FakeServer, thoughts: Iterable[Thought], **more) -> tuple[list, Outcome]:
    return asked_beliefs(store, Asked(spec(server), **more), list(thoughts))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store", create=True)


def test_a_malformed_reply_is_asked_for_again_and_all_are_paid_for(store: Store) -> None:
    said = ["no", '{"slots": []}', json.dumps(reply())]
    with FakeServer(lambda request: said[server.replies]) as server:
        asked = Asked(spec(server, price=(2.0, 10.0)))
        (found,), outcome = asked_beliefs(store, asked, [Thought(THOUGHT, 1)])
    assert found.slots["digit"].top == 7 and THOUGHT in server.received[0].texts[0]
    assert server.replies == 3 and outcome.cost == pytest.approx(3 * 0.00054)


def test_a_text_without_a_usable_reply_is_null_alone_and_not_asked_about_again(store: Store) -> None:
    def talk(request: Received) -> str:
        return "no idea" if of(request) == THOUGHTS[1] else as_the_rules(request)

    with FakeServer(talk) as server:
        found, _ = read(store, server, [Thought(t, 1) for t in THOUGHTS])
        assert [isinstance(each, str) for each in found] == [False, True, False, False, False]
        assert "without slots" in found[1] and server.replies == 4 + ATTEMPTS
        again, outcome = read(store, server, [Thought(t, 1) for t in THOUGHTS])
        assert again == found and (outcome.predictor_calls, server.replies) == (0, 4 + ATTEMPTS)


def test_a_failed_request_is_null_alone_and_asked_about_again(store: Store) -> None:
    with FakeServer(as_the_rules, faults=["", "400"]) as server:
        found, outcome = read(store, server, [Thought(t, 1) for t in THOUGHTS[:3]], concurrency=1)
        assert [isinstance(each, str) for each in found] == [False, True, False]
        assert outcome.failed == 1 and found[1] == next(iter(outcome.errors)) and KEY not in found[1]
        again, outcome = read(store, server, [Thought(t, 1) for t in THOUGHTS[:3]])
    assert (outcome.predictor_calls, outcome.cached) == (1, 2)
    assert not any(isinstance(each, str) for each in again)


def test_one_reply_serves_equal_texts_whatever_came_before(store: Store, tmp_path: Path) -> None:
    thoughts = [Thought(THOUGHT, 1), Thought(THOUGHT, 1, [3]), Thought(THOUGHT, 1, [7]), Thought(THOUGHT, 2)]
    with FakeServer(lambda request: json.dumps(reply())) as server:
        found, outcome = read(store, server, thoughts)
        assert [each.event for each in found[:3]] == [None, "REVISE", "CONFIRM"]
        assert (server.replies, outcome.deduplicated) == (2, 2), "two digits are another question"
        (tmp_path / "prompts").mkdir()
        (tmp_path / "prompts" / "beliefs.txt").write_text("Mine: $thought")
        read(store, server, thoughts[:1], prompts=Prompts(tmp_path / "prompts"))
        assert server.replies == 3 and server.received[-1].texts == [f"Mine: {THOUGHT}"]
        with pytest.raises(ValueError, match="prior"):
            read(store, server, [Thought("It is a 5.", 1), Thought(THOUGHT, 1, [12])])
        assert server.requests == 3, "a prior is looked at before anything is asked"


def test_kappa_of_a_model_that_repeats_the_rules_is_one(store: Store) -> None:
    by_rules = [extract(thought, 1).to_json() for thought in THOUGHTS]
    assert len({e["slots"]["digit"]["top"] for e in by_rules}) > 2
    with FakeServer(as_the_rules) as server:
        found, _ = read(store, server, [Thought(t, 1) for t in THOUGHTS])
    agreement = kappa(by_rules, [each.to_json() for each in found])
    assert agreement.n == len(by_rules) and agreement.kappa == 1.0


def lines(*thoughts: str) -> io.StringIO:
    return io.StringIO("".join(json.dumps({"thought": t, "digits": 1}) + "\n" for t in thoughts))


@pytest.fixture
def extracted(called, monkeypatch: pytest.MonkeyPatch):
    """`beliefs extract` over THOUGHTS: status, lines and stderr."""

    def call(*words: str, extractor: str = "local", **more) -> tuple[int, list, str]:
        monkeypatch.setattr(sys, "stdin", lines(*THOUGHTS))
        status, out, err = called("beliefs", "extract", "--extractor", extractor, *words, **more)
        return status, [json.loads(line) for line in out.splitlines()], err

    return call


@pytest.mark.parametrize("wire", WIRES)
def test_every_provider_is_asked_once_for_the_same_text(extracted, wire: str) -> None:
    with FakeServer(as_the_rules) as server:
        status, found, err = extracted(server=server, model=f"{wire}/m")
        assert status == 0, err
        assert server.requests == len(THOUGHTS) and "5 thoughts asked about" in err
        again = extracted(server=server, model=f"{wire}/m")
        assert again[:2] == (0, found) and server.requests == len(THOUGHTS)
        assert extracted("--fresh", server=server, model=f"{wire}/m")[0] == 0
        assert server.requests == 2 * len(THOUGHTS)
    by_rules = extracted(extractor="rules")[1]
    assert [e["slots"]["digit"]["top"] for e in found] == [e["slots"]["digit"]["top"] for e in by_rules]
    assert found[0].keys() == by_rules[0].keys()
    assert KEY not in "".join(p.read_text("latin-1") for p in Path().rglob("*") if p.is_file())


@pytest.mark.parametrize(("cap", "value"), [("--max-calls", "2"), ("--max-cost", "0.0012")])
def test_caps_stop_with_everything_kept_and_the_same_command_goes_on(extracted, cap: str, value: str) -> None:
    with FakeServer(as_the_rules, delay=0.01) as server:
        status, found, err = extracted(cap, value, server=server)
        assert status == 1 and f"{cap} {value} reached" in err and server.replies == 2
        told = [each["reason"] for each in found if each["slots"] is None]
        assert len(found) == 5 and len(told) == 3 and all(cap in reason for reason in told)
        status, found, _ = extracted(server=server)
        assert status == 0 and server.replies == 5 and all(each["slots"] for each in found)


def test_a_bad_text_is_one_null_line_and_status_1(extracted) -> None:
    def talk(request: Received) -> str:
        return "{" if of(request) == THOUGHTS[2] else as_the_rules(request)

    with FakeServer(talk) as server:
        status, found, err = extracted(server=server)
    assert status == 1 and [n for n, each in enumerate(found) if each["slots"] is None] == [2]
    assert "without slots" in found[2]["reason"] and "1 thoughts without" in err


def test_concurrency_and_pace_are_kept(extracted) -> None:
    with FakeServer(as_the_rules, delay=0.05) as server:
        assert extracted("--concurrency", "2", server=server)[0] == 0
        assert server.most_open == 2
        # Both mean 0.2 s between requests; the first comes late, as its connection is made after its turn.
        for option, value in (("--rpm", "300"), ("--tpm", str(2000 * 300))):
            assert extracted(option, value, "--fresh", server=server)[0] == 0
            times = [request.time for request in server.received[-5:]]
            assert times[-1] - times[0] >= 0.5, option


def test_a_prior_that_is_none_is_told_before_anything_is_asked(called, monkeypatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"thought": "a 7", "digits": 1, "prior": [12]}'))
    with FakeServer() as server:
        status, out, err = called("beliefs", "extract", "--extractor", "local", server=server)
    assert (status, out, server.requests) == (2, "", 0) and "prior" in err


@pytest.mark.parametrize(
    ("words", "faults", "says"),
    [
        (("--max-calls", "0"), [], "--max-calls 0"),
        ((), ["401"] * 9, "check the key"),
        ((), ["404"] * 9, "model's"),
    ],
)
def test_where_nothing_comes_back_it_is_status_2(extracted, words: tuple, faults: list, says: str) -> None:
    with FakeServer(faults=faults) as server:
        status, found, err = extracted(*words, "--concurrency", "1", server=server)
    assert (status, found) == (2, []) and says in err and server.requests <= 1


def test_score_tells_kappa_with_the_rules_and_asks_once(called) -> None:
    # A blank sheet: whoever reads a top disagrees with it.
    Path("sheet.csv").write_text(write_sheet([{"thought": t, "digits": 1} for t in THOUGHTS]))

    def shy(request: Received) -> str:
        return "no" if of(request) == THOUGHTS[4] else as_the_rules(request)

    with FakeServer(shy) as server:
        words = ("beliefs", "score", "sheet.csv", "--extractor", "local")
        status, out, err = called(*words, "--json", server=server)
        told = json.loads(out)
        assert status == 1 and "1 thoughts without" in err
        assert (told["kappa_rules"]["n"], told["kappa_rules"]["kappa"]) == (4, 1.0)
        assert told["kappa"]["n"] == 4 and told["kappa"]["kappa"] == 0.0
        assert all(row["n"] == row["n_thoughts"] for row in told["rows"])
        before = server.requests
        assert "kappa with the rules over 4 slots: 1.000" in called(*words, server=server)[1]
        assert server.requests == before
    assert "kappa_rules" not in called("beliefs", "score", "sheet.csv", "--json")[1]
