"""How spread out a path and its actions are, in bits (docs/metrics.md A7; Krejtz et al. 2015, ACM TAP).

The plug-in entropy of few glimpses is too low; `_mm` variants add Miller and Madow's (K - 1) / (2 N ln 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...schemas.geometry import DIRECTIONS
from .undefined import undefined

H_T_MIN_GLIMPSES = 10
"""A single episode with fewer glimpses has no transition entropy; pool it over a run."""


class Entropies(NamedTuple):
    """Entropies of an episode in bits.

    Attributes:
        h_s: entropy of the stride-sized cells that hold the window's centre.
        h_s_mm: the same, corrected.
        h_s_normalised: h_s over the largest value possible, log2 of the smaller of N and the cells in reach.
        h_a: entropy of the directions moved.
        h_a_mm: the same, corrected.
        h_a_normalised: h_a / 2.
        h_t: entropy of a direction given the one before it.
        h_t_mm: the same, corrected.
    """

    h_s: float | None
    h_s_mm: float | None
    h_s_normalised: float | None
    h_a: float | None
    h_a_mm: float | None
    h_a_normalised: float | None
    h_t: float | None
    h_t_mm: float | None
    reasons: dict[str, str]


class Entropy(NamedTuple):
    """An entropy in bits: plug-in, corrected after Miller and Madow, and the number of observations."""

    bits: float | None
    bits_mm: float | None
    n: int


def entropies(
    windows: np.ndarray, directions: Sequence[str] | None, window: int, stride: int, width: int, height: int
) -> Entropies:
    """Entropies of one episode on a canvas of `width` x `height` pixels (docs/metrics.md A7)."""
    n = len(windows)
    if n == 0:
        return undefined(Entropies, "no_glimpses")
    reasons = {}
    space = entropy(np.unique(cells(windows, window, stride), axis=0, return_counts=True)[1])
    limits = np.array([[0, 0], [max(0, width - window), max(0, height - window)]])
    reachable = int(np.prod(np.diff(cells(limits, window, stride), axis=0) + 1))
    largest = np.log2(min(n, reachable))
    if largest == 0:
        reasons["h_s_normalised"] = "too_short"
    action, transition = Entropy(None, None, 0), Entropy(None, None, 0)
    if directions is None or len(directions) == 0:
        why = "not_recorded" if directions is None else "no_moves"
        reasons |= dict.fromkeys(Entropies._fields[3:8], why)
    else:
        action = entropy(np.unique(list(directions), return_counts=True)[1])
        transition = transition_entropy(transition_counts(directions))
        if n < H_T_MIN_GLIMPSES:
            transition = Entropy(None, None, 0)
            reasons |= dict.fromkeys(("h_t", "h_t_mm"), "too_short")
    return Entropies(
        h_s=space.bits,
        h_s_mm=space.bits_mm,
        h_s_normalised=float(space.bits / largest) if space.bits is not None and largest else None,
        h_a=action.bits,
        h_a_mm=action.bits_mm,
        h_a_normalised=None if action.bits is None else action.bits / 2,
        h_t=transition.bits,
        h_t_mm=transition.bits_mm,
        reasons=reasons,
    )


def cells(windows: np.ndarray, window: int, stride: int) -> np.ndarray:
    """The stride-sized cell (column, row) that holds each window's centre: int (N, 2)."""
    return (2 * np.asarray(windows) + window) // (2 * stride)


def entropy(counts: np.ndarray) -> Entropy:
    """Entropy of a distribution given by counts; None where there are none."""
    n = int(np.sum(counts))
    return Entropy(*_bits(counts), n) if n else Entropy(None, None, 0)


def transition_counts(directions: Sequence[str]) -> np.ndarray:
    """How often each direction followed each: int64 (4, 4), before by after, in the order of `DIRECTIONS`.

    Sum them over the episodes of a run for a pooled transition entropy.
    """
    index = [list(DIRECTIONS).index(direction) for direction in directions]
    counts = np.zeros((len(DIRECTIONS), len(DIRECTIONS)), np.int64)
    np.add.at(counts, (index[:-1], index[1:]), 1)
    return counts


def transition_entropy(counts: np.ndarray) -> Entropy:
    """Conditional entropy of a direction given the one before, from (4, 4) counts: H(pair) - H(before)."""
    n = int(np.sum(counts))
    if n == 0:
        return Entropy(None, None, 0)
    pair, before = _bits(counts.ravel()), _bits(counts.sum(axis=1))
    return Entropy(max(0.0, pair[0] - before[0]), max(0.0, pair[1] - before[1]), n)


def _bits(counts: np.ndarray) -> tuple[float, float]:
    """Plug-in and corrected entropy of counts that are not all 0."""
    counts = np.asarray(counts)[np.asarray(counts) > 0]
    n = counts.sum()
    share = counts / n
    bits = float(abs((share * np.log2(share)).sum()))
    return bits, float(bits + (len(counts) - 1) / (2 * n * np.log(2)))
