"""The hidden canvas, and what a window shows of it, as the official runner draws them, byte for byte."""

from __future__ import annotations

import hashlib
import io
import zlib
from collections.abc import Sequence
from threading import Lock

import numpy as np
from PIL import Image, ImageDraw

from ...schemas import UNSEEN, Evidence, Geometry, Point

OUTLINE_COLOR = (0, 229, 255)
_THRESHOLD = 200
_SEED_RANGE = 2**32
_RANDOM, _LOCK = np.random.RandomState(), Lock()


def build_canvas(digits: Sequence[np.ndarray], panel: int = 224) -> np.ndarray:
    """Draw digits side by side.

    Args:
        digits: uint8 arrays (28, 28), white on black.
        panel: side of one panel in pixels.

    Returns:
        uint8 array (panel, panel * n); strokes 0, ground 255.
    """
    strip = 255 - np.concatenate(list(digits), axis=1)
    picture = Image.fromarray(strip).resize((panel * len(digits), panel), Image.Resampling.BILINEAR)
    return (np.asarray(picture) > _THRESHOLD) * np.uint8(255)


def start_window(canvas: np.ndarray, geometry: Geometry, seed: int | None = None) -> Point:
    """The first window: centred on a stroke pixel that the canvas itself (or `seed`) picks, clamped.

    A canvas without strokes is looked at in its middle.
    """
    if seed is None:
        seed = int(hashlib.md5(np.ascontiguousarray(canvas).data).hexdigest(), 16) % _SEED_RANGE
    strokes = canvas == 0
    until = np.count_nonzero(strokes, axis=1).cumsum()
    if not until[-1]:
        return geometry.center((geometry.width // 2, geometry.height // 2))
    chosen = _draw(seed, int(until[-1]))
    row = int(np.searchsorted(until, chosen, side="right"))
    column = np.flatnonzero(strokes[row])[chosen - until[row]]
    return geometry.center((int(column), row))


def _draw(seed: int, n: int) -> int:
    # A new generator gathers entropy before it is seeded, which takes 30 times as long as the draw.
    with _LOCK:
        _RANDOM.seed(seed)
        return int(_RANDOM.randint(n))


def observe(canvas: np.ndarray, position: Point, geometry: Geometry) -> np.ndarray:
    """One observation: uint8 RGB array (height, width, 3), grey but for the window and its outline."""
    frame = np.full((*canvas.shape, 3), UNSEEN, dtype=np.uint8)
    x0, y0, x1, y1 = geometry.box(position)
    frame[y0:y1, x0:x1] = canvas[y0:y1, x0:x1, None]
    if not geometry.draw_border:
        return frame
    picture = Image.fromarray(frame)
    x, y = position
    corners = (x, y, x + geometry.window, y + geometry.window)
    ImageDraw.Draw(picture).rectangle(corners, outline=OUTLINE_COLOR, width=2)
    return np.asarray(picture)


def reveal(canvas: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """The canvas where `seen` (bool, same shape) is True, grey elsewhere."""
    return np.where(seen, canvas, np.uint8(UNSEEN))


def offline_canvas(
    canvas: np.ndarray, windows: Sequence[Point], geometry: Geometry, evidence: Evidence = "window"
) -> np.ndarray:
    """Everything that the windows showed, put together: uint8 (height, width), unseen pixels 128 (paper §2.3)."""
    return reveal(canvas, geometry.seen(windows, evidence))


def pixel_hash(pixels: np.ndarray) -> str:
    """sha256 over shape and pixels: the name of a canvas, however it is encoded."""
    digest = hashlib.sha256(f"{pixels.shape}".encode())
    digest.update(np.ascontiguousarray(pixels).data)
    return digest.hexdigest()


def world_key(canvas: str, geometry: Geometry, start: Point) -> str:
    """Hash of canvas, geometry and start: two episodes with the same one faced the same world."""
    return hashlib.sha256(f"{canvas}|{geometry}|{tuple(start)}".encode()).hexdigest()[:32]


def to_png(pixels: np.ndarray) -> bytes:
    """Encode a uint8 array (H, W) or (H, W, 3), or a bool mask (H, W), as PNG."""
    buffer = io.BytesIO()
    picture = Image.fromarray(pixels.astype(np.uint8) * 255 if pixels.dtype == bool else pixels)
    # Of flat areas and strokes, run lengths make files 37 to 51 % smaller than level 2 of zlib, in no more time.
    picture.save(buffer, "PNG", compress_type=zlib.Z_RLE)
    return buffer.getvalue()


def from_png(data: bytes, mode: str = "L") -> np.ndarray:
    """Decode a picture file to a uint8 array in a Pillow mode (`L` or `RGB`).

    Raises:
        ValueError: where the bytes are no picture.
    """
    try:
        with Image.open(io.BytesIO(data)) as picture:
            return np.asarray(picture.convert(mode))
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise ValueError(f"not a picture: {error}") from error
