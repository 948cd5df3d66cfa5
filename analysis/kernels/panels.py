"""How an episode moves between the panels of its canvas (docs/metrics.md A9, section 2.3)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .undefined import undefined


class PanelProcess(NamedTuple):
    """Which panels were looked at, when and how much; glimpses count from 0.

    Attributes:
        first_entry_ink: for each panel the first glimpse that shows a stroke pixel of it, else None.
        first_entry_area: for each panel the first glimpse whose window overlaps it, else None.
        ink_dwell_share: for each panel its share of the stroke pixels shown, each glimpse counted anew.
        n_crossings: times that the window's centre went over a seam; a centre on a seam keeps its last side.
        panel_order: panels in the order in which their ink was first shown.
        first_panel: the panel with most ink in glimpse 0; on a tie the one under the window's centre.
        second_entry: the first glimpse that shows ink of another panel than `first_panel`.
        c_first_at_entry: coverage of `first_panel` at that glimpse.
        min_coverage: smallest final coverage of a panel.
        missed_panel: whether some panel showed no ink at all.
    """

    first_entry_ink: tuple[int | None, ...] | None
    first_entry_area: tuple[int | None, ...] | None
    ink_dwell_share: tuple[float, ...] | None
    n_crossings: int | None
    panel_order: tuple[int, ...] | None
    first_panel: int | None
    second_entry: int | None
    c_first_at_entry: float | None
    min_coverage: float | None
    missed_panel: bool | None
    reasons: dict[str, str]


def panel_process(
    windows: np.ndarray,
    window: int,
    panel: int,
    n_panels: int,
    ink: np.ndarray | None = None,
    panel_coverage: np.ndarray | None = None,
) -> PanelProcess:
    """The panel process of one episode.

    Args:
        windows: int (N, 2).
        window: side of the window.
        panel: width of a panel.
        n_panels: their number.
        ink: int (N, n_panels), stroke pixels that each glimpse shows (`coverage.Shown`); None where the
            canvas is not known.
        panel_coverage: float (N, n_panels) from `coverage.Curves`, in the same evidence mode.
    """
    if len(windows) == 0:
        return undefined(PanelProcess, "no_glimpses")
    centre = windows[:, 0] + window / 2
    left = np.arange(n_panels) * panel
    overlaps: np.ndarray = (windows[:, :1] < left + panel) & (windows[:, :1] + window > left)
    area: dict[str, Any] = dict(
        first_entry_area=_first(overlaps), n_crossings=_crossings(centre, panel, n_panels)
    )
    if ink is None or panel_coverage is None:
        return undefined(PanelProcess, "canvas_unknown", **area)
    under_centre = int(np.clip(centre[0] // panel, 0, n_panels - 1))
    order = _order(ink, under_centre)
    first = int(max(range(n_panels), key=lambda k: (ink[0, k], k == under_centre)))
    entry = min((t for k, t in enumerate(_first(ink > 0)) if k != first and t is not None), default=None)
    final = panel_coverage[-1]
    result = PanelProcess(
        first_entry_ink=_first(ink > 0),
        **area,
        ink_dwell_share=tuple((ink.sum(axis=0) / ink.sum()).tolist()) if ink.any() else None,
        panel_order=order,
        first_panel=first,
        second_entry=entry,
        c_first_at_entry=None if entry is None else _number(panel_coverage[entry, first]),
        min_coverage=_number(final.min()),
        missed_panel=None if np.isnan(final).any() else bool((final == 0).any()),
        reasons={},
    )
    return result._replace(reasons=_reasons(result, n_panels))


def _first(happens: np.ndarray) -> tuple[int | None, ...]:
    """For each column of a bool array the first row that is True."""
    return tuple(
        int(t) if there else None
        for t, there in zip(happens.argmax(axis=0), np.any(happens, axis=0).tolist(), strict=True)
    )


def _crossings(centre: np.ndarray, panel: int, n_panels: int) -> int:
    on_seam = (centre % panel == 0) & (centre > 0) & (centre < panel * n_panels)
    side = (centre // panel)[~on_seam]
    return int(np.count_nonzero(np.diff(side)))


def _order(ink: np.ndarray, under_centre: int) -> tuple[int, ...]:
    """Panels by first ink; in one glimpse the one with more ink first, then the one under the centre."""
    entered = [(t, -ink[t, k], k != under_centre, k) for k, t in enumerate(_first(ink > 0)) if t is not None]
    return tuple(k for *_, k in sorted(entered))


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _reasons(result: PanelProcess, n_panels: int) -> dict[str, str]:
    """Why the fields are None that are so; with one panel there is no second to enter."""
    reasons = {}
    if result.first_entry_ink and None in result.first_entry_ink:
        reasons["first_entry_ink"] = "never_reached"
    if result.first_entry_area and None in result.first_entry_area:
        reasons["first_entry_area"] = "never_reached"
    if result.ink_dwell_share is None:
        reasons["ink_dwell_share"] = "never_reached"
    if result.min_coverage is None:
        reasons |= dict.fromkeys(("min_coverage", "missed_panel"), "no_strokes")
    if n_panels > 1 and result.second_entry is None:
        reasons |= dict.fromkeys(("second_entry", "c_first_at_entry"), "never_reached")
    elif result.c_first_at_entry is None and n_panels > 1:
        reasons["c_first_at_entry"] = "no_strokes"
    return reasons
