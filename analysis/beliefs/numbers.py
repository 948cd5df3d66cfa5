"""English numbers: which of them are digits of a canvas, and which are counts, steps, places or shares.

Everything here keeps lengths, so that offsets in the working string are offsets in the sentence. A number
that is no digit claim becomes letters (`nn`), a number word that is one becomes its digit padded with NUL.
"""

from __future__ import annotations

import re

from .rules import patterns

PAD = "\0"
LEFT_MARK, RIGHT_MARK = "\x01", "\x02"
"""Stand for the number in `digit 1: ...`, `digit 2: ...`."""

_P = patterns("numbers")
NUMBER = re.compile(rf"\d|{_P['WORD'].pattern}")
"""Whether a sentence can name a digit at all."""
_MASKS = [pattern for name, pattern in _P.items() if name.startswith("MASK_")]
_WORDS = {w: i for i, w in enumerate("zero one two three four five six seven eight nine".split())}


def letters(match: re.Match[str]) -> str:
    """Letters in the place of a number: what is no digit claim."""
    return "n" * len(match[0])


def shares(sentence: str) -> tuple[str, list[float]]:
    """Replace percentages and decimals by `℗` (padded); returns the string and the values in [0, 1]."""
    values: list[float] = []

    def replace(match: re.Match[str]) -> str:
        value = float(match["percent"]) / 100 if match["percent"] else float(match["decimal"])
        if value > 1:
            return letters(match)
        values.append(value)
        return "℗" + PAD * (len(match[0]) - 1)

    return _P["SHARE"].sub(replace, sentence), values


def mask(sentence: str, digits: int) -> str:
    """Turn numbers that cannot be digit claims into letters, number words that are into digits."""
    out = _P["LIST_NUMBER"].sub(letters, sentence)
    if digits > 1:
        out = _P["PLACE_DIGIT"].sub(_place, out)
    if digits == 1 or _P["UP_DOWN"].search(out):
        out = _P["TURNS"].sub(letters, out)
    for pattern in _MASKS:
        out = pattern.sub(letters, out)
    return _words(out)


def mask_long(text: str) -> str:
    """Turn every number of several digits into letters."""
    return _P["LONG"].sub(letters, text)


def _place(match: re.Match[str]) -> str:
    return match[0][:-1] + (LEFT_MARK if match["n"] == "1" else RIGHT_MARK)


def _words(text: str) -> str:
    """Number words in the place of a digit name become `7` + padding; counts and pronouns stay words."""
    done = 0
    out = ""
    for match in _P["NUMBER_WORD"].finditer(text):
        before = out[-60:] + text[done : match.start()]
        if _names_digit(match[0], before, text[match.end() : match.end() + 40]):
            out += text[done : match.start()] + str(_WORDS[match[0]]) + PAD * (len(match[0]) - 1)
            done = match.end()
    return out + text[done:]


def _names_digit(word: str, before: str, after: str) -> bool:
    if _P["THING_NEXT"].match(after):
        return False
    if not before.strip("\"'( "):
        return word not in {"one", "two"} and _P["SUBJECT_VERB"].match(after) is not None
    if _P["AFTER_THE"].search(before) and _P["AFTER_THE_FEW"].match(after):
        return word != "one"
    ends = _P["PHRASE_END"].match(after) is not None
    if _P["AFTER_NOUN"].search(before):
        return ends or word != "one"
    if not ends:
        return False
    if _P["JOINED"].search(before):
        return True
    if _P["AFTER_THE"].search(before):
        return word not in {"one", "two", "three"}
    found = _P["AFTER_VERB"].search(before)
    return found is not None and word != "one" and not (word == "two" and found["verb"] in {"to", "with"})
