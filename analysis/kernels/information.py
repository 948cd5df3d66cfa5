"""What the evidence says about the answer, glimpse by glimpse, in bits (docs/metrics.md A11)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

FLOOR = 1e-12
"""Probabilities below this count as this in the divergence, which would be infinite otherwise."""


class Information(NamedTuple):
    """Information of N posteriors.

    Attributes:
        entropy: float64 (N,), entropy of each posterior.
        ig: float64 (N - 1,), entropy lost from each to the next; may be negative; sums to first minus last.
        surprise: float64 (N - 1,), KL divergence of each posterior from the one before it.
        entropy_auc: mean height of the entropy curve over the moves (trapezoid rule); None without a move.
    """

    entropy: np.ndarray
    ig: np.ndarray
    surprise: np.ndarray
    entropy_auc: float | None
    reasons: dict[str, str]


def information(posteriors: np.ndarray) -> Information:
    """Entropy, information gain and surprise along an episode.

    Args:
        posteriors: float (N, classes), a reader's posterior after each glimpse; rows sum to 1. For several
            panels either one panel's or the joint one.
    """
    q = np.asarray(posteriors, np.float64)
    entropy = -np.sum(q * np.log2(np.where(q > 0, q, 1)), axis=1)
    floored = np.log2(np.maximum(q, FLOOR))
    surprise = np.sum(q[1:] * (floored[1:] - floored[:-1]), axis=1)
    moves = len(q) - 1
    reasons = {} if moves > 0 else {"entropy_auc": "no_moves" if moves == 0 else "no_glimpses"}
    auc = float(np.trapezoid(entropy) / moves) if moves > 0 else None
    return Information(entropy, -np.diff(entropy), surprise, auc, reasons)
