"""What the path alone says: revisits, edge waste, turns, shape (docs/metrics.md A1, A2, A5, A8)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from ...schemas.geometry import DIRECTIONS
from .undefined import undefined

KINDS = ("new", "noop", "backtrack", "loop")
"""What a glimpse is to the path before it; `GlimpseKinds.kind` holds indices into this."""


class GlimpseKinds(NamedTuple):
    """Each of N glimpses against the ones before it.

    Attributes:
        kind: int8 (N,), index into `KINDS`. A no-op shows the window of the glimpse before; a backtrack
            returns to the position held before the previous effective move; a loop is any other return.
        lag: int64 (N,), glimpses since the position was last seen; 0 where it is new.
        near: bool (N,), closer than half a stride (largest coordinate) to an earlier position. After a
            partial clip the glimpse just before does not count.
        redundant: bool (N,), the window shows no pixel that earlier windows had not shown.
    """

    kind: np.ndarray
    lag: np.ndarray
    near: np.ndarray
    redundant: np.ndarray


class Revisits(NamedTuple):
    """Revisit anatomy; rates are shares of the M moves, `revisit_rate_obs` of the N glimpses."""

    n_revisits: int | None
    n_noop: int | None
    n_backtrack: int | None
    n_loop: int | None
    revisit_rate_moves: float | None
    revisit_rate_obs: float | None
    revisit_lag_median: float | None
    near_revisit_rate: float | None
    redundant_glimpse_rate: float | None
    reasons: dict[str, str]


class EdgeWaste(NamedTuple):
    """Moves lost at the edges of the canvas; rates are shares of the M moves.

    Attributes:
        blocked_rate: moves that changed nothing.
        partial_clip_rate: moves shorter than a stride.
        phase_shifted_x: whether the path left the lattice of its start along x.
        phase_shifted_y: the same along y.
        repeat_blocked_max: longest run of blocked moves in one direction.
    """

    blocked_rate: float | None
    partial_clip_rate: float | None
    phase_shifted_x: bool | None
    phase_shifted_y: bool | None
    repeat_blocked_max: int | None
    reasons: dict[str, str]


class Turns(NamedTuple):
    """Changes of direction between consecutive effective moves.

    Attributes:
        n_pairs: pairs of consecutive effective moves, the denominator, for pooling over episodes.
        n_reversals: pairs that point in opposite directions.
        n_turns: pairs that change axis.
        reversal_rate: n_reversals / n_pairs.
        turn_rate: n_turns / n_pairs.
        straight_run_mean: mean number of effective moves without a change of direction.
        reversal_rate_raw: reversals between consecutive moves as commanded, blocked ones included.
    """

    n_pairs: int | None
    n_reversals: int | None
    n_turns: int | None
    reversal_rate: float | None
    turn_rate: float | None
    straight_run_mean: float | None
    reversal_rate_raw: float | None
    reasons: dict[str, str]


class Shape(NamedTuple):
    """How far the path leads for what it costs.

    Attributes:
        straightness: distance from first to last over path length, both in the L1 norm (that of the lattice).
        straightness_l2: the same in the L2 norm.
        radius_of_gyration: root mean square distance of the positions from their mean, pixels.
        net_displacement: L1 distance from first to last, pixels.
        gross_displacement: L1 length of the path, pixels.
    """

    straightness: float | None
    straightness_l2: float | None
    radius_of_gyration: float | None
    net_displacement: float | None
    gross_displacement: float | None
    reasons: dict[str, str]


def glimpse_kinds(windows: np.ndarray, stride: int, new_area: np.ndarray) -> GlimpseKinds:
    """Sort every glimpse by what it is to the path before it (docs/metrics.md A1).

    Args:
        windows: int (N, 2).
        stride: stride of the run.
        new_area: int (N,), pixels first shown by each glimpse in the evidence mode `window`.
    """
    n = len(windows)
    distance = np.abs(windows[:, None] - windows[None]).max(axis=2, initial=0)
    earlier = np.tri(n, k=-1, dtype=bool)
    last = np.where(earlier & (distance == 0), np.arange(n), -1).max(axis=1, initial=-1)
    lag = np.where(last >= 0, np.arange(n) - last, 0)
    kind = np.where(last >= 0, KINDS.index("loop"), KINDS.index("new")).astype(np.int8)
    kept = np.flatnonzero(lag != 1)
    returned = np.all(windows[kept[2:]] == windows[kept[:-2]], axis=1)
    kind[kept[2:][returned]] = KINDS.index("backtrack")
    kind[lag == 1] = KINDS.index("noop")
    near = earlier & (2 * distance < stride)
    clipped = 1 + np.flatnonzero(_partial_clips(windows, stride))
    near[clipped, clipped - 1] = False
    return GlimpseKinds(kind, lag, near.any(axis=1), np.asarray(new_area) == 0)


def revisits(kinds: GlimpseKinds) -> Revisits:
    """Count the kinds of an episode's glimpses (docs/metrics.md A1)."""
    n = len(kinds.kind)
    if n == 0:
        return undefined(Revisits, "no_glimpses")
    n_noop, n_backtrack, n_loop = (int(np.sum(kinds.kind == i)) for i in (1, 2, 3))
    total = n_noop + n_backtrack + n_loop
    counts = dict(n_revisits=total, n_noop=n_noop, n_backtrack=n_backtrack, n_loop=n_loop)
    if n == 1:
        return undefined(Revisits, "no_moves", **counts, revisit_rate_obs=0.0)
    return Revisits(
        **counts,
        revisit_rate_moves=total / (n - 1),
        revisit_rate_obs=total / n,
        revisit_lag_median=float(np.median(kinds.lag[kinds.lag > 0])) if total else None,
        near_revisit_rate=float(kinds.near[1:].mean()),
        redundant_glimpse_rate=float(kinds.redundant[1:].mean()),
        reasons={} if total else {"revisit_lag_median": "never_reached"},
    )


