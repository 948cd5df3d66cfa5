"""Windows, moves, boxes and evidence: the arithmetic of a world seen through a window.

Positions are `(x, y)` of a window's top-left pixel, x to the right and y down, in pixels of the canvas.
Nothing here is tied to the published 224/64/32 geometry.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

Point = tuple[int, int]
Evidence = Literal["window", "visible_exact"]
Direction = Literal["up", "down", "left", "right"]

EVIDENCE_MODES: tuple[Evidence, ...] = ("window", "visible_exact")
DIRECTIONS: dict[str, Point] = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
OUTLINE = 2
"""Thickness of the outline in pixels (official runner)."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """What a run's world measures, in pixels.

    Args:
        window: side w of the square window.
        stride: shift s of one move.
        panel: width and height P of one panel (digit cell).
        n_panels: number N of panels side by side.
        draw_border: whether the observation draws an outline around the window.

    >>> Geometry().budget, Geometry(n_panels=2).budget, Geometry(window=32, stride=16).budget
    (36, 78, 169)
    """

    window: int = 64
    stride: int = 32
    panel: int = 224
    n_panels: int = 1
    draw_border: bool = True

    def __post_init__(self) -> None:
        for name in ("window", "stride", "panel", "n_panels"):
            if getattr(self, name) < 1:
                raise ValueError(f"geometry: {name} must be at least 1, not {getattr(self, name)}")

    @property
    def width(self) -> int:
        """Width of the canvas in pixels."""
        return self.panel * self.n_panels

    @property
    def height(self) -> int:
        """Height of the canvas in pixels."""
        return self.panel

    @property
    def limits(self) -> Point:
        """Largest legal x and y of a window."""
        return max(0, self.width - self.window), max(0, self.height - self.window)

    @property
    def budget(self) -> int:
        """Actions allowed, the answer included: product over axes of ceil(limit / stride) + 1 (paper, Eq. 1)."""
        x, y = self.limits
        return (-(-x // self.stride) + 1) * (-(-y // self.stride) + 1)

    def clamp(self, position: Point) -> Point:
        """The legal position nearest to `position`."""
        x_max, y_max = self.limits
        return min(max(position[0], 0), x_max), min(max(position[1], 0), y_max)

    def move(self, position: Point, direction: str) -> tuple[Point, bool]:
        """Shift a window by one stride.

        Returns:
            the new position, and whether the canvas edge clipped the move (wholly or in part).

        Raises:
            KeyError: for an unknown direction.

        >>> Geometry().move((10, 100), "left")
        ((0, 100), True)
        """
        dx, dy = DIRECTIONS[direction]
        wanted = position[0] + dx * self.stride, position[1] + dy * self.stride
        reached = self.clamp(wanted)
        return reached, reached != wanted

    def center(self, pixel: Point) -> Point:
        """Position of the window centred on `pixel`, clamped."""
        return self.clamp((pixel[0] - self.window // 2, pixel[1] - self.window // 2))

    def box(self, position: Point, evidence: Evidence = "window") -> tuple[int, int, int, int]:
        """Pixels seen in one glimpse as half-open `(x0, y0, x1, y1)`, clipped to the canvas.

        `visible_exact` leaves out what the outline covers: two columns at the left and two rows at the top,
        one at the right and one at the bottom, because the outline's corners are inclusive.
        """
        x, y = position
        before, after = (OUTLINE, OUTLINE - 1) if evidence == "visible_exact" and self.draw_border else (0, 0)
        return (
            max(x + before, 0),
            max(y + before, 0),
            min(x + self.window - after, self.width),
            min(y + self.window - after, self.height),
        )

    def seen(self, positions: Iterable[Point], evidence: Evidence = "window") -> np.ndarray:
        """Evidence mask of glimpses: bool array (height, width), True where some glimpse showed the pixel."""
        mask = np.zeros((self.height, self.width), dtype=bool)
        for position in positions:
            x0, y0, x1, y1 = self.box(position, evidence)
            mask[y0:y1, x0:x1] = True
        return mask

    def panel_of(self, x: int) -> int:
        """Index of the panel that holds column `x`."""
        return min(max(x // self.panel, 0), self.n_panels - 1)


def walk(geometry: Geometry, start: Point, directions: Sequence[str]) -> list[Point]:
    """Positions reached from `start` by valid moves, the start included.

    >>> walk(Geometry(), (0, 0), ["right", "up"])
    [(0, 0), (32, 0), (32, 0)]
    """
    positions = [start]
    for direction in directions:
        positions.append(geometry.move(positions[-1], direction)[0])
    return positions
