"""Stated beliefs from a thought, by rules: high precision, null when unsure (docs/metrics.md 3.4-3.6).

English and Chinese are read; a thought in another language gives an empty extraction. With more than two
digits, `left` and `right` mean the first and the last digit and are filled only where a position is stated;
everything else is `unassigned`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from . import chinese, chunks, slots
from .chunks import Shadow
from .events import Prior, prior_states, step_event
from .model import Extraction, slot_names
from .readings import Reading, readings, refer
from .resolve import slot_belief, withdraw
from .rules import grammar
from .slots import Topic
from .stance import stances
from .text import blank_json, language, normalise, sentences, tail


@dataclass(frozen=True)
class _Language:
    """How a language is read: its shadow sentences, its slots, its digit counts, its rules."""

    shadow: Callable[[str, int, int], Shadow]
    assign: Callable[[Shadow, Topic, set[str]], list[str | None]]
    digit_count: Callable[[str], int | None]
    grammar: str


_LANGUAGES = {
    "en": _Language(chunks.shadow, slots.assign, slots.digit_count, "english"),
    "zh": _Language(chinese.shadow, chinese.assign, chinese.digit_count, "chinese"),
}


LONGEST = 50_000
"""Characters of a thought that are read; of a longer one its end, as later statements outweigh earlier."""


class Thought(NamedTuple):
    """What is read: an agent's free text, the digits on its canvas, its earlier tops (None for no event)."""

    text: str
    digits: int
    prior: Prior | None = None


def extract(thought: str, digits: int, prior: Prior | None = None) -> Extraction:
    """Read the beliefs stated in one thought.

    Args:
        thought: Free text as the agent wrote it; JSON it echoes is ignored but for a `thought` string. Only its
            last `LONGEST` characters are read.
        digits: Digits on the canvas, at least 1.
        prior: Earlier tops, oldest first, to name the event (`events.prior_states`); None for no event.

    Returns:
        The extraction; spans are offsets in `thought`.

    Raises:
        ValueError: If `digits` is below 1 or `prior` cannot be read.
    """
    names = slot_names(digits)
    text = blank_json(normalise(tail(thought, LONGEST)))
    found, count = _read(text, digits)
    standing = withdraw(found, text)
    beliefs = {name: slot_belief([r for r in standing if r.slot == name], text) for name in names}
    event = None if prior is None else step_event(prior_states(prior, names), beliefs)
    return Extraction(beliefs, count, event)


def _read(text: str, digits: int) -> tuple[list[Reading], int | None]:
    """Readings of all sentences in order, and the last claim about the number of digits."""
    main = language(text)
    found: list[Reading] = []
    count: int | None = None
    topic = Topic()
    topped: set[str] = set()
    for index, (start, end) in enumerate(sentences(text)):
        sentence = text[start:end]
        reader = _LANGUAGES.get(language(sentence, main) or "")
        if reader is None:
            continue
        count = reader.digit_count(sentence) or count
        shadow = reader.shadow(sentence, start, digits)
        places = reader.assign(shadow, topic, topped) if digits > 1 else ["digit"] * len(shadow.chunks)
        new = readings(shadow, stances(shadow, grammar(reader.grammar), text[end : end + 20]), places, index)
        topped |= {r.slot for r in new if r.topable}
        found += refer(new, found[-8:]) if digits > 1 else new
        if digits > 1 and found and (side := slots.moved_to(shadow)):
            moved = [r for r in found[-2:] if r.at == found[-1].at]
            found[-len(moved) :] = [r.placed(side) for r in moved]
    return found, count
