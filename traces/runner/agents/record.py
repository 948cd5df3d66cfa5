"""Fresh runs of models into the store, with what was forced out of them on the side."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import fields
from datetime import datetime

from ....schemas import Episode, Image, InputRow, PredictionRow, Run, Usage
from ...models.client import Turn
from ...store import RunExists, Store
from ..run import Line
from .play import AgentPlan, probe_reading, run_agents

PROBE = "probe@1"
"""Representation of a forced answer: the conversation that the model had at that glimpse."""


def record_agents(
    plan: AgentPlan, store: Store, on_episode: Callable[[Episode], object] = lambda episode: None
) -> Run:
    """Make a run and write it to the store; after a crash or a cap the same call goes on from there.

    A run that this plan made before is left as it is. Forced answers go to `predictions` and `inputs`, with
    representation `probe@1`. `on_episode` is called with every episode.

    Raises:
        RunExists: where another run has the name.
        BlockingIOError: where another process is making this run.
        StopAsking: where a cap is reached or the model refuses; the journal keeps what was received.
        ValueError: for a plan that cannot be run, or that differs from the unfinished one of that name.
    """
    run = plan.run()
    digest = f"{run.run_id} repeat {run.repeat} episodes {plan.episodes}"
    with store.journal(f"run {run.run}") as journal:
        if run.run not in store.runs()["run"]:
            forced: list[tuple[PredictionRow, InputRow]] = []
            with store.writer(run, digest) as writer:
                for played, probes in run_agents(plan, journal):
                    writer.add(played.canvas)
                    for name, data in played.images.items():
                        writer.add(Image(image=name, data=data))
                    writer.add(played.episode)
                    forced += [_probe_rows(plan, run, played.episode, line) for line in probes]
                    on_episode(played.episode)
                store.append("predictions", [prediction for prediction, _ in forced])
                store.append("inputs", [item for _, item in forced], ingest_id=writer.ingest_id)
        elif store.run_row(run.run)["source_digest"] != digest:
            raise RunExists(f"there is another run {run.run!r} already; give this one another name")
        journal.clear()
    return store.run(run.run)


def _probe_rows(plan: AgentPlan, run: Run, episode: Episode, line: Line) -> tuple[PredictionRow, InputRow]:
    answer, probabilities, status = probe_reading(line["raw"], plan.level)
    key = _conversation_hash(line["conversation"], f"{run.run_id} {run.repeat} {episode.episode_id}")
    prediction = PredictionRow(
        input_hash=key,
        representation=PROBE,
        predictor=plan.client.spec.name,
        predictor_version=plan.client.spec.id,
        prompt_hash=run.prompts_hash or "",
        settings=plan.client.settings,
        answer=answer,
        parse_status=status,
        probabilities=probabilities,
        raw_reply=line["raw"],
        latency=line["model_latency"],
        error=line["error"],
        created=datetime.fromisoformat(line["time"]),
        **{field.name: line["usage"].get(field.name) for field in fields(Usage)},
    )
    where = {"episode_id": episode.episode_id, "glimpse": line["glimpse"], "evidence": "window"}
    return prediction, InputRow(**where, representation=PROBE, input_hash=key)


def _conversation_hash(conversation: list[Turn], owner: str) -> str:
    # A repeat that happens to have the same conversation is another sample of the same model, hence `owner`.
    digest = hashlib.sha256(owner.encode())
    for turn in conversation:
        for part in turn.parts:
            digest.update(
                b"\0" + (part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass"))
            )
    return digest.hexdigest()
