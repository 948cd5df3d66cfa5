"""The kernels over traces: one row an episode and one row a shown glimpse (docs/metrics.md A1-A11)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..schemas import DIRECTIONS, EVIDENCE_MODES, Episode, Geometry, Point, Run
from ..schemas.metrics import EpisodeMetrics, Posterior, StepMetrics
from .kernels import (
    KERNEL_VERSION,
    acquisition,
    coverage,
    entropy,
    information,
    official,
    panels,
    path,
    recurrence,
)
from .posterior import EvidenceReader, evidence_canvases

VERSION = f"{KERNEL_VERSION}.1"
"""Kernel version, then the version of the derivation in this module."""
_BLANK = 255


class Canvases(NamedTuple):
    """Hidden canvases by pixel hash, and the hashes of those that are known in part only."""

    whole: Mapping[str, np.ndarray]
    partial: frozenset[str]


class Derived(NamedTuple):
    """Rows of the two derived tables."""

    episodes: list[EpisodeMetrics]
    steps: list[StepMetrics]


@dataclass
class _Trace:
    """An episode, ready for the kernels; `why_*` says why something is missing."""

    episode: Episode
    windows: np.ndarray
    why_windows: str | None
    official: np.ndarray
    why_official: str | None
    canvas: np.ndarray | None
    why_canvas: str | None
    values: dict[str, Any] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    def take(self, result: Any, names: Mapping[str, str] | None = None) -> None:
        """Take the fields of a kernel's result as columns, renamed where `names` says so (and only those)."""
        fields = result._asdict()
        why = fields.pop("reasons", {})
        for name in fields if names is None else names:
            self.put(name if names is None else names[name], fields[name], why.get(name))

    def put(self, column: str, value: Any, reason: str | None = None) -> None:
        """Set a column; a reason that a missing canvas or missing glimpses explain is told as that."""
        self.values[column] = _plain(value)
        if reason in ("no_strokes", "canvas_unknown"):
            reason = self.why_canvas or reason
        if reason is not None:
            self.reasons[column] = (self.why_windows or reason) if reason == "no_glimpses" else reason


def derive(
    run: Run,
    episodes: Sequence[Episode],
    canvases: Canvases,
    posterior: Posterior = "none",
    reader: EvidenceReader | None = None,
) -> Derived:
    """Metrics of episodes of one run.

    Args:
        run: their run.
        episodes: with their steps.
        canvases: their hidden canvases.
        posterior: after which shown glimpses `reader` reads.
        reader: needed unless `posterior` is `none`.
    """
    geometry = run.geometry()
    if geometry is None:
        return Derived([_without_geometry(episode, posterior, reader) for episode in episodes], [])
    traces = [_trace(episode, geometry, canvases) for episode in episodes]
    atlas = _Atlas((trace.canvas for trace in traces), geometry)
    _take_official(traces, geometry, atlas)
    steps = _take_coverage(traces, run, geometry, atlas)
    if posterior != "none" and reader is not None:
        _take_posteriors(traces, steps, geometry, posterior, reader)
    version = reader.version if reader and posterior != "none" else None
    return Derived(
        [
            EpisodeMetrics(
                episode_id=trace.episode.episode_id,
                version=VERSION,
                posterior=posterior,
                posterior_version=version,
                reasons=trace.reasons,
                **trace.values,
            )
            for trace in traces
        ],
        [step for rows in steps for step in rows],
    )


def _without_geometry(
    episode: Episode, posterior: Posterior, reader: EvidenceReader | None
) -> EpisodeMetrics:
    fixed = {"episode_id", "version", "posterior", "posterior_version", "reasons"}
    unknown = [name for name in EpisodeMetrics.__dataclass_fields__ if name not in fixed]
    return EpisodeMetrics(
        episode_id=episode.episode_id,
        version=VERSION,
        posterior=posterior,
        posterior_version=reader.version if reader and posterior != "none" else None,
        reasons=dict.fromkeys(unknown, "geometry_unknown"),
        **dict.fromkeys(unknown),
    )


