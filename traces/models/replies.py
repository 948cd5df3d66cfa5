"""Reading a model's reply: as the official runner does, and as a reader who wants to know what was meant."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from ...schemas.enums import ParseStatus
from ..world.env import official_answer

_WIDEST = re.compile(r"\{.*\}", re.DOTALL)
_ANSWER_KEYS = ("value", "answer", "digits", "digit", "prediction", "number", "label")
_SAID = re.compile(
    r"(?:answer|digits?|numbers?|value|prediction|reads?|says?)\W{0,6}(?:(?:is|are|be|=)\W{0,4})?(\d(?:[\s,]*\d)*)(?!\S*%)",
    re.IGNORECASE,
)
_DECODER = json.JSONDecoder()


def parse_action(text: str) -> dict[str, Any] | None:
    """The object between the first and the last brace, as the official runner reads a reply; None for none.

    >>> parse_action('I go {"action": "move"}.'), parse_action('{"a": 1} {"b": 2}')
    ({'action': 'move'}, None)
    """
    found = _WIDEST.search(text)
    try:
        value = json.loads(found[0] if found else text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def strict_answer(text: str, n_panels: int) -> str | None:
    """The answer that the official runner would log for a reply; None where it sees none.

    >>> strict_answer('{"action": "answer", "value": "x"}', 1), strict_answer("7", 1)
    ('-1', None)
    """
    action = parse_action(text)
    if action is None or action.get("action") != "answer":
        return None
    return official_answer(action.get("value"), n_panels)


def robust_answer(text: str, n_panels: int) -> tuple[str | None, ParseStatus]:
    """The digits that a reply means.

    Looks, in this order, at the official reading; at every JSON object in the reply, the last first; at the
    last phrase like "the answer is 47"; and takes a reply that is nothing but digits.

    Args:
        text: the reply.
        n_panels: digits that an answer has.

    Returns:
        the digits or None, and how they came out: `ok` by the official reading, `repaired` otherwise;
        `wrong_length` where there are digits but not so many; `no_answer` where the reply declines or moves;
        `unparseable` where it says nothing of the kind.

    >>> robust_answer('{"action": "answer", "value": "47"}', 2), robust_answer("The answer is 4, 7.", 2)
    (('47', 'ok'), ('47', 'repaired'))
    """
    action = parse_action(text)
    if action is not None and action.get("action") == "answer":
        value = action.get("value")
        if isinstance(value, str) and re.fullmatch(rf"[0-9]{{{n_panels}}}", value.strip()):
            return value.strip(), "ok"
    objects = [action] if action is not None else list(_objects(text))[::-1]
    values = [entry[key] for entry in objects for key in _ANSWER_KEYS if key in entry]
    candidates = [_digits(value) for value in values] or [_digits(said) for said in _SAID.findall(text)[::-1]]
    candidates = candidates or ([_digits(text)] if re.fullmatch(r"[\s\d,.]+", text) else [])
    for digits in candidates:
        if len(digits) == n_panels:
            official = action is not None and strict_answer(text, n_panels) == digits
            return digits, "ok" if official else "repaired"
    if any(candidates):
        return None, "wrong_length"
    declined = objects and all(value is None for value in values)
    return None, "no_answer" if declined else "unparseable"


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Every JSON object in a text that is not inside another."""
    at = text.find("{")
    while at >= 0:
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield value
        at = text.find("{", end)


def _digits(value: Any) -> str:
    """Digits of a value: of text, of a whole number, of a list; none of anything else."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, list):
        return "".join(_digits(item) for item in value)
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        return ""
    text = re.sub(r"^\s*(\d+)\.0+\s*$", r"\1", str(value))
    return "".join(re.findall(r"[0-9]", text)) if re.fullmatch(r"[\s\d,.\-/|]*", text) else ""
