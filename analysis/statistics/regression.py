"""Logistic regression on clustered episodes (docs/metrics.md, section 5)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np


class Coefficient(NamedTuple):
    """One predictor's log odds ratio per unit, with Wald interval and p-value."""

    name: str
    estimate: float
    low: float
    high: float
    p: float


class Regression(NamedTuple):
    """A fitted model; without coefficients where the data do not determine it (`converged` False)."""

    coefficients: list[Coefficient]
    n: int
    n_clusters: int
    converged: bool


def logistic(
    outcome: np.ndarray,
    predictors: Mapping[str, np.ndarray],
    clusters: np.ndarray,
    method: Literal["logit", "gee"] = "logit",
    level: float = 0.95,
) -> Regression:
    """Logistic regression whose standard errors allow for episodes on one canvas to be alike.

    Args:
        outcome: bool (n,).
        predictors: by name, float (n,); a constant is added as `intercept`.
        clusters: (n,), the canvas of each row.
        method: `logit` with cluster-robust errors, or `gee` with an exchangeable correlation.
        level: of the intervals.

    Raises:
        ValueError: if the lengths differ.
    """
    from statsmodels.discrete.discrete_model import Logit
    from statsmodels.genmod.cov_struct import Exchangeable
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_estimating_equations import GEE

    y, groups = np.asarray(outcome, float), np.unique(clusters, return_inverse=True)[1]
    columns = {"intercept": np.ones(len(y)), **predictors}
    x = np.column_stack([np.asarray(column, float) for column in columns.values()])
    if len(x) != len(y) or len(groups) != len(y):
        raise ValueError("outcome, predictors and clusters must have one length")
    n_clusters = len(np.unique(groups))
    nothing = Regression([], len(y), n_clusters, False)
    if len(np.unique(y)) < 2 or np.linalg.matrix_rank(x) < x.shape[1] or n_clusters < 2:
        return nothing
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # separation, and a search that did not converge
        try:
            if method == "gee":
                fit = GEE(y, x, groups, family=Binomial(), cov_struct=Exchangeable()).fit()
            else:
                fit = Logit(y, x).fit(cov_type="cluster", cov_kwds={"groups": groups}, disp=0)
        except (Warning, np.linalg.LinAlgError):
            return nothing
    if fit is None:
        return nothing
    rows = zip(columns, fit.params, fit.conf_int(1 - level), fit.pvalues, strict=True)
    return Regression(
        [Coefficient(name, float(b), float(low), float(high), float(p)) for name, b, (low, high), p in rows],
        len(y),
        n_clusters,
        True,
    )
