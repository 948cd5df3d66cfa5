"""How much of a canvas a series of glimpses has shown, after each of them (docs/metrics.md A3).

No pixel is touched per glimpse. A summed-area table, made once per canvas, gives the ink of any rectangle
from four look-ups. The edges of an episode's boxes cut the canvas into a grid of cells, each of which a box
covers wholly or not at all; a glimpse adds what its cells still hold, and leaves them empty.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from ...schemas.geometry import OUTLINE, Evidence


class CanvasTables(NamedTuple):
    """Canvases, prepared for look-ups.

    Attributes:
        sums: (n, height + 1, width + 1), stroke pixels above and to the left of each pixel corner, modulo the
            range of the dtype: the smaller unsigned one that holds the pixels of a panel.
        ink: int64 (n, n_panels), stroke pixels in each panel.
    """

    sums: np.ndarray
    ink: np.ndarray


class Curves(NamedTuple):
    """What G glimpses have shown, each row after one more glimpse of its episode.

    Attributes:
        coverage: float64 (G,), share of the stroke pixels; NaN where the canvas has none.
        panel_coverage: float64 (G, n_panels), the same within each panel.
        area: float64 (G,), share of the canvas.
        new_ink: int32 (G, n_panels), stroke pixels first shown by this glimpse.
        new_area: int32 (G,), pixels first shown by this glimpse.
    """

    coverage: np.ndarray
    panel_coverage: np.ndarray
    area: np.ndarray
    new_ink: np.ndarray
    new_area: np.ndarray


class Shown(NamedTuple):
    """What G glimpses show, each by itself.

    Attributes:
        ink: int64 (G, n_panels), stroke pixels in each panel.
        area: int64 (G,), pixels.
    """

    ink: np.ndarray
    area: np.ndarray


def inset(evidence: Evidence, draw_border: bool = True) -> tuple[int, int]:
    """Pixels that the outline takes from a window: (at the left and top, at the right and bottom)."""
    return (OUTLINE, OUTLINE - 1) if evidence == "visible_exact" and draw_border else (0, 0)


def canvas_tables(canvases: np.ndarray, n_panels: int = 1) -> CanvasTables:
    """Prepare canvases of one size for `coverage_curves` and the official figures.

    Args:
        canvases: uint8 (n, height, width), stroke pixels are 0. A canvas that is not known enters as all 255:
            its area curve is right and its coverage NaN.
        n_panels: panels side by side; the width must be a multiple of it.

    Raises:
        ValueError: if the array is not three-dimensional or the panels do not divide the width.
    """
    if canvases.ndim != 3 or canvases.shape[2] % n_panels:
        raise ValueError(f"canvases of shape {canvases.shape} do not hold {n_panels} panels side by side")
    n, height, width = canvases.shape
    panel = width // n_panels
    sums = np.zeros((n, height + 1, width + 1), np.uint16 if panel * height < 2**16 else np.uint32)
    _summed_area(np.ascontiguousarray(canvases), sums)
    return CanvasTables(sums, np.diff(sums[:, height, ::panel], axis=1).astype(np.int64))


def coverage_curves(
    tables: CanvasTables,
    canvas_of: np.ndarray,
    windows: np.ndarray,
    offsets: np.ndarray,
    window: int,
    inset: tuple[int, int] = (0, 0),
) -> Curves:
    """Coverage and area curves of many episodes in one evidence mode (docs/metrics.md A3).

    Args:
        tables: the canvases.
        canvas_of: (E,), each episode's row in `tables`.
        windows: (G, 2), the glimpses of all episodes, one episode after the other.
        offsets: (E + 1,), where each episode begins in `windows`; `offsets[E]` is G.
        window: side of the window.
        inset: what the outline takes, from `inset()`.

    Raises:
        ValueError: if the offsets do not fit the windows, or an episode's canvas is not in the tables.
    """
    canvas_of, windows, offsets = _checked(tables, canvas_of, windows, offsets)
    by_canvas = np.argsort(canvas_of, kind="stable")  # a canvas stays in the cache while it is looked at
    return Curves(*_curves(tables.sums, tables.ink, by_canvas, canvas_of, windows, offsets, window, *inset))


def coverage_curve(
    canvas: np.ndarray, windows: np.ndarray, window: int, n_panels: int = 1, inset: tuple[int, int] = (0, 0)
) -> Curves:
    """`coverage_curves` of a single episode on a uint8 (height, width) canvas."""
    windows = np.asarray(windows).reshape(-1, 2)
    return coverage_curves(
        canvas_tables(canvas[None], n_panels),
        np.zeros(1),
        windows,
        np.array([0, len(windows)]),
        window,
        inset,
    )


def shown(
    tables: CanvasTables,
    canvas_of: np.ndarray,
    windows: np.ndarray,
    offsets: np.ndarray,
    window: int,
    inset: tuple[int, int] = (0, 0),
) -> Shown:
    """What each glimpse shows, whether seen before or not.

    Arguments and errors as in `coverage_curves`.
    """
    canvas_of, windows, offsets = _checked(tables, canvas_of, windows, offsets)
    result = Shown(np.zeros((len(windows), tables.ink.shape[1]), np.int64), np.zeros(len(windows), np.int64))
    _shown(tables.sums, canvas_of, windows, offsets, window, *inset, *result)
    return result


def _checked(tables: CanvasTables, *arrays: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The arrays in the types that the compiled loops take, which index without looking."""
    canvas_of, windows, offsets = (np.asarray(a, np.int64) for a in arrays)
    height, width = tables.sums.shape[1] - 1, tables.sums.shape[2] - 1
    if windows.ndim != 2 or windows.shape[1] != 2:
        raise ValueError(f"windows must have the shape (glimpses, 2), not {windows.shape}")
    on_canvas = np.empty(windows.shape, np.uint32)
    if not _on_canvas(windows, width, height, on_canvas):
        raise ValueError(f"a window begins outside the canvas of {width} x {height} pixels")
    if len(offsets) != len(canvas_of) + 1 or offsets[0] != 0 or offsets[-1] != len(windows):
        raise ValueError("offsets must begin with 0, end with the number of glimpses and be one per episode")
    if np.any(np.diff(offsets) < 0):
        raise ValueError("offsets must not decrease")
    if len(canvas_of) and not 0 <= canvas_of.min() <= canvas_of.max() < len(tables.sums):
        raise ValueError(f"canvas_of must point at one of the {len(tables.sums)} canvases")
    return canvas_of, on_canvas, offsets


