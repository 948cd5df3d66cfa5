"""What one more glimpse would have been worth, from where the agent stopped (docs/metrics.md 3.2).

The hindsight values know the hidden canvas and the label: they say what was to be had, not what the agent could know.
The expected information gain does not: it averages over training digits that agree with what was seen.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..replay.counterfactual import confidence
from ..schemas import DIRECTIONS, Episode, Evidence, Geometry, Point, Predictor, PredictorInput
from ..traces.runner.policies import Hidden, make
from ..traces.runner.policies.base import follow
from ..traces.runner.policies.infogain import SIGMA, bank, in_cells
from ..traces.runner.policies.infogain import posterior as bank_posterior
from ..traces.world import offline_canvas

CONTINUATION, STEPS = "greedy", 3
_HYPOTHESES = 30


class Worth(NamedTuple):
    """Value of going on from the last shown glimpse.

    Args:
        voi_max: most that a single move would have added to the probability of the label (hindsight).
        voi_mean: the same on average over the moves that are not blocked.
        flip: whether some single move would have made the reader right where it is wrong (hindsight).
        voi_steps: gain of the label's probability after `STEPS` moves of the policy `CONTINUATION` (hindsight).
        eig: expected information gain of the best single move, in bits; not clairvoyant.
    """

    voi_max: float | None
    voi_mean: float | None
    flip: bool | None
    voi_steps: float | None
    eig: float | None


def value_of_more(
    episode: Episode, canvas: np.ndarray, geometry: Geometry, reader: Predictor, evidence: Evidence = "window"
) -> Worth:
    """What more glimpses would have been worth to `reader`, which must give probabilities.

    None where no move is open (the window fills the canvas) or the label does not fit the canvas.
    """
    windows, label = episode.windows(), episode.label
    if not windows or label is None or len(label) != geometry.n_panels:
        return Worth(None, None, None, None, None)
    reached = {geometry.move(windows[-1], name)[0] for name in DIRECTIONS} - {windows[-1]}
    hidden = Hidden(canvas, label)
    further = follow(make(CONTINUATION), hidden, windows, geometry, np.random.default_rng(0), STEPS)
    if not reached:
        return Worth(None, None, None, None, None)
    paths = [windows, further, *([*windows, window] for window in sorted(reached))]
    readings = [_read(canvas, path, geometry, reader, evidence) for path in paths]
    now, then, *moves = [_of(label, panels) for panels in readings]
    right = [_right(label, panels) for panels in readings]
    gains = [move - now for move in moves]
    eig = max(expected_information(canvas, windows, window, geometry, evidence) for window in reached)
    return Worth(max(gains), float(np.mean(gains)), not right[0] and any(right[2:]), then - now, eig)


def _read(
    canvas: np.ndarray, path: list[Point], geometry: Geometry, reader: Predictor, evidence: Evidence
) -> np.ndarray:
    seen = offline_canvas(canvas, path, geometry, evidence)
    reading = reader.predict(PredictorInput("canvas@1", (seen,), geometry.n_panels))
    return np.asarray(reading.probabilities, dtype=float)


def _of(label: str, panels: np.ndarray) -> float:
    return float(np.prod([panels[k, int(digit)] for k, digit in enumerate(label)]))


def _right(label: str, panels: np.ndarray) -> bool:
    return confidence(panels.tolist()) == _of(label, panels) and not bool(
        ((panels == panels.max(axis=1, keepdims=True)).sum(axis=1) > 1).any()
    )


def expected_information(
    canvas: np.ndarray, windows: list[Point], window: Point, geometry: Geometry, evidence: Evidence = "window"
) -> float:
    """H(q) - E[H(q after seeing `window`)] in bits, over the bank of training digits that agree with what was seen.

    Weights of the bank's digits fall with their Hamming distance to the evidence; only the seen pixels of `canvas` are
    used.
    """
    seen = offline_canvas(canvas, windows, geometry, evidence)
    weights = bank_posterior(seen, geometry)
    fresh = in_cells(geometry.seen([window], evidence) & (seen == 128), geometry)
    return sum(_panel_information(w, cells) for w, cells in zip(weights, fresh, strict=True))


def _panel_information(weights: np.ndarray, cells: np.ndarray) -> float:
    if not cells.any():
        return 0.0
    ink, classes = bank()
    heavy = np.argpartition(-weights, _HYPOTHESES)[:_HYPOTHESES]
    shown = ink[:, cells]
    size = shown.sum(axis=1)
    distance = size[heavy, None] + size - 2 * shown[heavy] @ shown.T
    then = (weights * np.exp(-distance / SIGMA)) @ classes
    then /= then.sum(axis=1, keepdims=True)
    share = weights[heavy] / weights[heavy].sum()
    return float(_bits(weights @ classes) - share @ _bits(then))


def _bits(probabilities: np.ndarray) -> np.ndarray:
    return -(probabilities * np.log2(np.maximum(probabilities, 1e-12))).sum(axis=-1)
