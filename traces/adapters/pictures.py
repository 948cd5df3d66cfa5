"""What recorded observations say by themselves: where the window was."""

from __future__ import annotations

import io
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageChops

from ...schemas import UNSEEN, Point
from ..world.canvas import OUTLINE_COLOR

_PALETTE = np.array([(UNSEEN,) * 3, (0, 0, 0), (255, 255, 255), OUTLINE_COLOR], np.int16)

Box = tuple[int, int, int, int]
"""Half-open x0, y0, x1, y1."""

_PNG = b"\x89PNG"
_NOWHERE: Box = (0, 0, 0, 0)
_NOTHING = np.zeros((0, 0), np.uint8)


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


class View(NamedTuple):
    """What a picture shows; small enough to keep for every picture of an episode.

    Args:
        shape: height and width of the picture; None where the file is none.
        box: what is not grey in it.
        pixels: first channel inside the box, uint8; lossy ones set to the nearest colour that the world draws.
        exact: whether the pixels are as they were shown (PNG).
        is_crop: whether it shows only what is inside the window: nothing at its edges is grey.
        window: None for a crop, and where none is to be seen.
        problem: diagnostic code and message of a file that is no picture, or of an exact one without a window.
    """

    shape: tuple[int, int] | None
    box: Box
    pixels: np.ndarray
    exact: bool
    is_crop: bool
    window: FoundWindow | None
    problem: tuple[str, str] | None


def png_shape(data: bytes) -> tuple[int, int] | None:
    """Height and width from the header of a PNG, None for other files."""
    if len(data) < 24 or not data.startswith(_PNG):
        return None
    return int.from_bytes(data[20:24]), int.from_bytes(data[16:20])


def look(data: bytes) -> View:
    """Read a picture file; what is wrong with it is in the view."""
    exact = data.startswith(_PNG)
    window = problem = None
    try:
        picture = _load(data)
    except ValueError as error:
        return View(None, _NOWHERE, _NOTHING, exact, False, None, ("image_unreadable", str(error)))
    if not exact:
        picture = Image.fromarray(_clean(np.asarray(picture)))
    box, shape = _lit_box(picture), (picture.height, picture.width)
    lit = np.asarray(picture.crop(box or _NOWHERE))
    is_crop = lit.shape[:2] == shape and not _has_grey_edge(lit)
    try:
        window = None if is_crop else _read_window(lit, box, shape)
    except WindowNotFound as error:
        problem = (error.code, str(error)) if exact else None
    return View(shape, box or _NOWHERE, lit[:, :, 0].copy(), exact, is_crop, window, problem)


def find_window(frame: np.ndarray) -> FoundWindow:
    """Recover the window from an observation.

    Args:
        frame: uint8 RGB array (H, W, 3), grey outside the window.

    Raises:
        WindowNotFound: `image_unexpected` where there is no window, or anything lies outside it;
            `non_square_window` where it is not square.
    """
    box = _lit_box(Image.fromarray(frame))
    lit = frame[box[1] : box[3], box[0] : box[2]] if box else frame
    return _read_window(lit, box, frame.shape[:2])


def _load(data: bytes) -> Image.Image:
    try:
        with Image.open(io.BytesIO(data)) as picture:
            picture.load()
            return picture if picture.mode == "RGB" else picture.convert("RGB")
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise ValueError(f"not a picture: {error}") from error


def _lit_box(picture: Image.Image) -> Box | None:
    # Pillow needs a tenth of the time of array operations over the whole picture.
    return ImageChops.difference(picture, _grey(picture.size)).getbbox()


@lru_cache(maxsize=4)
def _grey(size: tuple[int, int]) -> Image.Image:
    return Image.new("RGB", size, (UNSEEN,) * 3)


def _has_grey_edge(frame: np.ndarray) -> bool:
    return bool((frame[[0, -1]] == UNSEEN).any() or (frame[:, [0, -1]] == UNSEEN).any())


def _clean(frame: np.ndarray) -> np.ndarray:
    """Set each pixel of a lossily stored observation to the nearest colour that the world draws."""
    distance = np.abs(frame[:, :, None, :].astype(np.int16) - _PALETTE).sum(axis=3)
    return _PALETTE[distance.argmin(axis=2)].astype(np.uint8)


def _read_window(lit: np.ndarray, box: Box | None, shape: tuple[int, int]) -> FoundWindow:
    """The window that fills the lit box (h, w, 3) of a picture with that height and width."""
    if box is None:
        raise WindowNotFound("image_unexpected", "the picture is grey all over")
    (x0, y0, x1, y1), (height, width) = box, shape
    # One comparison over the last axis would take five times as long.
    red, green, blue = (lit[:, :, channel] == OUTLINE_COLOR[channel] for channel in range(3))
    outline = red & green & blue
    rows, columns = outline.any(axis=1), outline.any(axis=0)
    outlined = bool(rows.any())
    if outlined and not (rows[0] and rows[-1] and columns[0] and columns[-1]):
        raise WindowNotFound("image_unexpected", "something besides one window is to be seen")
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
