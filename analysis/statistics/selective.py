"""Does confidence know when it is right? Risk-coverage and calibration (docs/metrics.md, section 3.2)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .intervals import Interval, proportion


class RiskCoverage(NamedTuple):
    """What answering only the k most confident of n episodes would have cost.

    Attributes:
        coverage: (n,), k / n.
        risk: (n,), share of wrong answers among the k, averaged over the orders of ties.
        aurc: mean risk.
        e_aurc: aurc above that of the best order possible.
        augrc: area under errors / n against coverage, by the trapezoid rule from (0, 0) (Traub et al. 2024).
        auroc: chance that a right answer is more confident than a wrong one; None unless there are both.
        accuracy: share of right answers, with interval.
        n: episodes.
    """

    coverage: np.ndarray
    risk: np.ndarray
    aurc: float | None
    e_aurc: float | None
    augrc: float | None
    auroc: float | None
    accuracy: Interval
    n: int


class Bin(NamedTuple):
    """Episodes of similar stated probability: their mean probability, and how often they were right."""

    confidence: float
    accuracy: Interval


class Calibration(NamedTuple):
    """Stated probabilities against outcomes.

    Attributes:
        ece: mean distance of probability and accuracy over the bins, weighted by their sizes.
        brier: mean squared distance of probability and outcome.
        bins: of equal mass, as far as ties allow.
        n: episodes.
    """

    ece: float | None
    brier: float | None
    bins: list[Bin]
    n: int


def risk_coverage(confidence: np.ndarray, correct: np.ndarray) -> RiskCoverage:
    """Risk-coverage curve and its areas; ties in confidence count as all their orders do on average.

    Args:
        confidence: float (n,), larger is more confident.
        correct: bool (n,).

    Raises:
        ValueError: if the lengths differ or a confidence is NaN.
    """
    confidence, wrong = _checked(confidence, correct)
    n = len(wrong)
    accuracy = proportion(n - int(wrong.sum()), n)
    if n == 0:
        return RiskCoverage(np.empty(0), np.empty(0), None, None, None, None, accuracy, 0)
    values, group, size = np.unique(-confidence, return_inverse=True, return_counts=True)
    expected = np.repeat(np.bincount(group, wrong) / size, size)
    errors, k = np.cumsum(expected), np.arange(1, n + 1)
    aurc = float(np.mean(errors / k))
    optimal = float(np.mean(np.cumsum(np.sort(wrong)) / k))
    augrc = float(np.trapezoid(np.append(0, errors), dx=1 / n) / n)
    auroc = _auroc(confidence, wrong)
    return RiskCoverage(k / n, errors / k, aurc, aurc - optimal, augrc, auroc, accuracy, n)


def calibration(probability: np.ndarray, correct: np.ndarray, n_bins: int = 5) -> Calibration:
    """Expected calibration error over bins of equal mass, and Brier score.

    Equal probabilities stay in one bin, so the result does not depend on the order of the episodes.

    Args:
        probability: float (n,), stated probability that the answer is right.
        correct: bool (n,).
        n_bins: at most this many bins; with a hundred episodes no more than five.

    Raises:
        ValueError: if the lengths differ or a probability is NaN.
    """
    probability, wrong = _checked(probability, correct)
    n = len(wrong)
    if n == 0:
        return Calibration(None, None, [], 0)
    inner = np.quantile(probability, np.arange(1, n_bins) / n_bins, method="lower")
    member = np.searchsorted(np.unique(inner), probability, side="left")
    bins = [
        Bin(float(probability[inside].mean()), proportion(int((~wrong[inside]).sum()), int(inside.sum())))
        for inside in (member == i for i in np.unique(member))
    ]
    distance = [abs(each.confidence - (each.accuracy.estimate or 0.0)) * each.accuracy.n for each in bins]
    return Calibration(sum(distance) / n, float(np.mean((probability - ~wrong) ** 2)), bins, n)


def _checked(confidence: np.ndarray, correct: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    confidence, wrong = np.asarray(confidence, float), ~np.asarray(correct, bool)
    if len(confidence) != len(wrong) or np.isnan(confidence).any():
        raise ValueError("every episode needs a confidence and an outcome")
    return confidence, wrong


def _auroc(confidence: np.ndarray, wrong: np.ndarray) -> float | None:
    from scipy.stats import rankdata

    right = int((~wrong).sum())
    if right in (0, len(wrong)):
        return None
    above = rankdata(confidence)[~wrong].sum() - right * (right + 1) / 2
    return float(above / (right * wrong.sum()))
