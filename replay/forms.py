"""Forms of evidence that take more than a line: what an agent wrote, a sheet of glimpses, characters."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..schemas import UNSEEN, Episode, Geometry, Point, Step, StepText
from ..traces.world import reveal

_GAP = 4
_CELLS = 28
INK, BLANK, HIDDEN = "#", ".", "?"


def thoughts(episode: Episode, glimpse: int, *, last: bool = False) -> str:
    """What the agent had written before it saw a shown glimpse, turn by turn, with the moves it made.

    Args:
        episode: with its step texts.
        glimpse: number of the shown glimpse.
        last: whether to add the thought written at that glimpse, which often holds the answer.
    """
    lines = []
    for turn, (step, text) in enumerate(_written(episode, glimpse, last=last), 1):
        moved = f" [moved {step.direction}]" if step.action_kind == "move" else ""
        lines.append(f"Turn {turn}: {text.thought if text and text.thought else '(nothing written)'}{moved}")
    return "\n".join(lines)


def map_entries(episode: Episode, glimpse: int) -> str:
    """The map that the agent had written before it saw a shown glimpse: one line for each entry, in order."""
    lines = []
    for turn, (_, text) in enumerate(_written(episode, glimpse), 1):
        for entry in _entries(text.spatial_map if text else None):
            lines.append(f"Turn {turn}: {json.dumps(entry.get('coords'))}: {entry.get('features', '')}")
    return "\n".join(lines)


def _entries(spatial_map: Any) -> list[dict[str, Any]]:
    entries = spatial_map if isinstance(spatial_map, list) else [spatial_map]
    return [entry for entry in entries if isinstance(entry, dict)]


def _written(episode: Episode, glimpse: int, *, last: bool = False) -> Iterator[tuple[Step, StepText | None]]:
    """Steps up to the one that led to a shown glimpse, each with its text; with `last`, the next one too."""
    texts = {text.step: text for text in episode.step_texts}
    led = episode.glimpses()[glimpse].step
    end = (-1 if led is None else led) + (1 if last else 0)
    yield from ((step, texts.get(step.step)) for step in episode.steps if step.step <= end)


def contact_sheet(
    canvas: np.ndarray, windows: list[Point], geometry: Geometry, seen: np.ndarray
) -> np.ndarray:
    """The glimpses' windows side by side in the order in which they were seen, row by row.

    Args:
        canvas: the hidden canvas, uint8 (H, W).
        windows: of the shown glimpses.
        geometry: the run's.
        seen: evidence mask, bool (H, W).

    Returns:
        uint8 array with about as many rows as columns of windows, 4 px of grey between them.
    """
    columns = math.ceil(math.sqrt(len(windows)))
    rows = -(-len(windows) // columns)
    side = geometry.window + _GAP
    sheet = np.full((rows * side - _GAP, columns * side - _GAP), UNSEEN, dtype=np.uint8)
    shown = reveal(canvas, seen)
    for number, window in enumerate(windows):
        x0, y0, x1, y1 = geometry.box(window)
        top, left = number // columns * side, number % columns * side
        sheet[top : top + y1 - y0, left : left + x1 - x0] = shown[y0:y1, x0:x1]
    return sheet


def ascii_canvas(canvas: np.ndarray, panel: int) -> str:
    """A consolidated canvas as characters: `#` ink, `.` blank, `?` not seen; 28 rows and columns a panel.

    A cell counts as seen where half of it was, as ink where a quarter of what was seen is.

    Args:
        canvas: uint8 (H, W), unseen pixels 128.
        panel: side of a panel in pixels.
    """
    cell = max(1, round(panel / _CELLS))
    height, width = (-(-side // cell) * cell for side in canvas.shape)
    padded = np.full((height, width), UNSEEN, dtype=np.uint8)
    padded[: canvas.shape[0], : canvas.shape[1]] = canvas
    cells = padded.reshape(height // cell, cell, width // cell, cell)
    seen = (cells != UNSEEN).sum(axis=(1, 3))
    ink = (cells == 0).sum(axis=(1, 3))
    marks = np.where(seen * 2 < cell * cell, HIDDEN, np.where(ink * 4 >= np.maximum(seen, 1), INK, BLANK))
    return "\n".join("".join(row) for row in marks)