def edge_waste(windows: np.ndarray, directions: Sequence[str] | None, stride: int) -> EdgeWaste:
    """Blocked and clipped moves (docs/metrics.md A2).

    Raises:
        ValueError: if there are not N - 1 directions.
    """
    directions = _checked(windows, directions)
    if len(windows) < 2:
        return undefined(EdgeWaste, "no_moves" if len(windows) else "no_glimpses")
    blocked = ~np.any(np.diff(windows, axis=0), axis=1)
    shifted = np.any((windows - windows[0]) % stride, axis=0)
    known: dict[str, Any] = dict(
        blocked_rate=float(blocked.mean()),
        partial_clip_rate=float(_partial_clips(windows, stride).mean()),
        phase_shifted_x=bool(shifted[0]),
        phase_shifted_y=bool(shifted[1]),
    )
    if directions is None:
        return undefined(EdgeWaste, "not_recorded", **known)
    runs = [(key[0], len(list(run))) for key, run in groupby(zip(blocked.tolist(), directions, strict=True))]
    longest = max((length for stuck, length in runs if stuck), default=0)
    return EdgeWaste(**known, repeat_blocked_max=longest, reasons={})


def turns(windows: np.ndarray, directions: Sequence[str] | None) -> Turns:
    """Reversals, turns and straight runs (docs/metrics.md A5); no-ops are taken out, except for the raw rate.

    Raises:
        ValueError: if there are not N - 1 directions.
    """
    directions = _checked(windows, directions)
    moves = np.diff(without_noops(windows), axis=0)
    raw, why = _raw_reversal_rate(directions)
    reasons = {} if why is None else {"reversal_rate_raw": why}
    if len(moves) < 2:
        result = undefined(Turns, _too_few(windows, len(moves)), reversal_rate_raw=raw)
        return result._replace(reasons=result.reasons | reasons)
    dot = (moves[:-1] * moves[1:]).sum(axis=1)
    cross = moves[:-1, 0] * moves[1:, 1] - moves[:-1, 1] * moves[1:, 0]
    n_reversals, n_turns = int(np.sum((cross == 0) & (dot < 0))), int(np.sum(cross != 0))
    n_pairs = len(moves) - 1
    return Turns(
        n_pairs=n_pairs,
        n_reversals=n_reversals,
        n_turns=n_turns,
        reversal_rate=n_reversals / n_pairs,
        turn_rate=n_turns / n_pairs,
        straight_run_mean=len(moves) / (1 + n_reversals + n_turns),
        reversal_rate_raw=raw,
        reasons=reasons,
    )


def shape(windows: np.ndarray) -> Shape:
    """Straightness, displacement and spread of the positions (docs/metrics.md A8)."""
    if len(windows) == 0:
        return undefined(Shape, "no_glimpses")
    moves = np.diff(windows, axis=0)
    net, gross = np.abs(windows[-1] - windows[0]).sum(), np.abs(moves).sum()
    known = dict(
        radius_of_gyration=float(np.sqrt(np.mean(np.sum((windows - windows.mean(axis=0)) ** 2, axis=1)))),
        net_displacement=float(net),
        gross_displacement=float(gross),
    )
    if gross == 0:
        return undefined(Shape, "no_effective_moves" if len(moves) else "no_moves", **known)
    length = np.linalg.norm(moves, axis=1).sum()
    straight_l2 = float(np.linalg.norm(windows[-1] - windows[0]) / length)
    return Shape(float(net / gross), straight_l2, **known, reasons={})


def without_noops(windows: np.ndarray) -> np.ndarray:
    """The positions after the start and after each effective move."""
    return windows[np.append(True, np.any(np.diff(windows, axis=0), axis=1))[: len(windows)]]


def _partial_clips(windows: np.ndarray, stride: int) -> np.ndarray:
    """Bool (N - 1,): moves that an edge shortened but did not block."""
    length = np.abs(np.diff(windows, axis=0)).sum(axis=1)
    return (length > 0) & (length < stride)


def _checked(windows: np.ndarray, directions: Sequence[str] | None) -> Sequence[str] | None:
    if directions is not None and len(directions) != max(0, len(windows) - 1):
        raise ValueError(f"{len(windows)} glimpses need {len(windows) - 1} directions, not {len(directions)}")
    return directions


def _too_few(windows: np.ndarray, effective: int) -> str:
    """Why fewer than two effective moves give no rate."""
    if len(windows) < 2:
        return "no_moves" if len(windows) else "no_glimpses"
    return "too_short" if effective else "no_effective_moves"


def _raw_reversal_rate(directions: Sequence[str] | None) -> tuple[float | None, str | None]:
    if directions is None:
        return None, "not_recorded"
    if len(directions) < 2:
        return None, "too_short" if len(directions) else "no_moves"
    u = np.array([DIRECTIONS[direction] for direction in directions])
    return float(np.mean(np.all(u[1:] == -u[:-1], axis=1))), None