@njit(cache=True)
def _on_canvas(windows, width, height, out) -> bool:
    """Copy the windows, unsigned; return whether all of them begin on the canvas."""
    fine = True
    for t in range(len(windows)):
        fine &= 0 <= windows[t, 0] < width and 0 <= windows[t, 1] < height
        out[t, 0], out[t, 1] = windows[t, 0], windows[t, 1]
    return fine


class _Axis(NamedTuple):
    """Scratch for one axis. Unsigned, which spares the compiled code the test for negative indices."""

    edges: np.ndarray  # the distinct edges of an episode's boxes, sorted
    positions: np.ndarray  # its distinct window positions
    known: np.ndarray  # by position: is it among them? All False between episodes
    rank: np.ndarray  # by edge: its index in `edges`
    first: np.ndarray  # by position: the first cell of its box
    last: np.ndarray  # by position: the cell after the last one of its box


@njit(cache=True)
def _axis(extent: int) -> _Axis:
    tables = np.zeros((5, extent + 1), np.uint32)
    known = np.zeros(extent + 1, np.bool_)
    return _Axis(tables[0], tables[1], known, tables[2], tables[3], tables[4])


@njit(cache=True)
def _side(position: int, window: int, before: int, after: int, extent: int) -> tuple[int, int]:
    """One axis of an evidence box as a half-open interval, clipped to the canvas."""
    low = min(position + before, extent)
    return low, max(low, min(position + window - after, extent))


@njit(cache=True)
def _add_edge(edges: np.ndarray, n: int, edge: int) -> int:
    """Insert an edge into the n sorted ones unless it is there; return how many there are then."""
    i = n
    while i > 0 and edges[i - 1] > edge:
        i -= 1
    if i > 0 and edges[i - 1] == edge:
        return n
    for j in range(n, i, -1):
        edges[j] = edges[j - 1]
    edges[i] = edge
    return n + 1


@njit(cache=True)
def _cut(axis: _Axis, windows, column, a, b, window, before, after, extent, seam) -> int:
    """Cut one axis at the boxes of glimpses a..b-1 and at the seams; return the number of edges."""
    n = n_positions = 0
    for t in range(a, b):
        position = windows[t, column]
        if not axis.known[position]:
            axis.known[position] = True
            axis.positions[n_positions] = position
            n_positions += 1
            low, high = _side(position, window, before, after, extent)
            n = _add_edge(axis.edges, n, low)
            n = _add_edge(axis.edges, n, high)
    for edge in range(seam, extent, seam):
        n = _add_edge(axis.edges, n, edge)
    for i in range(n):
        axis.rank[axis.edges[i]] = i
    for i in range(n_positions):
        position = axis.positions[i]
        axis.known[position] = False
        low, high = _side(position, window, before, after, extent)
        axis.first[position], axis.last[position] = axis.rank[low], axis.rank[high]
    return n


