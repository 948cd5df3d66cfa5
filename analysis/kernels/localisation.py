"""Does an agent know where it is? Its stated map against commands and truth (docs/metrics.md A12)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...schemas.geometry import DIRECTIONS
from .undefined import undefined


class Drift(NamedTuple):
    """Error of stated coordinates, in cells of one stride.

    Attributes:
        errors: float64 (N,), L1 error at each glimpse; NaN where no coordinates were stated.
        mean: mean error over the stated ones.
        first_error: the first glimpse with an error.
        slope: cells of error gained per glimpse (least squares).
    """

    errors: np.ndarray
    mean: float | None
    first_error: int | None
    slope: float | None
    reasons: dict[str, str]


class ClaimedNew(NamedTuple):
    """Claims to see a new region, against what had been seen.

    Attributes:
        n_claims: glimpses at which a new region was claimed.
        n_seen: those whose window was near an earlier one or showed nothing new.
        claimed_new_but_seen: n_seen / n_claims.
    """

    n_claims: int | None
    n_seen: int | None
    claimed_new_but_seen: float | None
    reasons: dict[str, str]


def drift_from_commands(coords: np.ndarray | None, directions: Sequence[str] | None) -> Drift:
    """Stated coordinates against the sum of the moves commanded, blocked ones counted (`pi_err_cmd`).

    That is the rule agents are told to follow: the start is (0, 0), one unit a move, x right and y down.

    Args:
        coords: float (N, 2), stated at each glimpse, NaN where none; None where the run has no coordinates.
        directions: the N - 1 moves.
    """
    if coords is None or directions is None:
        return undefined(Drift, "not_recorded", errors=np.empty(0))
    steps = np.array([DIRECTIONS[direction] for direction in directions], np.float64).reshape(-1, 2)
    return _drift(coords, np.concatenate([np.zeros((1, 2)), steps.cumsum(axis=0)]))


def drift_from_truth(coords: np.ndarray | None, windows: np.ndarray, stride: int) -> Drift:
    """Stated coordinates against the true displacement in strides (`pi_err_true`); `coords` as above.

    It differs from `drift_from_commands` exactly where a move was clipped and the agent noticed, or did not.
    """
    if coords is None:
        return undefined(Drift, "not_recorded", errors=np.empty(0))
    if len(windows) == 0:
        return undefined(Drift, "no_glimpses", errors=np.empty(0))
    return _drift(coords, (windows - windows[0]) / stride)


def claimed_new_but_seen(claims: np.ndarray | None, near: np.ndarray, redundant: np.ndarray) -> ClaimedNew:
    """How often a region that was called new had been seen.

    Args:
        claims: bool (N,), whether the thought at each glimpse claims that its window shows a new region; None
            where the run has no thoughts.
        near: bool (N,) from `path.GlimpseKinds`.
        redundant: bool (N,) from `path.GlimpseKinds`.
    """
    if claims is None:
        return undefined(ClaimedNew, "not_recorded")
    n, seen = int(np.sum(claims)), int(np.sum(claims & (near | redundant)))
    if n == 0:
        return undefined(ClaimedNew, "never_reached", n_claims=0, n_seen=0)
    return ClaimedNew(n, seen, seen / n, {})


def _drift(coords: np.ndarray, truth: np.ndarray) -> Drift:
    if len(coords) != len(truth):
        raise ValueError(f"{len(coords)} coordinates for {len(truth)} glimpses")
    errors = np.abs(coords - truth).sum(axis=1)
    stated = np.flatnonzero(~np.isnan(errors))
    if len(stated) == 0:
        return undefined(Drift, "not_recorded", errors=errors)
    wrong = stated[errors[stated] > 0]
    reasons = {}
    if len(wrong) == 0:
        reasons["first_error"] = "never_reached"
    if len(stated) == 1:
        reasons["slope"] = "too_short"
    return Drift(
        errors=errors,
        mean=float(errors[stated].mean()),
        first_error=int(wrong[0]) if len(wrong) else None,
        slope=float(np.polyfit(stated, errors[stated], 1)[0]) if len(stated) > 1 else None,
        reasons=reasons,
    )
