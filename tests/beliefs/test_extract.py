"""Belief extraction: the forty thoughts of docs/metrics.md 3.6, the labelled sentences, and hostile input."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnistpro_replay.analysis.beliefs.extract import LONGEST, extract
from mnistpro_replay.analysis.beliefs.rules import grammar
from mnistpro_replay.analysis.beliefs.score import score, sentences
from mnistpro_replay.analysis.beliefs.text import normalise

KINDS = {
    "asserted",
    "hedged",
    "question",
    "conditional",
    "analogy",
    "plan",
    "pseudo_negation",
    "past",
    "quoted",
}
GOLDEN = [
    json.loads(line)
    for line in (Path(__file__).parent / "golden40.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: str(case["id"]))
def test_golden_thought(case: dict) -> None:
    found = extract(case["thought"], case["digits"], case.get("prior")).to_json()
    assert found.get("event") == case.get("event")
    assert found["n_digits_claim"] == case["n_digits_claim"]
    assert found["slots"].keys() == case["slots"].keys()
    for slot, expected in case["slots"].items():
        got = found["slots"][slot]
        assert (got["top"], got["excluded"]) == (expected["top"], expected["excluded"]), slot
        stated = [
            {key: candidate[key] for key in wanted}
            for candidate, wanted in zip(got["candidates"], expected["candidates"], strict=True)
        ]
        assert stated == expected["candidates"], slot


def test_golden_spans_point_at_the_digit() -> None:
    words = dict(zip("zero one two three four five six seven eight nine".split(), range(10), strict=True))
    for case in GOLDEN:
        for belief in extract(case["thought"], case["digits"]).slots.values():
            for candidate in belief.candidates:
                written = case["thought"][slice(*candidate.span)].lower()
                assert words.get(written, written) in (candidate.digit, str(candidate.digit)), case["thought"]


def test_labelled_sentences(capsys: pytest.CaptureFixture[str]) -> None:
    labelled = sentences()
    rows = score([extract(s["thought"], s["digits"]).to_json() for s in labelled], labelled)
    with capsys.disabled():
        print()
        for row in sorted(rows, key=lambda row: row["kind"].zfill(5)):
            print(_printed(row))
    overall = rows[0]
    assert overall["kind"] == "all"
    assert overall["precision"] >= 0.97
    assert overall["recall"] >= 0.90


def _printed(row: dict) -> str:
    parts = [f"{row['kind']:>5}"]
    for name, n in (("precision", "n_predicted"), ("recall", "n_labelled")):
        if row[name] is not None:
            bounds = f"[{row[name + '_low']:.3f}, {row[name + '_high']:.3f}]"
            parts.append(f"{name} {row[name]:.3f} {bounds} of {row[n]:3d}")
    return "  ".join(parts)


def test_labelled_set_is_as_promised() -> None:
    labelled = sentences()
    assert len(labelled) >= 220
    assert len({s["thought"] for s in labelled}) > 0.98 * len(labelled)
    assert 0.4 < sum(s["digits"] == 2 for s in labelled) / len(labelled) < 0.6
    assert sum(any("\u4e00" <= c <= "\u9fff" for c in s["thought"]) for s in labelled) >= 20
    kinds = Counter(s["kind"] for s in labelled)
    assert all(kinds[kind] >= 8 for kind in range(1, 17)), kinds
    assert kinds["plain"] >= 8


def test_labelled_events() -> None:
    cases = [s for s in sentences() if "event" in s]
    assert len(cases) >= 10
    for case in cases:
        assert extract(case["thought"], case["digits"], case["prior"]).event == case["event"], case["thought"]


@pytest.mark.parametrize("digits", [1, 2, 3])
def test_structure(digits: int) -> None:
    found = extract("It is probably a 7, not a 1; the rest could be the top of a 5.", digits).to_json()
    assert list(found["slots"]) == (["digit"] if digits == 1 else ["left", "right", "unassigned"])
    for belief in found["slots"].values():
        for candidate in belief["candidates"]:
            assert set(candidate) == {"digit", "strength", "kind", "p", "span", "rule"}
            assert candidate["kind"] in KINDS
            assert candidate["strength"] in {"certain", "likely", "possible"}
    assert "event" not in found
    json.dumps(found)


def test_no_digits_is_an_error() -> None:
    with pytest.raises(ValueError, match="digits"):
        extract("It is a 7.", 0)


def test_more_than_two_digits() -> None:
    found = extract("The first digit is a 4, the last digit is a 9. I also see a 2. The answer is 429.", 3)
    assert [found.slots[s].top for s in ("left", "right", "unassigned")] == [4, 9, 2]
    assert not extract("The answer is 47.", 3).explicit


@pytest.mark.parametrize(
    "thought",
    [
        "Creo que es un 7, la parte de arriba es recta.",
        "Das ist vermutlich eine 4, oben ist sie offen.",
        "Je pense que le chiffre est un 6.",
        "これは5だと思います。",
        "Это цифра 9.",
        "이것은 3입니다.",
        "هذا هو الرقم ٧",
        "Acho que o dígito é 2.",
    ],
)
def test_other_languages_say_nothing(thought: str) -> None:
    assert not extract(thought, 1).explicit
    assert not extract(thought, 2).explicit


def test_json_reply_is_not_a_statement() -> None:
    reply = '{"thought": "Curves only.", "spatial_map": [{"coords": [0, 7], "features": "a 5"}], "value": 7}'
    assert not extract(reply, 1).explicit
    spoken = '{"thought": "This is clearly a 3.", "action": "answer", "value": 3}'
    candidate = extract(spoken, 1).slots["digit"].candidates[0]
    assert spoken[slice(*candidate.span)] == "3"
    assert candidate.span[0] < spoken.index("action")


def test_truncated_json_does_not_leak() -> None:
    assert not extract('{"action": "answer", "value": 7', 1).explicit
    assert extract('{"thought": "It is a 4.", "action": "mo', 1).slots["digit"].top == 4


LONG = {
    "prose": "The stroke goes down. The digit might be a 7, but I am not sure. ",
    "digits": "7 ",
    "one word": "7",
    "no stops": "it is a 7 or an 8 and ",
    "open braces": '{"a": ',
    "quotes": '"',
    "json": '{"coords": [0, 1], "features": "top of a 7"},',
    "corrections": "It is a 7. Wait, it is a 9. ",
    "chinese": "左边可能是7，",
    "brackets": "((",
    "newlines": "\n",
}


@pytest.mark.parametrize("name", LONG)
def test_two_megabytes_in_seconds(name: str) -> None:
    text = LONG[name] * (2_000_000 // len(LONG[name]))
    start = time.process_time()
    extract(text, 2)
    assert time.process_time() - start < 10


def test_end_of_a_long_thought_is_read_with_true_offsets() -> None:
    thought = "Nothing to see here. " * (LONGEST // 10) + "It is a 5."
    candidate = extract(thought, 1).slots["digit"].candidates[0]
    assert thought[slice(*candidate.span)] == "5"


@given(st.text(max_size=200), st.integers(1, 3))
def test_any_text(thought: str, digits: int) -> None:
    assert len(normalise(thought)) == len(thought)
    found = extract(thought, digits)
    for belief in found.slots.values():
        digits_named = {c.digit for c in belief.candidates}
        assert belief.top is None or belief.top in digits_named
        assert digits_named.isdisjoint(belief.excluded)
        assert all(0 <= c.span[0] < c.span[1] <= len(thought) for c in belief.candidates)


WORDS = st.sampled_from(
    "it is not a an the 7 8 9 seven maybe probably if ? , . ; left right digit or and because 80% (".split()
)


@given(st.lists(WORDS, max_size=25))
def test_any_word_salad(words: list[str]) -> None:
    for digits in (1, 2):
        for belief in extract(" ".join(words), digits).slots.values():
            assert belief.top is None or belief.top in {c.digit for c in belief.candidates}


@pytest.mark.parametrize("language", ["english", "chinese"])
def test_rules_are_well_formed(language: str) -> None:
    rules = grammar(language).rules
    assert len({rule.id for rule in rules}) == len(rules)
    for rule in rules:
        assert rule.kind in KINDS | {"negated", "share", "fragment", "generic"}, rule.id
        assert rule.strength in {"certain", "likely", "possible"}, rule.id


def test_every_rule_id_of_a_candidate_is_a_rule() -> None:
    known = {rule.id for language in ("english", "chinese") for rule in grammar(language).rules}
    known |= {rule.id for rule in grammar("english").definite}
    known |= {"definite", "definite.hypothesis", "coordinated", "cond.discharged"}
    for sentence in sentences():
        for belief in extract(sentence["thought"], sentence["digits"]).slots.values():
            assert {c.rule.removesuffix("+conceded") for c in belief.candidates} <= known