def _trace(episode: Episode, geometry: Geometry, canvases: Canvases) -> _Trace:
    reasons = episode.reasons or {}
    glimpses = episode.glimpses()
    windows, why = _on_canvas(episode.windows(), geometry)
    if why == "not_recorded":
        why = reasons.get("glimpses", "not_recorded" if glimpses else "no_glimpses")
    source, why_source = _on_canvas(episode.windows_source, geometry)
    if why_source == "not_recorded":
        why_source = reasons.get("windows_source", why_source)
    canvas = canvases.whole.get(episode.canvas or "")
    why_canvas = None if canvas is not None else "canvas_unknown"
    if episode.canvas in canvases.partial:
        canvas, why_canvas = None, "canvas_partial"
    elif canvas is not None and canvas.shape != (geometry.height, geometry.width):
        canvas, why_canvas = None, "conflicting"
    return _Trace(episode, windows, why, source, why_source, canvas, why_canvas)


def _on_canvas(points: Sequence[Point] | None, geometry: Geometry) -> tuple[np.ndarray, str | None]:
    """Windows as int64 (N, 2), and why there are none."""
    nothing = np.empty((0, 2), np.int64)
    if not points:
        return nothing, "not_recorded"
    if any(not (0 <= x < geometry.width and 0 <= y < geometry.height) for x, y in points):
        return nothing, "conflicting"
    return np.array(points, np.int64), None


class _Atlas:
    """The canvases of some traces, prepared once for all kernels; one that is not known is blank."""

    def __init__(self, canvases: Iterable[np.ndarray | None], geometry: Geometry) -> None:
        blank = np.full((geometry.height, geometry.width), _BLANK, np.uint8)
        distinct = {id(canvas): canvas for canvas in canvases if canvas is not None}
        self._row = {key: i for i, key in enumerate(distinct, 1)}
        self._tables = coverage.canvas_tables(np.stack([blank, *distinct.values()]), geometry.n_panels)

    def batch(self, paths: Sequence[tuple[np.ndarray | None, np.ndarray]]) -> _Batch:
        """Arguments of the batched kernels for (canvas, windows) of each path."""
        return _Batch(
            self._tables,
            np.array([0 if canvas is None else self._row[id(canvas)] for canvas, _ in paths], np.int64),
            np.concatenate([np.empty((0, 2), np.int64), *(windows for _, windows in paths)]),
            np.cumsum([0, *(len(windows) for _, windows in paths)]),
        )


class _Batch(NamedTuple):
    tables: coverage.CanvasTables
    canvas_of: np.ndarray
    windows: np.ndarray
    offsets: np.ndarray


def _take_official(traces: list[_Trace], geometry: Geometry, atlas: _Atlas) -> None:
    """The official four columns, over the log's own windows (docs/design.md, counting rule 3)."""
    batch = atlas.batch([(trace.canvas, trace.official) for trace in traces])
    figures = official.official_figures(*batch, geometry.window)
    for i, trace in enumerate(traces):
        for name in figures._fields:
            why = trace.why_official or (trace.why_canvas if "stroke" in name else None)
            if name == "official_revisit_rate" and why is None:
                why = _recovered(trace.episode)
            trace.put(name, None if why else getattr(figures, name)[i])
            if why:
                trace.reasons[name] = why


def _recovered(episode: Episode) -> str | None:
    """Windows recovered from pictures: how often each was visited is not known."""
    return "recovered" if (episode.reasons or {}).get("windows_source") == "recovered" else None


