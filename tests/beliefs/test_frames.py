"""Some 900 phrasings, English and Chinese, read the same whichever digit stands in them (frames.txt)."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from mnistpro_replay.analysis.beliefs.extract import extract

FRAMES = [
    line.split("|", 1)
    for line in (Path(__file__).parent / "frames.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]


def with_article(digit: int) -> str:
    return f"an {digit}" if digit == 8 else f"a {digit}"


def filled(frame: str, d: int, e: int, c: int) -> str:
    a, b = with_article(d), with_article(e)
    names = {"d": d, "e": e, "c": c, "a": a, "b": b, "D": d, "A": a.capitalize(), "B": b.capitalize()}
    return frame.replace("\\n", "\n").format(**names)


def expected(code: str, d: int, e: int) -> dict[str, int | None]:
    if code[0] == "1":
        return {"digit": d if "T" in code else None}
    known = code[1:]
    return {
        "left": d if "L" in known else None,
        "right": e if "R" in known else None,
        "unassigned": d if known == "U" else None,
    }


@pytest.mark.parametrize("seed", [0, 1])
def test_frames(seed: int) -> None:
    rng = random.Random(seed)
    wrong = []
    for code, frame in FRAMES:
        d, e, c = rng.sample(range(3, 10), 3)
        thought = filled(frame, d, e, c)
        found = extract(thought, int(code[0])).slots
        tops = {slot: belief.top for slot, belief in found.items()}
        excluded = {"1N": (d,), "1TN": (e,), "10": ()}.get(code)
        if tops != expected(code, d, e) or (excluded is not None and found["digit"].excluded != excluded):
            wrong.append((code, thought, tops, found.get("digit")))
    assert not wrong
    assert len(FRAMES) > 800
