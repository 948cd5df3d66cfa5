"""What the reference reader looks at: how much of each 4 x 4 block of a panel was seen, and is ink."""

from __future__ import annotations

import numpy as np

from ....schemas import UNSEEN

PANEL = 224
_CELL = 4
_GRID = PANEL // _CELL


def panels(canvases: np.ndarray) -> np.ndarray:
    """Cut canvases into panels as wide as they are high.

    Args:
        canvases: uint8 (B, H, H * N).

    Returns:
        uint8 (B * N, 224, 224), panels of a canvas from left to right. Other sizes are brought to 224 by the
        nearest pixel, which repeats pixels evenly for panels of 112, 56 or 28 and nearly so for others.

    Raises:
        ValueError: for another dtype or shape, and for panels under 28 pixels.
    """
    if canvases.dtype != np.uint8 or canvases.ndim != 3:
        raise ValueError(f"canvases are uint8 (B, H, W), not {canvases.dtype} {canvases.shape}")
    b, height, width = canvases.shape
    if height < 28 or not width or width % height:
        raise ValueError(f"a canvas is a row of square panels of 28 pixels or more, not {height} x {width}")
    cut = (
        canvases.reshape(b, height, width // height, height).transpose(0, 2, 1, 3).reshape(-1, height, height)
    )
    if height == PANEL:
        return cut
    nearest = np.arange(PANEL) * height // PANEL
    return cut[:, nearest[:, None], nearest]


def cells(squares: np.ndarray) -> np.ndarray:
    """Count pixels in 4 x 4 blocks.

    Args:
        squares: uint8 (M, 224, 224) panels: strokes 0, ground 255, unseen 128.

    Returns:
        uint8 (M, 8, 28, 28), counts 0 to 16: channels 0-3 ink seen, 4-7 pixels seen, each in the four blocks
        (row by row) of an 8 x 8 square.
    """
    return np.concatenate([_count(squares == 0), _count(squares != UNSEEN)], axis=1)


def _count(mask: np.ndarray) -> np.ndarray:
    """Counts of True, uint8 (M, 4, 28, 28)."""
    bytes_of_four = np.ascontiguousarray(mask).view(np.uint32)
    across = (bytes_of_four * np.uint32(0x01010101) >> np.uint32(24)).astype(np.uint8)
    blocks = across.reshape(len(mask), _GRID, _CELL, _GRID).sum(axis=2, dtype=np.uint8)
    return blocks.reshape(len(mask), 28, 2, 28, 2).transpose(0, 2, 4, 1, 3).reshape(len(mask), 4, 28, 28)