def _take_coverage(
    traces: list[_Trace], run: Run, geometry: Geometry, atlas: _Atlas
) -> list[list[StepMetrics]]:
    """Everything but official figures and posteriors; the rows of `step_metrics`, by episode."""
    batch = atlas.batch([(trace.canvas, trace.windows) for trace in traces])
    insets = {mode: coverage.inset(mode, geometry.draw_border) for mode in EVIDENCE_MODES}
    curves = {m: coverage.coverage_curves(*batch, geometry.window, inset) for m, inset in insets.items()}
    shown = coverage.shown(*batch, geometry.window)
    greedy = _greedy_curves(traces, geometry, atlas)
    euler = {id(t.canvas): _euler(t.canvas, geometry) for t in traces if t.canvas is not None}
    steps = []
    for trace, a, b in zip(traces, batch.offsets, batch.offsets[1:], strict=False):
        mine = {mode: coverage.Curves(*(array[a:b] for array in curve)) for mode, curve in curves.items()}
        here = coverage.Shown(shown.ink[a:b], shown.area[a:b])
        kinds = path.glimpse_kinds(trace.windows, geometry.stride, mine["window"].new_area)
        _take_seen(trace, mine)
        _take_acquisition(trace, mine["window"], here, run.t_max, geometry, greedy.get(_world(trace)))
        _take_path(trace, kinds, geometry)
        _take_panels(trace, mine["window"], here, geometry)
        _take_world(trace, euler)
        steps.append(_steps(trace, kinds, mine))
    return steps


def _take_seen(trace: _Trace, curves: Mapping[str, coverage.Curves]) -> None:
    """Final coverage in both evidence modes."""
    for mode in EVIDENCE_MODES:
        curve = curves[mode]
        n = len(curve.coverage)
        why = "no_glimpses" if n == 0 else "no_strokes" if np.isnan(curve.coverage[-1]) else None
        trace.put(f"coverage_{mode}", curve.coverage[-1] if n else None, why)
        known = n > 0 and trace.canvas is not None
        panel_why = None if known else "canvas_unknown" if n else "no_glimpses"
        trace.put(f"panel_coverage_{mode}", curve.panel_coverage[-1] if known else None, panel_why)
    area = curves["window"].area
    trace.put("area_coverage", area[-1] if len(area) else None, None if len(area) else "no_glimpses")


def _take_acquisition(
    trace: _Trace,
    curve: coverage.Curves,
    shown: coverage.Shown,
    t_max: int | None,
    geometry: Geometry,
    greedy: np.ndarray | None,
) -> None:
    """A3 and A4."""
    trace.take(acquisition.acquisition(curve, shown, t_max or geometry.budget, greedy))
    if t_max is None:
        trace.put("auc_budget", None, "not_recorded")
    for q in (50, 75, 90):
        steps = acquisition.steps_to(curve.coverage, q / 100)
        why = None if steps is not None else trace.reasons.get("coverage_window", "never_reached")
        trace.put(f"steps_to_{q}", steps, why)


def _take_path(trace: _Trace, kinds: path.GlimpseKinds, geometry: Geometry) -> None:
    """A1, A2, A5-A8: what needs no canvas."""
    windows, directions = trace.windows, _directions(trace.episode) if len(trace.windows) else None
    size = geometry.window, geometry.stride
    trace.take(path.revisits(kinds))
    trace.take(path.edge_waste(windows, directions, geometry.stride))
    trace.take(path.turns(windows, directions))
    trace.take(path.shape(windows))
    trace.take(entropy.entropies(windows, directions, *size, geometry.width, geometry.height))
    moved = path.without_noops(windows)
    names = {name: name for name in ("rec", "det", "lam", "corm", "retr")}
    exact = {"n_recurrences": "rqa_n"} | {name: f"rqa_{name}" for name in names}
    trace.take(recurrence.recurrence(windows), exact)
    near = recurrence.recurrence(windows, np.nextafter(geometry.stride / 2, 0))
    trace.take(near, {name: f"rqa_near_{name}" for name in names})
    trace.take(recurrence.recurrence(moved), {name: f"rqa_moved_{name}" for name in names})


