"""Answers forced out of a model on the side: what they say, and how they are stored."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from ....schemas import InputRow, PredictionRow, Usage
from ....schemas.enums import ParseStatus
from ...models.client import Client, Turn
from ...models.replies import parse_action, robust_answer
from ..recorder import Forced
from ..run import Line

PROBE = "probe@1"
"""Representation of a forced answer: the conversation that the model had at that glimpse."""


def forced_answer(
    client: Client, n_panels: int, prompt_hash: str, line: Line, conversation: Sequence[Turn], owner: str
) -> Forced:
    """A probe's reply as rows of `predictions` and `inputs`.

    Args:
        client: the model that was asked.
        n_panels: digits that an answer has.
        prompt_hash: of the run's prompts.
        line: the reply as journalled, with `glimpse` and `episode`.
        conversation: what was sent.
        owner: run and repeat: a repeat with the same conversation is another sample of the same model.
    """
    answer, probabilities, status = probe_reading(line["raw"], n_panels)
    key = _hash(conversation, f"{owner} {line['episode']}")
    prediction = PredictionRow(
        input_hash=key,
        representation=PROBE,
        predictor=client.spec.name,
        predictor_version=client.spec.id,
        prompt_hash=prompt_hash,
        settings=client.settings,
        answer=answer,
        parse_status=status,
        probabilities=probabilities,
        raw_reply=line["raw"],
        latency=line["model_latency"],
        error=line["error"],
        created=datetime.fromisoformat(line["time"]),
        **{field.name: line["usage"].get(field.name) for field in fields(Usage)},
    )
    return prediction, InputRow(
        episode_id=str(line["episode"]),
        glimpse=line["glimpse"],
        evidence="window",
        representation=PROBE,
        input_hash=key,
    )


def _hash(conversation: Sequence[Turn], owner: str) -> str:
    digest = hashlib.sha256(owner.encode())
    for turn in conversation:
        for part in turn.parts:
            digest.update(
                b"\0" + (part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass"))
            )
    return digest.hexdigest()


def probe_reading(raw: str | None, n_panels: int) -> tuple[str | None, list[list[float]] | None, ParseStatus]:
    """Answer, probabilities and parse status of a probe's reply; probabilities are scaled to sum to one."""
    if raw is None:
        return None, None, "failed"
    answer, status = robust_answer(raw, n_panels)
    given = (parse_action(raw) or {}).get("probabilities")
    if n_panels == 1 and isinstance(given, list) and len(given) == 10:
        given = [given]
    if not isinstance(given, list) or len(given) != n_panels:
        return answer, None, status
    rows = [_distribution(row) for row in given]
    return answer, None if None in rows else rows, status  # type: ignore[return-value]


def _distribution(row: Any) -> list[float] | None:
    if not isinstance(row, list) or len(row) != 10:
        return None
    if not all(isinstance(p, (int, float)) and not isinstance(p, bool) and 0 <= p < 1e9 for p in row):
        return None
    total = sum(row)
    return [p / total for p in row] if total > 0 else None
