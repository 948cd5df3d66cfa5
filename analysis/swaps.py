"""Swaps as the dashboard shows them: the matrix, the flips, and what a predictor was given and replied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..replay.representations import Frozen, representation
from ..schemas import Evidence, PredictorInput
from ..traces.store import Store, StoreError, geometry_of
from .database import Database
from .measures import measured

AGENT = "the agent itself"


def forms(database: Database) -> list[dict[str, Any]]:
    """Representations and evidence modes that predictors have read, with how many readings: most first."""
    return database.query(
        "SELECT representation, evidence, count(*) AS n FROM readings WHERE at_last GROUP BY ALL ORDER BY n DESC"
    ).to_dicts()


def matrix(
    database: Database, form: str, evidence: Evidence, runs: Sequence[str] | None
) -> list[dict[str, Any]]:
    """Cells of `figures.swap_matrix` (`sql/swap_matrix.sql`): the agent's own answers, then each predictor's."""
    rows = measured(database.query("swap_matrix"))
    cells = []
    for row in rows:
        if (row["representation"], row["evidence"]) != (form, evidence) or (runs and row["run"] not in runs):
            continue
        own = {"trajectory": row["run"], "predictor": AGENT, "own": True, **_cell(row["own"])}
        if own not in cells:
            cells.append(own)
        same = row["predictor"] == row["model"]
        cells.append(
            {"trajectory": row["run"], "predictor": row["predictor"], "own": same, **_cell(row["accuracy"])}
        )
    return cells


def _cell(value: Any) -> dict[str, Any]:
    interval = value.interval
    return {"accuracy": interval.estimate, "low": interval.low, "high": interval.high, "n": interval.n}


def flips(
    database: Database,
    runs: Sequence[str] | None,
    predictor: str,
    form: str,
    evidence: Evidence,
    who: str | None,
) -> list[dict[str, Any]]:
    """Episodes that the agent and the predictor answered differently (`sql/flips.sql`)."""
    given = {"runs": list(runs) if runs else None, "predictor": predictor, "representation": form}
    return database.query("flips", {**given, "evidence": evidence, "who": who}).to_dicts()


def replies(
    database: Database, run: str, source_id: str, form: str, evidence: Evidence
) -> list[dict[str, Any]]:
    """What each predictor replied to the evidence after the last shown glimpse: answer, raw reply, probabilities."""
    return database.query(
        """
        SELECT p.predictor, p.predictor_version, p.answer, p.parse_status, p.raw_reply, p.probabilities, i.glimpse
        FROM inputs i JOIN predictions p USING (input_hash) JOIN episodes e USING (ingest_id, episode_id)
        WHERE e.run = $run AND e.source_episode_id = $id AND i.evidence = $evidence
            AND split_part(i.representation, '@', 1) = $form AND p.error IS NULL
        QUALIFY i.glimpse = max(i.glimpse) OVER ()
        ORDER BY p.predictor, p.created
        """,
        {"run": run, "id": source_id, "form": form, "evidence": evidence},
    ).to_dicts()


def given(store: Store, run: str, source_id: str, form: str, evidence: Evidence) -> PredictorInput:
    """The input that the evidence of an episode gives, built anew.

    Raises:
        StoreError: where canvas, windows or geometry are not known.
        KeyError: for an unknown representation.
    """
    record = store.run(run)
    episodes = store.episodes(run, [source_id], texts=True)
    windows = episodes[0].windows() if episodes else None
    canvases = store.canvases([episodes[0].canvas or ""]) if episodes else {}
    if windows is None or not canvases:
        raise StoreError(f"{run}#{source_id}: canvas or windows are not known")
    canvas = next(iter(canvases.values()))
    return representation(form).input(Frozen(episodes[0], canvas, geometry_of(record), windows, evidence))
