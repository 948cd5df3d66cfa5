"""Intervals, tests, resampling, survival, calibration and power (docs/metrics.md, section 5).

With a hundred episodes a normal approximation is not to be trusted: proportions get exact or Wilson
intervals, pairs of conditions on the same episodes get McNemar's exact test and Newcombe's interval, and
everything else a bootstrap over clusters. One run per episode does not show a model's own sampling noise.
"""

from .intervals import (
    CochranQ,
    Interval,
    McNemar,
    PairedCounts,
    benjamini_hochberg,
    cochrans_q,
    holm,
    mcnemar,
    paired_counts,
    paired_difference,
    proportion,
    unpaired_difference,
)
from .power import power_paired, sample_size_paired, sample_size_unpaired
from .regression import Coefficient, Regression, logistic
from .resampling import cluster_bootstrap, macro_average, paired_bootstrap, sign_flip_test
from .selective import Bin, Calibration, RiskCoverage, calibration, risk_coverage
from .survival import Incidence, cumulative_incidence, kaplan_meier, paired_logrank

__all__ = [
    "Bin",
    "Calibration",
    "CochranQ",
    "Coefficient",
    "Incidence",
    "Interval",
    "McNemar",
    "PairedCounts",
    "Regression",
    "RiskCoverage",
    "benjamini_hochberg",
    "calibration",
    "cluster_bootstrap",
    "cochrans_q",
    "cumulative_incidence",
    "holm",
    "kaplan_meier",
    "logistic",
    "macro_average",
    "mcnemar",
    "paired_bootstrap",
    "paired_counts",
    "paired_difference",
    "paired_logrank",
    "power_paired",
    "proportion",
    "risk_coverage",
    "sample_size_paired",
    "sample_size_unpaired",
    "sign_flip_test",
    "unpaired_difference",
]
