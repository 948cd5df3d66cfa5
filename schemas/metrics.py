"""The derived tables: one row an episode and one row a shown glimpse, computed by `analysis/metrics.py`.

Definitions are those of docs/metrics.md; `A1`-`A11` name its analyzers. Where a measure depends on what counts as
seen and its name does not say, it is of the evidence mode `window`. N is the number of shown glimpses, M = N - 1.
"""

from __future__ import annotations

from typing import Literal

from .geometry import Point
from .records import Json, col, key, record

GlimpseKind = Literal["new", "noop", "backtrack", "loop"]
Posterior = Literal["none", "last", "each"]


@record
class EpisodeMetrics:
    """What an episode did with its window, in numbers."""

    episode_id: str = key("Episode")
    version: str = key("Version of kernels and derivation that gave the row")
    posterior: Posterior = key("After which shown glimpses the reference reader has read")
    posterior_version: str | None = col("Version of the reference reader, where it has read")
    reasons: Json = col("Column name to reason for columns that are null")

    last_glimpse: int | None = col("Number of the last shown glimpse, from 0")
    euler: list[int] | None = col("By panel, Euler number of the strokes of the whole canvas (8-connected)")

    official_stroke_coverage: float | None = col(
        "Stroke pixels inside a window of windows_source, as the official runner counts"
    )
    official_stroke_coverage_readable: float | None = col(
        "The same with every window shrunk by two pixels on all sides"
    )
    official_area_coverage: float | None = col("Canvas inside a window of windows_source")
    official_revisit_rate: float | None = col(
        "Windows of windows_source that repeat an earlier one, over all of them"
    )

    coverage_window: float | None = col("Stroke pixels seen, evidence window")
    coverage_visible_exact: float | None = col("Stroke pixels seen, evidence visible_exact")
    area_coverage: float | None = col("Canvas seen")
    min_coverage: float | None = col("Smallest coverage of a panel")
    missed_panel: bool | None = col("Whether some panel showed no stroke pixel")
    panel_coverage_window: list[float | None] | None = col("Stroke pixels seen, by panel, evidence window")
    panel_coverage_visible_exact: list[float | None] | None = col("The same, evidence visible_exact")

    n_revisits: int | None = col(
        "A1: glimpses of a position held before: N - distinct positions", unit="glimpses"
    )
    n_noop: int | None = col("A1: revisits by a move that changed nothing", unit="glimpses")
    n_backtrack: int | None = col(
        "A1: revisits of the position before the previous effective move", unit="glimpses"
    )
    n_loop: int | None = col("A1: other revisits", unit="glimpses")
    revisit_rate_moves: float | None = col("A1: n_revisits / M (the paper's RR_T)")
    revisit_rate_obs: float | None = col("A1: n_revisits / N")
    revisit_lag_median: float | None = col("A1: median age of what is revisited", unit="glimpses")
    near_revisit_rate: float | None = col(
        "A1: moves that end nearer than half a stride to an earlier position"
    )
    redundant_glimpse_rate: float | None = col("A1: moves that show nothing new")

    blocked_rate: float | None = col("A2: moves that changed nothing")
    partial_clip_rate: float | None = col("A2: moves that the edge shortened")
    phase_shifted_x: bool | None = col("A2: whether the path left the lattice of its start along x")
    phase_shifted_y: bool | None = col("A2: the same along y")
    repeat_blocked_max: int | None = col("A2: longest run of blocked moves in one direction", unit="moves")

    auc_coverage: float | None = col("A3: mean height of the coverage curve over the moves made")
    auc_budget: float | None = col("A3: the same over the whole budget, the last value held")
    steps_to_50: int | None = col("A3: moves until coverage was at least .5", unit="moves")
    steps_to_75: int | None = col("A3: moves until coverage was at least .75", unit="moves")
    steps_to_90: int | None = col("A3: moves until coverage was at least .9", unit="moves")
    new_ink_per_move: float | None = col("A4: stroke pixels first shown per move", unit="px/move")
    redundancy: float | None = col("A4: pixels shown that had been shown before, over all shown")
    coverage_vs_greedy: float | None = col("A4: auc_coverage over that of the clairvoyant greedy path")

    n_pairs: int | None = col("A5: pairs of consecutive effective moves")
    n_reversals: int | None = col("A5: of them, pairs in opposite directions")
    n_turns: int | None = col("A5: of them, pairs at a right angle")
    reversal_rate: float | None = col("A5: n_reversals / n_pairs")
    turn_rate: float | None = col("A5: n_turns / n_pairs")
    straight_run_mean: float | None = col("A5: effective moves without a change of direction", unit="moves")
    reversal_rate_raw: float | None = col(
        "A5: reversals between consecutive moves as commanded, blocked ones included"
    )

    rqa_n: int | None = col("A6: recurrences (pairs of glimpses at one position)", unit="pairs")
    rqa_rec: float | None = col("A6: recurrences over all pairs")
    rqa_det: float | None = col("A6: recurrences on diagonals of two or more")
    rqa_lam: float | None = col("A6: recurrences on horizontal and vertical lines of two or more")
    rqa_corm: float | None = col("A6: mean lag of recurrences over N - 1")
    rqa_retr: float | None = col("A6: recurrences on anti-diagonals of two or more")
    rqa_near_rec: float | None = col("A6 within half a stride: recurrences over all pairs")
    rqa_near_det: float | None = col("A6 within half a stride: on diagonals")
    rqa_near_lam: float | None = col("A6 within half a stride: on lines")
    rqa_near_corm: float | None = col("A6 within half a stride: mean lag over N - 1")
    rqa_near_retr: float | None = col("A6 within half a stride: on anti-diagonals")
    rqa_moved_rec: float | None = col("A6 without no-ops: recurrences over all pairs")
    rqa_moved_det: float | None = col("A6 without no-ops: on diagonals")
    rqa_moved_lam: float | None = col("A6 without no-ops: on lines")
    rqa_moved_corm: float | None = col("A6 without no-ops: mean lag over N - 1")
    rqa_moved_retr: float | None = col("A6 without no-ops: on anti-diagonals")

    h_s: float | None = col("A7: entropy of the stride-sized cells of the window's centre", unit="bits")
    h_s_mm: float | None = col("A7: the same, Miller-Madow", unit="bits")
    h_s_normalised: float | None = col("A7: h_s over its largest possible value")
    h_a: float | None = col("A7: entropy of directions", unit="bits")
    h_a_mm: float | None = col("A7: the same, Miller-Madow", unit="bits")
    h_a_normalised: float | None = col("A7: h_a / 2")
    h_t: float | None = col("A7: entropy of a direction given the one before", unit="bits")
    h_t_mm: float | None = col("A7: the same, Miller-Madow", unit="bits")

    straightness: float | None = col("A8: net over gross displacement, L1")
    straightness_l2: float | None = col("A8: the same, L2")
    radius_of_gyration: float | None = col(
        "A8: root mean square distance of positions from their mean", unit="px"
    )
    net_displacement: float | None = col("A8: L1 distance from first to last position", unit="px")
    gross_displacement: float | None = col("A8: L1 length of the path", unit="px")

    first_entry_ink: list[int | None] | None = col(
        "A9: by panel, first glimpse that shows a stroke pixel of it"
    )
    first_entry_area: list[int | None] | None = col("A9: by panel, first glimpse whose window overlaps it")
    ink_dwell_share: list[float] | None = col(
        "A9: by panel, share of the stroke pixels shown, each glimpse counted anew"
    )
    n_crossings: int | None = col("A9: times that the window's centre went over a seam")
    panel_order: list[int] | None = col("A9: panels in the order in which their ink was first shown")
    first_panel: int | None = col("A9: panel with most ink in glimpse 0")
    second_entry: int | None = col("A9: first glimpse that shows ink of another panel", unit="glimpses")
    c_first_at_entry: float | None = col("A9: coverage of first_panel just before second_entry")

    posterior_full: list[list[float]] | None = col(
        "Reference reader on the whole canvas: by panel, probability of each digit"
    )
    posterior_window: list[list[float]] | None = col(
        "Reference reader after the last shown glimpse, evidence window"
    )
    posterior_visible_exact: list[list[float]] | None = col("The same, evidence visible_exact")
    answer_full: str | None = col("Most probable digits of posterior_full; null where a panel is tied")
    answer_window: str | None = col("Most probable digits of posterior_window; null where a panel is tied")
    answer_visible_exact: str | None = col(
        "Most probable digits of posterior_visible_exact; null where a panel is tied"
    )
    entropy_auc_window: float | None = col(
        "A11: mean height of the entropy curve, evidence window", unit="bits"
    )
    entropy_auc_visible_exact: float | None = col("A11: the same, evidence visible_exact", unit="bits")


