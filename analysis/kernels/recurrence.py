"""Recurrence quantification of a path (docs/metrics.md A6; Anderson et al. 2013, BRM 45:842)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .undefined import undefined


class Recurrence(NamedTuple):
    """Recurrences of N positions, over pairs i < j; shares in [0, 1] where the literature prints percent.

    Attributes:
        n_recurrences: R, pairs of glimpses at one place.
        rec: R over all pairs.
        det: share of R on diagonals of length 2 or more (a stretch of path walked again the same way).
        lam: share of R on lines of length 2 or more (lingering): mean of horizontal and vertical ones.
        corm: mean lag of the recurrences over N - 1 (late returns are large).
        retr: share of R on anti-diagonals of length 2 or more (a stretch walked back). Ours.
    """

    n_recurrences: int | None
    rec: float | None
    det: float | None
    lam: float | None
    corm: float | None
    retr: float | None
    reasons: dict[str, str]


def recurrence(windows: np.ndarray, radius: float = 0.0) -> Recurrence:
    """Recurrence measures of a path; two glimpses recur where their positions differ by at most `radius`.

    Args:
        windows: int (N, 2); drop the no-ops first (`path.without_noops`) for the variant without them.
        radius: in pixels, of the largest coordinate; 0 or half a stride.
    """
    n = len(windows)
    if n < 2:
        return undefined(Recurrence, "too_short" if n else "no_glimpses")
    distance = np.abs(windows[:, None] - windows[None]).max(axis=2)
    recurs = np.triu(distance <= radius, k=1)
    total = int(recurs.sum())
    if total == 0:
        return undefined(Recurrence, "never_reached", n_recurrences=0, rec=0.0)
    lagged = np.subtract(*np.nonzero(recurs)[::-1]).sum()
    return Recurrence(
        n_recurrences=total,
        rec=2 * total / (n * (n - 1)),
        det=_on_lines(recurs, 1, 1) / total,
        lam=(_on_lines(recurs, 0, 1) + _on_lines(recurs, 1, 0)) / (2 * total),
        corm=float(lagged / ((n - 1) * total)),
        retr=_on_lines(recurs, 1, -1) / total,
        reasons={},
    )


def _on_lines(recurs: np.ndarray, down: int, right: int) -> int:
    """Recurrences with another one beside them in that direction, hence on a line of length 2 or more."""
    n = len(recurs)
    padded = np.pad(recurs, 1)
    ahead = padded[1 + down : 1 + down + n, 1 + right : 1 + right + n]
    behind = padded[1 - down : 1 - down + n, 1 - right : 1 - right + n]
    return int((recurs & (ahead | behind)).sum())