def _directions(episode: Episode) -> list[str] | None:
    """Directions of the moves between shown glimpses; None where one is not known or led to one not shown."""
    shown = [glimpse.shown for glimpse in episode.reached()]
    if False in shown[: sum(shown)]:
        return None
    by_step = {step.step: (step.direction or "").strip().lower() for step in episode.steps}
    directions = [by_step[glimpse.step] for glimpse in episode.glimpses()[1:] if glimpse.step is not None]
    return directions if all(direction in DIRECTIONS for direction in directions) else None


def _take_panels(trace: _Trace, curve: coverage.Curves, shown: coverage.Shown, geometry: Geometry) -> None:
    """A9."""
    ink = (None, None) if trace.canvas is None else (shown.ink, curve.panel_coverage)
    size = geometry.window, geometry.panel, geometry.n_panels
    trace.take(panels.panel_process(trace.windows, *size, *ink))


def _euler(canvas: np.ndarray, geometry: Geometry) -> list[int]:
    return [euler_number(ink) for ink in np.split(canvas == 0, geometry.n_panels, axis=1)]


def euler_number(ink: np.ndarray) -> int:
    """Connected parts minus holes of a bool picture, 8-connected, by its 2 x 2 squares (Gray 1971).

    As skimage's `euler_number`, several times faster.
    """
    a, b, c, d = (np.pad(ink, 1)[y : y - 1 or None, x : x - 1 or None] for y in (0, 1) for x in (0, 1))
    count = a.astype(np.uint8) + b + c + d
    diagonal = (count == 2) & (a == d)
    return int((count == 1).sum() - (count == 3).sum() - 2 * diagonal.sum()) // 4


def _take_world(trace: _Trace, euler: Mapping[int, list[int]]) -> None:
    """How long the path is, and the topology of the digits themselves."""
    n = len(trace.windows)
    trace.put("last_glimpse", n - 1 if n else None, None if n else "no_glimpses")
    trace.put("euler", euler.get(id(trace.canvas)), "canvas_unknown" if trace.canvas is None else None)


_World = tuple[int, Point]


def _world(trace: _Trace) -> _World | None:
    if trace.canvas is None or not len(trace.windows):
        return None
    x, y = trace.windows[0].tolist()
    return id(trace.canvas), (x, y)


def _greedy_curves(
    traces: Iterable[_Trace], geometry: Geometry, atlas: _Atlas
) -> dict[_World | None, np.ndarray]:
    """Coverage curve of the greedy reference, for each distinct canvas and start."""
    worlds: dict[_World, np.ndarray] = {
        world: trace.canvas for trace in traces if (world := _world(trace)) and trace.canvas is not None
    }
    walks = [
        acquisition.greedy_path(canvas, start, geometry.window, geometry.stride)
        for (_, start), canvas in worlds.items()
    ]
    batch = atlas.batch(list(zip(worlds.values(), walks, strict=True)))
    curve = coverage.coverage_curves(*batch, geometry.window).coverage
    return dict(zip(worlds, np.split(curve, batch.offsets[1:-1]), strict=False))


def _steps(
    trace: _Trace, kinds: path.GlimpseKinds, curves: Mapping[str, coverage.Curves]
) -> list[StepMetrics]:
    known = trace.canvas is not None
    seen, exact = curves["window"], curves["visible_exact"]
    unknown = [None] * len(trace.windows)
    columns = {
        "window": map(tuple, trace.windows.tolist()),
        "kind": [path.KINDS[kind] for kind in kinds.kind],
        "near": kinds.near.tolist(),
        "redundant": kinds.redundant.tolist(),
        "coverage_window": _plain(seen.coverage),
        "coverage_visible_exact": _plain(exact.coverage),
        "panel_coverage_window": _plain(seen.panel_coverage) if known else unknown,
        "panel_coverage_visible_exact": _plain(exact.panel_coverage) if known else unknown,
        "area_coverage": seen.area.tolist(),
        "new_ink": seen.new_ink.tolist() if known else unknown,
        "new_area": seen.new_area.tolist(),
    }
    glimpses = trace.episode.glimpses() if len(trace.windows) else []
    return [
        StepMetrics(
            episode_id=trace.episode.episode_id,
            glimpse=t,
            step=glimpse.step,
            **dict(zip(columns, values, strict=True)),
        )
        for t, (glimpse, *values) in enumerate(zip(glimpses, *columns.values(), strict=True))
    ]


