"""How many episodes does a difference need? (docs/metrics.md, section 5)."""

from __future__ import annotations

from math import ceil, sqrt

import numpy as np


def sample_size_unpaired(p_a: float, p_b: float, alpha: float = 0.05, power: float = 0.8) -> int:
    """Episodes *per condition* to tell two proportions over different episodes apart, two-sided.

    Cohen's arcsine difference, as `statsmodels.stats.power.NormalIndPower`.

    Raises:
        ValueError: if there is no difference to find.
    """
    from statsmodels.stats.power import NormalIndPower
    from statsmodels.stats.proportion import proportion_effectsize

    if p_a == p_b:
        raise ValueError("no number of episodes tells equal proportions apart")
    effect = abs(proportion_effectsize(p_a, p_b))
    return ceil(NormalIndPower().solve_power(effect, alpha=alpha, power=power, ratio=1.0))


def sample_size_paired(only_a: float, only_b: float, alpha: float = 0.05, power: float = 0.8) -> int:
    """Episodes to tell two conditions on the same episodes apart, two-sided.

    Connor 1987, Biometrics 43:207.

    Args:
        only_a: share of episodes in which only the first condition succeeds.
        only_b: share in which only the second does; the difference to find is only_a - only_b.
        alpha: of the test.
        power: chance to find it.

    Raises:
        ValueError: if there is no difference to find, or the shares exceed 1.
    """
    from scipy.stats import norm

    discordant, difference = only_a + only_b, only_a - only_b
    if difference == 0 or discordant > 1:
        raise ValueError("the discordant shares must differ and not exceed 1 together")
    z_alpha, z_power = norm.ppf(1 - alpha / 2), norm.ppf(power)
    root = z_alpha * sqrt(discordant) + z_power * sqrt(discordant - difference**2)
    return ceil((root / difference) ** 2)


def power_paired(n: int, only_a: float, only_b: float, alpha: float = 0.05) -> float:
    """Chance that McNemar's exact test on n episodes finds a difference; arguments as above.

    Summed over how many pairs are discordant and how they split.
    """
    from scipy.stats import binom

    discordant = only_a + only_b
    if discordant == 0:
        return 0.0
    m = np.arange(n + 1)
    # the largest number of losses among m discordant pairs that is still significant
    cut = binom.ppf(alpha / 2, m, 0.5)
    cut -= binom.cdf(cut, m, 0.5) > alpha / 2
    share = only_a / discordant
    found = binom.cdf(cut, m, share) + binom.sf(m - cut - 1, m, share)
    return float(np.sum(binom.pmf(m, n, discordant) * found))
