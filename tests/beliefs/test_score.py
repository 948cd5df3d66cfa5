"""Precision, recall and kappa on hand-computed cases; the sheet for hand labels comes back as written."""

from __future__ import annotations

from typing import Any

import pytest

from mnistpro_replay.analysis.beliefs.extract import extract
from mnistpro_replay.analysis.beliefs.score import SHEET, kappa, read_sheet, score, sentences, write_sheet


def tops(*digits: int | None, kinds: list[str] | None = None) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = [{"slots": {"digit": {"top": d, "excluded": []}}} for d in digits]
    for label, kind in zip(out, kinds or [], strict=False):
        label["kind"] = kind
    return out


def test_precision_and_recall_by_hand() -> None:
    rows = score(tops(7, 1, None, 4, 5), tops(7, 2, 3, None, 5, kinds=["a", "a", "b", "b", "b"]))
    overall, a, b = rows
    assert (overall["kind"], overall["hits"], overall["n_predicted"], overall["n_labelled"]) == (
        "all",
        2,
        4,
        4,
    )
    assert (overall["precision"], overall["recall"]) == (0.5, 0.5)
    assert overall["precision_low"] == pytest.approx(0.15, abs=0.005)
    assert overall["precision_high"] == pytest.approx(0.85, abs=0.005)
    assert (a["kind"], a["precision"], a["recall"]) == ("a", 0.5, 0.5)
    assert (b["kind"], b["precision"], b["recall"]) == ("b", 0.5, 0.5)


def test_nothing_to_score_is_null() -> None:
    (only,) = score(tops(None), tops(None))
    assert only["precision"] is None and only["recall"] is None and only["precision_low"] is None


def test_score_refuses_what_does_not_match() -> None:
    with pytest.raises(ValueError, match="shorter|longer"):
        score(tops(1), tops(1, 2))
    with pytest.raises(ValueError, match="slots differ"):
        score([extract("It is a 7.", 2).to_json()], tops(7))


def test_kappa() -> None:
    same = kappa(tops(1, 2, None, 2), tops(1, 2, None, 2))
    assert same.kappa == pytest.approx(1)
    chance = kappa(tops(1, 1, 2, 2), tops(1, 2, 1, 2))
    assert chance.kappa == pytest.approx(0)
    assert chance.low is not None and chance.high is not None and chance.low < 0 < chance.high
    assert kappa(tops(1, 1), tops(1, 1)).kappa is None
    assert kappa([], []).n == 0


def test_blank_sheet_has_a_row_for_each_slot() -> None:
    text = write_sheet([{"thought": 'a "quoted", two\nlines', "digits": 2}, {"thought": "b", "digits": 1}])
    assert text.splitlines()[0] == ",".join(SHEET)
    labels = read_sheet(text)
    assert [list(label["slots"]) for label in labels] == [["left", "right", "unassigned"], ["digit"]]
    assert labels[0]["thought"] == 'a "quoted", two\nlines'
    assert all(slot == {"top": None, "excluded": []} for label in labels for slot in label["slots"].values())


def test_filled_sheet_comes_back() -> None:
    thoughts = sentences()
    labels = read_sheet(write_sheet(thoughts, thoughts))
    assert len(labels) == len(thoughts)
    for label, original in zip(labels, thoughts, strict=True):
        assert label["slots"] == original["slots"]
        assert label["n_digits_claim"] == original["n_digits_claim"]
        assert label["kind"] == str(original["kind"])
        assert label.get("prior") == original.get("prior")


def test_same_thought_twice_is_two_labels() -> None:
    labels = read_sheet(write_sheet([{"thought": "It is a 7.", "digits": 1}] * 2))
    assert len(labels) == 2


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda text: text.replace("excluded", "exclude", 1), "missing columns: excluded"),
        (lambda text: text.replace("digit,7,", "digit,17,"), "row 2: not a digit: 17"),
        (lambda text: text.replace("digit,7,", "digit,seven,"), "row 2"),
        (lambda text: text.replace(",1,,digit", ",,,digit"), "row 2"),
    ],
)
def test_broken_sheet_says_where(edit: Any, message: str) -> None:
    text = write_sheet([{"thought": "It is a 7.", "digits": 1}], [extract("It is a 7.", 1).to_json()])
    assert read_sheet(text)[0]["slots"]["digit"]["top"] == 7
    with pytest.raises(ValueError, match=message):
        read_sheet(edit(text))
