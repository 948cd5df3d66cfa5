"""Stated beliefs from a thought, by asking a model; the same structure as the rules give.

Replies go the way of all replies: into the `predictions` table, where they are never asked for again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from ...replay.ask import Pending
from ...replay.predictors.llm.predictor import ModelPredictor
from ...replay.swap import Outcome, answered
from ...schemas import PredictionRow, PredictorInput, Reading, Usage
from ...traces.adapters.messages import add_usage
from ...traces.models import Prompts
from ...traces.models.client import Turn
from ...traces.models.replies import parse_action
from ...traces.store import Store
from .events import Prior, prior_states, step_event
from .extract import Thought
from .model import TOPABLE, Candidate, Extraction, Kind, SlotBelief, Strength, slot_names

RULE = "asked"
"""Rule id of every candidate that a model named."""

FORM = "beliefs@1"
"""Name and version of the question about a thought, as stored with its reply."""

ATTEMPTS = 3
_KINDS, _STRENGTHS = get_args(Kind), get_args(Strength)


class Asked(ModelPredictor):
    """Asks a model what a thought states: a `Predictor` of inputs of `FORM`."""

    representations: Sequence[str] = (FORM.partition("@")[0],)
    prompt_names = ("beliefs", "beliefs_unassigned")

    async def predict_async(self, item: PredictorInput) -> Reading:
        """Ask about one thought, again where a reply has not the structure asked for; the last reply counts.

        Raises:
            StopAsking: where the model should not be asked any more.
            RequestFailed: where this thought got no reply.
        """
        turn, usage = Turn("user", (question(self.prompts, item.text or "", item.n_panels),)), Usage()
        reading = Reading(None, usage=usage)
        for _ in range(ATTEMPTS):
            reply = await self.client.ask([turn])
            add_usage(usage, reply.usage)
            reading.raw = reply.text
            reading.parse_status = "unparseable" if structure(reply.text) is None else "ok"
            if reading.parse_status == "ok":
                break
        return reading


def asked_beliefs(
    store: Store,
    asked: Asked,
    thoughts: Sequence[Thought],
    *,
    fresh: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[list[Extraction | str], Outcome]:
    """What thoughts state, by stored replies of a model and those it now gives.

    Args:
        store: cache of replies, and where new ones go.
        asked: the model.
        thoughts: what to read; equal ones are asked about once.
        fresh: ask again even where a reply is there.
        progress: called with the calls made and to be made.

    Returns:
        for each thought its extraction, or why there is none; and what was asked.

    Raises:
        ValueError: where a prior cannot be read; before anything is asked.
        BlockingIOError: where another process asks the same model for this store.
    """
    for thought in thoughts:
        if thought.prior is not None:
            prior_states(thought.prior, slot_names(thought.digits))
    inputs = [PredictorInput(FORM, (), thought.digits, thought.text) for thought in thoughts]
    hashes = [item.hash for item in inputs]
    distinct = dict(zip(hashes, inputs, strict=True))
    pending = [Pending(key, FORM, item.n_panels, lambda item=item: item) for key, item in distinct.items()]
    outcome = Outcome(deduplicated=len(inputs) - len(distinct))
    known = answered(store, asked, pending, outcome, fresh=fresh, progress=progress)
    found = []
    for key, thought in zip(hashes, thoughts, strict=True):
        why = outcome.failures.get(key, outcome.stopped or "")
        found.append(_read(known[key], thought) if key in known else why)
    return found, outcome


def _read(row: PredictionRow, thought: Thought) -> Extraction | str:
    reply = structure(row.raw_reply or "")
    if reply is None:
        return f"{ATTEMPTS} replies without slots"
    return extraction(reply, thought.text, thought.digits, thought.prior)


def structure(text: str) -> Mapping[str, Any] | None:
    """The object that a reply holds, or None where it has no slots."""
    reply = parse_action(text)
    return reply if reply is not None and isinstance(reply.get("slots"), Mapping) else None


def question(prompts: Prompts, thought: str, digits: int) -> str:
    """What a model is asked about a thought."""
    names = slot_names(digits)
    empty = '{"candidates": [], "excluded": [], "top": null}'
    return prompts.text(
        "beliefs",
        count="one digit" if digits == 1 else f"{digits} digits",
        slots=", ".join(names),
        kinds=", ".join(_KINDS),
        unassigned="" if digits == 1 else prompts.text("beliefs_unassigned"),
        example=", ".join(f'"{name}": {empty}' for name in names),
        thought=thought,
    )


def extraction(reply: Mapping[str, Any], thought: str, digits: int, prior: Prior | None = None) -> Extraction:
    """The extraction that a model's reply describes; entries that make no sense are left out."""
    names = slot_names(digits)
    slots = {name: _slot(reply["slots"].get(name), thought) for name in names}
    claim = reply.get("n_digits_claim")
    count = claim if isinstance(claim, int) and not isinstance(claim, bool) and claim > 0 else None
    event = None if prior is None else step_event(prior_states(prior, names), slots)
    return Extraction(slots, count, event)


def _slot(entry: Any, thought: str) -> SlotBelief:
    if not isinstance(entry, Mapping):
        return SlotBelief()
    found = [_candidate(item, thought) for item in _listed(entry.get("candidates"))]
    candidates = tuple(sorted((c for c in found if c is not None), key=lambda c: c.span))
    excluded = sorted({d for d in map(_digit, _listed(entry.get("excluded"))) if d is not None})
    top = _digit(entry.get("top"))
    held = any(c.digit == top and c.kind in TOPABLE for c in candidates)
    return SlotBelief(top if held else None, candidates, tuple(excluded))


def _candidate(item: Any, thought: str) -> Candidate | None:
    if not isinstance(item, Mapping) or (digit := _digit(item.get("digit"))) is None:
        return None
    span = _span(item.get("quote"), digit, thought)
    kind, strength = item.get("kind"), item.get("strength")
    if span is None or kind not in _KINDS or strength not in _STRENGTHS:
        return None
    p = item.get("p")
    stated = isinstance(p, (int, float)) and not isinstance(p, bool) and 0 <= p <= 1
    return Candidate(digit, strength, kind, float(p) if stated else None, span, RULE)  # pyright: ignore[reportArgumentType]


def _span(quote: Any, digit: int, thought: str) -> tuple[int, int] | None:
    """Where a quotation stands in the thought, narrowed to its digit where that is written as one."""
    if not isinstance(quote, str) or not quote.strip():
        return None
    words = r"\s+".join(map(re.escape, quote.split()))
    found = re.search(words, thought, re.IGNORECASE)
    if found is None:
        return None
    at = thought.find(str(digit), found.start(), found.end())
    return found.span() if at < 0 else (at, at + 1)


def _digit(value: Any) -> int | None:
    if isinstance(value, str) and re.fullmatch(r"[0-9]", value):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 9 else None


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else []