@record
class StepMetrics:
    """What one shown glimpse added."""

    episode_id: str = key("Episode")
    glimpse: int = key("Number of the shown glimpse, from 0")
    step: int | None = col("Step that led to it, null for the start")
    window: Point = key("Position of the window (x, y)", unit="px")
    kind: GlimpseKind = key("A1: what the glimpse is to the path before it")
    near: bool = key("A1: whether it is nearer than half a stride to an earlier position")
    redundant: bool = key("A1: whether it shows nothing new")
    coverage_window: float | None = col("Stroke pixels seen so far, evidence window")
    coverage_visible_exact: float | None = col("Stroke pixels seen so far, evidence visible_exact")
    panel_coverage_window: list[float | None] | None = col("The same by panel, evidence window")
    panel_coverage_visible_exact: list[float | None] | None = col("The same by panel, evidence visible_exact")
    area_coverage: float = key("Canvas seen so far")
    new_ink: list[int] | None = col("Stroke pixels first shown by this glimpse, by panel", unit="px")
    new_area: int = key("Pixels first shown by this glimpse", unit="px")
    posterior_window: list[list[float]] | None = col(
        "Reference reader after this glimpse: by panel, probability of each digit"
    )
    posterior_visible_exact: list[list[float]] | None = col("The same, evidence visible_exact")
    entropy_window: float | None = col("A11: entropy of the joint posterior", unit="bits")
    entropy_visible_exact: float | None = col("The same, evidence visible_exact", unit="bits")
    ig_window: float | None = col("A11: entropy lost by this glimpse; may be negative", unit="bits")
    ig_visible_exact: float | None = col("The same, evidence visible_exact", unit="bits")
    surprise_window: float | None = col(
        "A11: KL divergence from the posterior before this glimpse", unit="bits"
    )
    surprise_visible_exact: float | None = col("The same, evidence visible_exact", unit="bits")
