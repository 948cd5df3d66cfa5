"""Which digits the episodes of a run show: the official runner's sampler."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from .digits import Digits

PUBLISHED_SEED = 42
CLASSES = 10


def sample(
    digits: Digits, n_panels: int, seed: int = PUBLISHED_SEED, evalsets: int = 10
) -> list[tuple[int, ...]]:
    """Original indices of each episode's digits, in episode order; `evalsets` * 10 episodes.

    Seed 42 gives the published episodes from the embedded digits alone. Other seeds draw from the whole set
    where it is complete, and within the embedded digits where it is not.

    >>> from .digits import embedded
    >>> sample(embedded(), 1)[0], sample(embedded(), 2)[0]
    ((6841,), (4931, 2777))
    """
    pools = _pools(digits, whole=published(digits, n_panels, seed, evalsets))
    rng = random.Random(seed)
    if n_panels == 1:
        return [(rng.choice(pools[label]),) for _ in range(evalsets) for label in range(CLASSES)]
    episodes = []
    for _ in range(evalsets * CLASSES):
        labels = [rng.randint(0, CLASSES - 1) for _ in range(n_panels)]
        episodes.append(tuple(rng.choice(pools[label]) for label in labels))
    return episodes


def _pools(digits: Digits, whole: bool) -> list[Sequence[int]]:
    index = np.arange(len(digits.labels)) if whole else digits.index
    return [index[digits.labels[index] == label].tolist() for label in range(CLASSES)]


def published(digits: Digits, n_panels: int, seed: int, evalsets: int) -> bool:
    """Whether `sample` gives the episodes that the official runner would draw with this seed."""
    return digits.complete or (seed == PUBLISHED_SEED and evalsets <= 10 and n_panels <= 2)
