"""What is drawn beside one episode's path: coverage, references, posterior and stated beliefs, glimpse by glimpse."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from ..schemas import Episode, Geometry, Run
from ..schemas.enums import REASONS
from ..schemas.metrics import EpisodeMetrics, Posterior, StepMetrics
from ..schemas.tables import TABLES
from ..traces.arrow import from_rows
from ..traces.store import Store
from .beliefs.events import episode_events
from .beliefs.extract import extract
from .derive import VERSION, Derived, derive
from .kernels import coverage
from .kernels.acquisition import greedy_path, sweep_path
from .metrics import canvases_of
from .posterior import EvidenceReader

READ_EACH = 400
"""Glimpses up to which every one is read; of a longer episode only the last."""
_THOUGHT = 20_000


def tracks(store: Store, run: Run, episode: Episode, reader: EvidenceReader | None) -> dict[str, Any]:
    """Curves of one episode, ready for JSON.

    Args:
        store: where its canvas is.
        run: its run.
        episode: with its steps and texts.
        reader: gives the posterior; without it there is none.

    Returns:
        by shown glimpse `coverage`, `panel_coverage`, `new_ink`, `kind` (docs/metrics.md A1, A3) and `posterior`
        (panel, digit), evidence `window`; by move `greedy` and `sweep`, the coverage of the reference paths; by
        step `beliefs`; in `notes` why something is null.
    """
    canvases = canvases_of(store, [episode])
    long = len(episode.steps) > READ_EACH
    extent: Posterior = "none" if reader is None else "last" if long else "each"
    # A long episode takes seconds to derive anew (recurrences grow with the square of its length).
    derived = stored(store, run, episode, reader) if long else None
    derived = derived or derive(run, [episode], canvases, extent, reader)
    rows, reasons = derived.steps, derived.episodes[0].reasons or {}
    canvas = canvases.whole.get(episode.canvas or "") if "coverage_window" not in reasons else None
    return {
        "coverage": _column(rows, "coverage_window"),
        "panel_coverage": _column(rows, "panel_coverage_window"),
        "new_ink": _column(rows, "new_ink"),
        "kind": _column(rows, "kind"),
        "posterior": _column(rows, "posterior_window"),
        **_references(canvas, episode, run.geometry()),
        "beliefs": _beliefs(episode, run.n_panels),
        "notes": _notes(reasons, extent, rows),
    }


def stored(store: Store, run: Run, episode: Episode, reader: EvidenceReader | None) -> Derived | None:
    """An episode's metrics as they were derived before; None without those of this version and this reader."""
    ingest = store.run_row(run.run)["ingest_id"]
    mine = (pl.col("ingest_id") == ingest) & (pl.col("episode_id") == episode.episode_id)
    good = pl.col("version") == VERSION
    if reader is not None:
        good &= pl.col("posterior_version") == reader.version
    rows = store.raw("episode_metrics").filter(mine & good).collect().to_dicts()
    steps = store.raw("step_metrics").filter(mine).sort("glimpse").collect().to_dicts() if rows else []
    if not steps:
        return None
    return Derived(
        from_rows(EpisodeMetrics, TABLES["episode_metrics"], rows),
        from_rows(StepMetrics, TABLES["step_metrics"], steps),
    )


def _column(rows: list[StepMetrics], name: str) -> list[Any] | None:
    values = [getattr(row, name) for row in rows]
    return values if any(value is not None for value in values) else None


def _references(canvas: np.ndarray | None, episode: Episode, geometry: Geometry | None) -> dict[str, Any]:
    windows = episode.windows()
    if canvas is None or geometry is None or not windows:
        return {"greedy": None, "sweep": None}
    start, size = windows[0], (geometry.window, geometry.stride)
    walks = {
        "greedy": greedy_path(canvas, start, *size),
        "sweep": sweep_path(start, *size, geometry.panel, geometry.n_panels),
    }
    tables = coverage.canvas_tables(canvas[None], geometry.n_panels)
    offsets = np.cumsum([0, *(len(walk) for walk in walks.values())])
    curves = coverage.coverage_curves(
        tables, np.zeros(2, np.int64), np.concatenate(list(walks.values())), offsets, geometry.window
    )
    return {
        name: part.tolist()
        for name, part in zip(walks, np.split(curves.coverage, offsets[1:-1]), strict=True)
    }


def _beliefs(episode: Episode, panels: int | None) -> list[Any] | None:
    """What each step's thought states and changes, None for a step without one; None without any thought."""
    thoughts = {text.step: text.thought for text in episode.step_texts if text.thought}
    if not thoughts or panels is None:
        return None
    stated = [extract(thoughts.get(step.step, "")[:_THOUGHT], panels) for step in episode.steps]
    events: dict[int, dict[str, str]] = {}
    for event in episode_events(stated, panels, episode.label):
        events.setdefault(event.step, {})[event.slot] = event.event
    return [
        {**said.to_json(), "events": events.get(i, {})} if step.step in thoughts else None
        for i, (step, said) in enumerate(zip(episode.steps, stated, strict=True))
    ]


def _notes(reasons: dict[str, str], extent: Posterior, rows: list[StepMetrics]) -> dict[str, str]:
    notes = {}
    if why := reasons.get("coverage_window"):
        notes["coverage"] = f"No coverage: {REASONS[why]}."
        notes["posterior"] = f"No posterior: {REASONS[why]}."
    elif extent == "none":
        notes["posterior"] = "No posterior: the reference reader is not installed."
    elif extent == "last" and rows:
        notes["posterior"] = f"{len(rows)} glimpses: only the last one was read."
    return notes
