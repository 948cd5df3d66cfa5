"""Where a path's dots, lines and rings go, so that revisits and blocked moves stay readable."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from ..schemas import Geometry, Point

LANE = 5.0
"""Distance of parallel lanes on an edge that is walked more than once, in canvas pixels."""
LANES = 9
"""Lanes of an edge: further walks lie over the first ones, or a long path would leave the canvas."""

XY = tuple[float, float]


class Segment(NamedTuple):
    """One effective move: the glimpse that it leads to, and its line in canvas pixels."""

    glimpse: int
    start: XY
    end: XY


class Ring(NamedTuple):
    """A window that a blocked move left where it was: its centre, how often, and the glimpses."""

    center: XY
    count: int
    glimpses: tuple[int, ...]


class Layout(NamedTuple):
    """A path ready to be drawn: window centres by glimpse, lines, rings."""

    centers: list[XY]
    segments: list[Segment]
    rings: list[Ring]


def lay_out(windows: Sequence[Point], geometry: Geometry) -> Layout:
    """Lay out the path over shown glimpses.

    An edge that is walked more than once gets a lane for each walk; a move that changed nothing becomes a ring.

    >>> layout = lay_out([(0, 0), (32, 0), (0, 0), (0, 0)], Geometry())
    >>> [s.start[1] for s in layout.segments], layout.rings[0].count
    ([32.0, 37.0], 1)
    """
    half = geometry.window / 2
    centers = [(x + half, y + half) for x, y in windows]
    walked: Counter[tuple[XY, XY]] = Counter()
    segments: list[Segment] = []
    blocked: dict[XY, list[int]] = defaultdict(list)
    for glimpse, (a, b) in enumerate(zip(centers, centers[1:], strict=False), 1):
        if a == b:
            blocked[a].append(glimpse)
            continue
        edge = (min(a, b), max(a, b))
        dx, dy = _offset(edge, walked[edge] % LANES)
        walked[edge] += 1
        segments.append(Segment(glimpse, (a[0] + dx, a[1] + dy), (b[0] + dx, b[1] + dy)))
    rings = [Ring(center, len(glimpses), tuple(glimpses)) for center, glimpses in blocked.items()]
    return Layout(centers, segments, rings)


def _offset(edge: tuple[XY, XY], lane: int) -> XY:
    """Shift of the n-th walk along an edge: 0, +1, -1, +2, ... lanes across it."""
    (x0, y0), (x1, y1) = edge
    length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
    shift = LANE * ((lane + 1) // 2) * (1 if lane % 2 else -1)
    return -(y1 - y0) / length * shift, (x1 - x0) / length * shift
