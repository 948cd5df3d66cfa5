"""Stated probabilities: whether beliefs move as a Bayesian's would (docs/metrics.md 3.3 and 3.4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import log
from typing import NamedTuple

import numpy as np

from .metrics import Episode, lines


class Slope(NamedTuple):
    """A least-squares slope with its 95 % interval and the number of points; None below three points."""

    slope: float | None
    low: float | None
    high: float | None
    n: int


def probability_steps(episode: Episode) -> list[tuple[float, float, float | None]]:
    """Consecutive stated probabilities of the digit first given one, per slot: (b, change of b, evidence).

    The evidence is the change of the posterior's log odds of that digit, None without posterior. Forced-answer
    probes give the same structure.
    """
    out = []
    for line in lines(episode):
        series = [
            (t, c.digit, c.p)
            for t, e in enumerate(episode.extractions)
            for c in (e.slots[line.slot].candidates if e else ())
            if c.p is not None
        ]
        own = [(t, p) for t, digit, p in series if digit == series[0][1]]
        for (t0, p0), (t1, p1) in zip(own, own[1:], strict=False):
            out.append((p0, p1 - p0, _evidence(episode, line.panel, series[0][1], t0, t1)))
    return out


def _evidence(episode: Episode, panel: int, digit: int, t0: int, t1: int) -> float | None:
    if episode.posterior is None:
        return None
    q = np.clip(episode.posterior[[episode.seen(t0), episode.seen(t1)], panel, digit], 1e-6, 1 - 1e-6)
    odds = np.log(q / (1 - q))
    return float(odds[1] - odds[0])


def martingale(steps: Iterable[tuple[float, float, float | None]]) -> Slope:
    """Slope of the change of belief on belief: 0 for a Bayesian, above 0 for entrenchment (2512.02914)."""
    return _slope([(b, change) for b, change, _ in steps])


def conservatism(steps: Iterable[tuple[float, float, float | None]]) -> Slope:
    """Slope of the change of stated log odds on that of the evidence; below 1 is conservative (Edwards)."""
    pairs = []
    for b, change, evidence in steps:
        if evidence is not None and 0 < b < 1 and 0 < b + change < 1:
            after = b + change
            pairs.append((evidence, log(after / (1 - after)) - log(b / (1 - b))))
    return _slope(pairs)


def _slope(pairs: Sequence[tuple[float, float]]) -> Slope:
    if len(pairs) < 3 or len({x for x, _ in pairs}) < 2:
        return Slope(None, None, None, len(pairs))
    from statsmodels.api import OLS, add_constant

    x, y = np.array(pairs).T
    fit = OLS(y, add_constant(x)).fit()
    low, high = fit.conf_int()[1]
    return Slope(float(fit.params[1]), float(low), float(high), len(pairs))