@njit(cache=True)
def _fill(sums, n, xs, n_x, ys, n_y, panel, cell_ink, cell_area, cell_panel) -> None:
    """Ink and area of every cell between the edges on canvas n, and the panel of every column of cells.

    A cell lies in one panel, so its ink fits the dtype of the sums, and what they wrapped around cancels.
    """
    k = 0
    for i in range(n_x):
        while xs[i] >= (k + 1) * panel:
            k += 1
        cell_panel[i] = k
    for j in range(n_y - 1):
        top, bottom = ys[j], ys[j + 1]
        left = sums[n, bottom, xs[0]] - sums[n, top, xs[0]]
        for i in range(n_x - 1):
            right = sums[n, bottom, xs[i + 1]] - sums[n, top, xs[i + 1]]
            cell_ink[j, i] = right - left
            cell_area[j, i] = np.int64(bottom - top) * np.int64(xs[i + 1] - xs[i])
            left = right


@njit(cache=True)
def _take(x, y, windows, a, b, cell_ink, cell_area, cell_panel, new_ink, new_area) -> None:
    """Let glimpses a..b-1 take their cells in turn. A cell gives what it holds once: no test, no branch."""
    for t in range(a, b):
        left, top = windows[t, 0], windows[t, 1]
        area = 0
        for j in range(y.first[top], y.last[top]):
            for i in range(x.first[left], x.last[left]):
                new_ink[t, cell_panel[i]] += cell_ink[j, i]
                area += cell_area[j, i]
                cell_ink[j, i] = 0
                cell_area[j, i] = 0
        new_area[t] = area


@njit(cache=True, error_model="numpy")
def _accumulate(a, b, new_ink, new_area, ink, n, pixels, shown, coverage, panel_coverage, area) -> None:
    """Running sums over glimpses a..b-1 on canvas n, as shares; 0 / 0 is NaN."""
    shown[:] = 0
    total = ink[n].sum()
    shown_total = shown_area = 0
    for t in range(a, b):
        for k in range(len(shown)):
            shown[k] += new_ink[t, k]
            shown_total += new_ink[t, k]
            panel_coverage[t, k] = shown[k] / ink[n, k]
        shown_area += new_area[t]
        coverage[t] = shown_total / total
        area[t] = shown_area / pixels


@njit(cache=True)
def _curves(sums, ink, order, canvas_of, windows, offsets, window, before, after):
    glimpses, n_panels = len(windows), ink.shape[1]
    height, width = sums.shape[1] - 1, sums.shape[2] - 1
    new_ink, new_area = np.zeros((glimpses, n_panels), np.int32), np.empty(glimpses, np.int32)
    coverage, area = np.empty(glimpses), np.empty(glimpses)
    panel_coverage = np.empty((glimpses, n_panels))
    x, y = _axis(width), _axis(height)
    longest = np.max(np.diff(offsets)) if len(canvas_of) else 0
    shape = min(2 * longest, height + 1), min(2 * longest + n_panels, width + 1)
    cell_ink, cell_area = np.empty(shape, sums.dtype), np.empty(shape, np.int32)
    cell_panel, shown = np.empty(shape[1], np.uint32), np.empty(n_panels, np.int64)
    panel = width // n_panels
    for e in order:
        n, a, b = canvas_of[e], offsets[e], offsets[e + 1]
        n_x = _cut(x, windows, 0, a, b, window, before, after, width, panel)
        n_y = _cut(y, windows, 1, a, b, window, before, after, height, height)
        _fill(sums, n, x.edges, n_x, y.edges, n_y, panel, cell_ink, cell_area, cell_panel)
        _take(x, y, windows, a, b, cell_ink, cell_area, cell_panel, new_ink, new_area)
        _accumulate(a, b, new_ink, new_area, ink, n, height * width, shown, coverage, panel_coverage, area)
    return coverage, panel_coverage, area, new_ink, new_area


@njit(cache=True)
def _shown(sums, canvas_of, windows, offsets, window, before, after, ink, area) -> None:
    height, width = sums.shape[1] - 1, sums.shape[2] - 1
    panel = width // ink.shape[1]
    one = np.empty(1, sums.dtype)
    for e in range(len(canvas_of)):
        n = canvas_of[e]
        for t in range(offsets[e], offsets[e + 1]):
            left, right = _side(windows[t, 0], window, before, after, width)
            top, bottom = _side(windows[t, 1], window, before, after, height)
            area[t] = (right - left) * (bottom - top)
            for k in range(ink.shape[1]):
                west, east = max(left, k * panel), min(right, (k + 1) * panel)
                if west < east:
                    one[0] = sums[n, bottom, east] - sums[n, top, east]
                    one[0] -= sums[n, bottom, west] - sums[n, top, west]
                    ink[t, k] = one[0]


@njit(cache=True)
def _summed_area(canvases: np.ndarray, sums: np.ndarray) -> None:
    for n in range(canvases.shape[0]):
        column = np.zeros(canvases.shape[2], sums.dtype)
        for y in range(canvases.shape[1]):
            for x in range(canvases.shape[2]):
                column[x] += canvases[n, y, x] == 0
            total = 0
            for x in range(canvases.shape[2]):
                total += column[x]
                sums[n, y + 1, x + 1] = total
