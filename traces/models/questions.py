"""Questions about frozen evidence, the same wherever they are asked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..world.canvas import to_png
from .client import Turn
from .prompts import Prompts

_SHARED = {
    "canvas+glimpse": "predictor_canvas_glimpse",
    "textual_state+last": "predictor_textual_state",
}
"""Prompts of representations whose name is not that of a file."""


def reading_prompts(form: str) -> tuple[str, str]:
    """Prompt files of the question about a representation."""
    return "predictor", _SHARED.get(form, f"predictor_{form}")


def reading_question(
    prompts: Prompts, form: str, n_panels: int, images: Sequence[np.ndarray], text: str | None = None
) -> Turn:
    """Ask for the digits that evidence in a representation shows: the text, then the pictures in order.

    Args:
        prompts: prompt files.
        form: name of the representation.
        n_panels: digits to read.
        images: uint8 arrays (H, W) or (H, W, 3).
        text: textual part of the evidence.
    """
    frame, evidence = reading_prompts(form)
    one = n_panels == 1
    question = prompts.text(
        frame,
        evidence=prompts.text(evidence, text=text or "(nothing)"),
        count="one digit is" if one else f"{n_panels} digits, side by side, are",
        which="digit it is" if one else "digits they are, from left to right",
        form=answer_form(n_panels),
    )
    return Turn("user", (question, *map(to_png, images)))


def answer_form(n_panels: int) -> str:
    """What stands for the answer in an example."""
    return "<the digit>" if n_panels == 1 else f"<the {n_panels} digits as one text>"
