"""Stated beliefs from a thought, by asking a model; the same structure as the rules give."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from ...traces.models import Prompts
from ...traces.models.client import Client, RequestFailed, Turn
from ...traces.models.replies import parse_action
from .events import Prior, prior_states, step_event
from .model import TOPABLE, Candidate, Extraction, Kind, SlotBelief, Strength, slot_names

RULE = "asked"
"""Rule id of every candidate that a model named."""

ATTEMPTS = 3
_KINDS, _STRENGTHS = get_args(Kind), get_args(Strength)


class Asked:
    """An extractor that asks a model.

    A candidate counts only where its quotation stands in the thought: what a model adds of its own is no
        statement.

    Args:
        client: the model.
        prompts: prompt files; `beliefs.txt` is used.
    """

    def __init__(self, client: Client, prompts: Prompts | None = None) -> None:
        self._client, self._prompts = client, prompts or Prompts()
        self._runner = asyncio.Runner()

    def __call__(self, thought: str, digits: int, prior: Prior | None = None) -> Extraction:
        """Read the beliefs stated in one thought; see `read`."""
        return self._runner.run(self.read(thought, digits, prior))

    async def read(self, thought: str, digits: int, prior: Prior | None = None) -> Extraction:
        """Read the beliefs stated in one thought.

        Args:
            thought: free text as the agent wrote it.
            digits: digits on the canvas, at least 1.
            prior: earlier tops, to name the event; None for no event.

        Raises:
            ValueError: where `prior` cannot be read.
            StopAsking: where the model should not be asked any more.
            RequestFailed: where a request got no reply, or no reply has the structure asked for.
        """
        turn = Turn("user", (question(self._prompts, thought, digits),))
        for _ in range(ATTEMPTS):
            reply = parse_action((await self._client.ask([turn])).text)
            if reply is not None and isinstance(reply.get("slots"), Mapping):
                return extraction(reply, thought, digits, prior)
        raise RequestFailed(f"{ATTEMPTS} replies without slots")


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
