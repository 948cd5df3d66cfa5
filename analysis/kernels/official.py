"""The official runner's exploration figures, over the list of windows exactly as the log has it.

Equal to what the official runner stores, which rounds to six digits (docs/metrics.md, counting rule 3).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from .coverage import CanvasTables, coverage_curves

READABLE_INSET = (2, 2)
"""The official runner counts two pixels on every side of a window as hidden by the outline, drawn or not."""


class Official(NamedTuple):
    """One float64 value per episode; NaN where the log has no window.

    Attributes:
        official_stroke_coverage: share of the stroke pixels inside a window; 0 without any, as stored.
        official_stroke_coverage_readable: the same with every window shrunk by two pixels on all sides.
        official_area_coverage: share of the canvas inside a window.
        official_revisit_rate: (windows - distinct windows) / windows.
    """

    official_stroke_coverage: np.ndarray
    official_stroke_coverage_readable: np.ndarray
    official_area_coverage: np.ndarray
    official_revisit_rate: np.ndarray


def official_figures(
    tables: CanvasTables, canvas_of: np.ndarray, windows_source: np.ndarray, offsets: np.ndarray, window: int
) -> Official:
    """The four official figures of many episodes.

    Arguments and errors as in `coverage.coverage_curves`, with the log's own windows, duplicates and all.
    """
    whole = coverage_curves(tables, canvas_of, windows_source, offsets, window)
    readable = coverage_curves(tables, canvas_of, windows_source, offsets, window, READABLE_INSET)
    windows, offsets = np.asarray(windows_source, np.int64), np.asarray(offsets, np.int64)
    height, width = tables.sums.shape[1] - 1, tables.sums.shape[2] - 1
    return Official(*_last(windows, offsets, whole.coverage, readable.coverage, whole.area, width, height))


@njit(cache=True)
def _last(windows, offsets, coverage, readable, area, width, height):
    """The four figures of each episode: the last values of its curves, and its revisits."""
    figures = np.full((4, len(offsets) - 1), np.nan)
    latest = np.zeros((height, width), np.int32)  # by position: 1 + the episode that was there last
    for e in range(len(offsets) - 1):
        start, end = offsets[e], offsets[e + 1]
        if start == end:
            continue
        revisits = 0
        for t in range(start, end):
            x, y = windows[t, 0], windows[t, 1]
            revisits += latest[y, x] == e + 1
            latest[y, x] = e + 1
        figures[0, e] = 0.0 if np.isnan(coverage[end - 1]) else coverage[end - 1]
        figures[1, e] = 0.0 if np.isnan(readable[end - 1]) else readable[end - 1]
        figures[2, e] = area[end - 1]
        figures[3, e] = revisits / (end - start)
    return figures
