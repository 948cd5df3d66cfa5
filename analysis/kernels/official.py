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
    offsets = np.asarray(offsets, np.int64)
    shown = np.flatnonzero(np.diff(offsets))
    last = offsets[shown + 1] - 1
    figures = Official(*np.full((4, len(offsets) - 1), np.nan))
    figures.official_stroke_coverage[shown] = np.nan_to_num(whole.coverage[last])
    figures.official_stroke_coverage_readable[shown] = np.nan_to_num(readable.coverage[last])
    figures.official_area_coverage[shown] = whole.area[last]
    revisits = _revisits(np.asarray(windows_source, np.int64), offsets)
    figures.official_revisit_rate[shown] = revisits[shown] / np.diff(offsets)[shown]
    return figures


@njit(cache=True)
def _revisits(windows, offsets):
    """Windows of each episode that equal an earlier one."""
    revisits = np.zeros(len(offsets) - 1, np.int64)
    for e in range(len(revisits)):
        for t in range(offsets[e], offsets[e + 1]):
            for earlier in range(offsets[e], t):
                if windows[earlier, 0] == windows[t, 0] and windows[earlier, 1] == windows[t, 1]:
                    revisits[e] += 1
                    break
    return revisits