def _take_posteriors(
    traces: list[_Trace],
    steps: list[list[StepMetrics]],
    geometry: Geometry,
    posterior: Posterior,
    reader: EvidenceReader,
) -> None:
    """What the reference reader makes of the evidence, in both modes, and of the whole canvas (A11)."""
    each = posterior == "each"
    readings = iter(reader.read(_canvases_to_read(traces, geometry, each)))
    for trace, rows in zip(traces, steps, strict=True):
        if trace.canvas is None:
            for name in ("full", *EVIDENCE_MODES):
                trace.put(f"posterior_{name}", None, "canvas_unknown")
                trace.put(f"answer_{name}", None, "canvas_unknown")
            continue
        _put_reading(trace, "full", next(readings))
        for mode in EVIDENCE_MODES:
            read = rows if each else rows[-1:]
            _take_mode(trace, mode, read, [next(readings) for _ in read])


def _canvases_to_read(traces: Iterable[_Trace], geometry: Geometry, each: bool) -> Iterator[np.ndarray]:
    for trace in traces:
        if trace.canvas is not None:
            yield trace.canvas
            windows = [(x, y) for x, y in trace.windows.tolist()]
            for mode in EVIDENCE_MODES:
                yield from evidence_canvases(trace.canvas, windows, geometry, mode, each=each)


def _take_mode(trace: _Trace, mode: str, rows: list[StepMetrics], readings: list[np.ndarray]) -> None:
    if not rows:
        for name in (f"posterior_{mode}", f"answer_{mode}", f"entropy_auc_{mode}"):
            trace.put(name, None, "no_glimpses")
        return
    _put_reading(trace, mode, readings[-1])
    found = [information.information(panel) for panel in np.stack(readings, axis=1)]
    # the joint posterior is the product of the panels' own
    entropies = np.sum([f.entropy for f in found], axis=0)
    gains, surprises = np.sum([f.ig for f in found], axis=0), np.sum([f.surprise for f in found], axis=0)
    for t, row in enumerate(rows):
        setattr(row, f"posterior_{mode}", readings[t].astype(float).tolist())
        setattr(row, f"entropy_{mode}", float(entropies[t]))
        if t:
            setattr(row, f"ig_{mode}", float(gains[t - 1]))
            setattr(row, f"surprise_{mode}", float(surprises[t - 1]))
    if len(rows) == len(trace.windows):
        aucs = [f.entropy_auc for f in found]
        auc = sum(a for a in aucs if a is not None) if None not in aucs else None
        trace.put(f"entropy_auc_{mode}", auc, found[0].reasons.get("entropy_auc"))


def _put_reading(trace: _Trace, name: str, reading: np.ndarray) -> None:
    from ..replay.predictors.reference.predictor import best

    digits = best(reading)
    trace.put(f"posterior_{name}", reading.astype(float).tolist())
    answer = None if (digits < 0).any() else "".join(map(str, digits))
    trace.put(f"answer_{name}", answer, None if answer is not None else "ambiguous")


def _plain(value: Any) -> Any:
    """Python values; what is not a number is None."""
    if isinstance(value, (np.ndarray, np.generic, tuple)):
        value = value.tolist() if not isinstance(value, tuple) else list(value)
    if isinstance(value, float):
        return None if value != value else value
    return [_plain(item) for item in value] if isinstance(value, list) else value
