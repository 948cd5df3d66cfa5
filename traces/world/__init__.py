"""The bundled world: digits, canvas, observation, sampler, and the Gymnasium environment over them."""

from .canvas import (
    OUTLINE_COLOR,
    build_canvas,
    from_png,
    observe,
    offline_canvas,
    pixel_hash,
    reveal,
    start_window,
    to_png,
    world_key,
)
from .digits import Digits, embedded, load
from .sampler import sample

__all__ = [
    "OUTLINE_COLOR",
    "Digits",
    "build_canvas",
    "embedded",
    "from_png",
    "load",
    "observe",
    "offline_canvas",
    "pixel_hash",
    "reveal",
    "sample",
    "start_window",
    "to_png",
    "world_key",
]
