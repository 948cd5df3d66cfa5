"""The paper's 24 claims, evaluated on its own numbers or on one's runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from .cohorts import INTERNAL
from .database import Database
from .measures import Row
from .paper import Cell, model_key, model_of, published_results, read_csv

_SHOWN = 6
_HORIZON = {"image_only": "inf", "textual_state": "1", "metric_grid_map": "1", "online_canvas": "1"}
_ROUNDING = 0.05 + 1e-9
_OPEN = ("qwen", "glm")
_LEVELS = (1, 2)


class Check(NamedTuple):
    """One cell that a claim is about: its name, and whether the claim holds there."""

    name: str
    holds: bool


class Results:
    """Numbers by cell, as the paper prints them; a cell that is not there is None."""

    def __init__(self, cells: Mapping[Cell, float], printed: Mapping[str, float] | None = None) -> None:
        self._cells = cells
        self.printed = printed or {}

    def models(self, table: int) -> list[str]:
        """Models of a table, in its order."""
        return list(dict.fromkeys(cell.model for cell in self._cells if cell.table == table))

    def get(
        self,
        table: int,
        model: str,
        condition: str,
        level: int,
        metric: str = "accuracy",
        *,
        horizon: str | None = None,
        window: int = 64,
    ) -> float | None:
        """A number; the horizon is the paper's for that condition unless given."""
        told = _HORIZON.get(condition.split("+")[0], "") if horizon is None else horizon
        return self._cells.get(Cell(table, model, condition, told, window, level, metric))


def _cells(
    results: Results, table: int, conditions: Iterable[str] = INTERNAL
) -> Iterator[tuple[str, str, int]]:
    """(model, condition, level) of a table."""
    chosen = list(conditions)
    return ((m, c, level) for m in results.models(table) for c in chosen for level in _LEVELS)


def _check(name: str, test: Callable[..., bool], *values: float | None) -> Iterator[Check]:
    """A check, where all its numbers are there."""
    if None not in values:
        yield Check(name, test(*values))


def _steps_are_moves_plus_one(r: Results) -> Iterator[Check]:
    for m, c, level in _cells(r, 5):
        numbers = r.get(2, m, c, level, "average_steps"), r.get(5, m, c, level, "moves")
        yield from _check(
            f"{m} {c} L{level}", lambda steps, moves: abs(steps - moves - 1) <= _ROUNDING, *numbers
        )


def _control_range(r: Results) -> Iterator[Check]:
    for m in r.models(2):
        yield from _check(m, lambda x: 83 <= x <= 99, r.get(2, m, "control", 1))


def _no_model_above_30(r: Results) -> Iterator[Check]:
    for m, c, level in _cells(r, 2):
        if level == 2:
            yield from _check(f"{m} {c}", lambda x: x <= 30, r.get(2, m, c, level))


def _image_only_best(r: Results) -> Iterator[Check]:
    """Of eight proprietary models; settings of one model (in brackets) count as one."""
    best: dict[str, bool] = {}
    for m in r.models(2):
        image, *others = (r.get(2, m, c, 1) for c in INTERNAL)
        if image is not None and None not in others and not model_key(m).startswith(_OPEN):
            base = m.split(" (")[0]
            best[base] = best.get(base, True) and image > max(o for o in others if o is not None)
    if len(best) == 8:
        yield Check(f"{sum(best.values())} of 8", sum(best.values()) == 7)


def _level2_below_level1(r: Results) -> Iterator[Check]:
    for m, c, level in _cells(r, 2):
        if level == 1:
            yield from _check(f"{m} {c}", lambda one, two: two < one, r.get(2, m, c, 1), r.get(2, m, c, 2))


def _below(table: int, low: str, high: str, metric: str) -> Callable[[Results], Iterator[Check]]:
    """A metric is lower under one condition than under another, model by model and level by level."""

    def check(r: Results) -> Iterator[Check]:
        for m in r.models(table):
            for level in _LEVELS:
                numbers = r.get(table, m, low, level, metric), r.get(table, m, high, level, metric)
                yield from _check(f"{m} L{level}", lambda a, b: a < b, *numbers)

    return check


def _offline_canvas_improves(r: Results) -> Iterator[Check]:
    for m, c, level in _cells(r, 3, ("image_only", "textual_state")):
        numbers = r.get(3, m, c, level), r.get(3, m, f"{c}+offline_canvas", level)
        yield from _check(f"{m} {c} L{level}", lambda without, canvas: canvas > without, *numbers)


def _textual_canvas_beats_image_canvas(r: Results) -> Iterator[Check]:
    for m in r.models(3):
        numbers = (
            r.get(3, m, f"{c}+offline_canvas", level)
            for c in ("image_only", "textual_state")
            for level in _LEVELS
        )
        yield from _check(m, lambda i1, i2, t1, t2: t1 + t2 > i1 + i2, *numbers)


def _online_canvas_improves(over: str) -> Callable[[Results], Iterator[Check]]:
    def check(r: Results) -> Iterator[Check]:
        for m in r.models(3):
            for level in _LEVELS if model_key(m).startswith("gemini") else ():
                numbers = r.get(3, m, over, level), r.get(3, m, "online_canvas", level)
                yield from _check(f"{m} L{level}", lambda before, canvas: canvas > before, *numbers)

    return check


def _fable_covers_most(condition: str) -> Callable[[Results], Iterator[Check]]:
    def check(r: Results) -> Iterator[Check]:
        for level in _LEVELS:
            coverage = {m: r.get(5, m, condition, level, "stroke_coverage") for m in r.models(5)}
            known = {m: value for m, value in coverage.items() if value is not None}
            if "claude5fable" in map(model_key, known) and len(known) > 1:
                most = max(known, key=lambda m: known[m])
                yield Check(f"L{level}: {most}", model_key(most) == "claude5fable")

    return check


def _topology_hierarchy(r: Results) -> Iterator[Check]:
    for m in r.models(6):
        for c in INTERNAL:
            numbers = (r.get(6, m, c, 1, f"accuracy_{group}") for group in ("strokes", "curves", "loops"))
            yield from _check(f"{m} {c}", lambda strokes, curves, loops: strokes >= curves >= loops, *numbers)


def _grid_map_lowers_loops(r: Results) -> Iterator[Check]:
    for m in r.models(6):
        text, grid = (r.get(6, m, c, 1, "accuracy_loops") for c in ("textual_state", "metric_grid_map"))
        yield from _check(m, lambda t, g: g < t, text, grid)


def _longer_history_fewer_steps(r: Results) -> Iterator[Check]:
    for m, c, level in _cells(r, 7, ("textual_state", "metric_grid_map")):
        for short, long in pairwise(("1", "2", "4", "inf")):
            numbers = (r.get(7, m, c, level, "average_steps", horizon=h) for h in (short, long))
            yield from _check(f"{m} {c} L{level} {short} to {long}", lambda a, b: b < a, *numbers)


def _history_beats_none(level: int) -> Callable[[Results], Iterator[Check]]:
    def check(r: Results) -> Iterator[Check]:
        for m, c, at in _cells(r, 7, ("textual_state", "metric_grid_map")):
            if at == level:
                numbers = (r.get(7, m, c, level, horizon=h) for h in ("1", "inf"))
                yield from _check(f"{m} {c}", lambda none, all_: all_ > none, *numbers)

    return check


def _larger_window(
    metric: str, better: Callable[[float, float], bool]
) -> Callable[[Results], Iterator[Check]]:
    def check(r: Results) -> Iterator[Check]:
        for m, c, level in _cells(r, 8):
            for small, large in pairwise((32, 64, 128)):
                numbers = (r.get(8, m, c, level, metric, window=w) for w in (small, large))
                yield from _check(f"{m} {c} L{level} {small} to {large}", better, *numbers)

    return check


def _persistent_memory_adds_nothing(r: Results) -> Iterator[Check]:
    for m in r.models(4):
        for arm in ("+memory", "+memory+feedback") if model_key(m) == "gemini37flash" else ():
            for level in _LEVELS:
                numbers = r.get(4, m, "agentic_mcp", level), r.get(4, m, f"agentic_mcp{arm}", level)
                yield from _check(f"{m} {arm} L{level}", lambda without, memory: memory <= without, *numbers)


def _coverage_below_accuracy_gap(r: Results) -> Iterator[Check]:
    for m in r.models(5):
        for level in _LEVELS if model_key(m) in ("claude5opus", "claude5fable") else ():
            seen = r.get(5, m, "textual_state", level, "stroke_coverage")
            right = r.get(2, m, "textual_state", level)
            yield from _check(
                f"{m} L{level}", lambda coverage, accuracy: coverage > 80 and accuracy <= 41, seen, right
            )


def _swap_is_a_count(r: Results) -> Iterator[Check]:
    """Whether the printed percent can be a number of correct answers out of two canvases of 100."""
    swapped = r.printed.get("swap")
    yield from _check(str(swapped), lambda x: any(round(k / 2, 1) == x for k in range(201)), swapped)


def _terra_shell_average(r: Results) -> Iterator[Check]:
    one, two = (r.get(4, "GPT-5.6-Terra", "agentic_shell", level) for level in _LEVELS)
    printed = r.printed.get("terra_shell_average")
    if one is not None and two is not None and printed is not None:
        yield Check(f"{(one + two) / 2}", abs((one + two) / 2 - printed) < 1e-9)


CLAIMS: dict[str, Callable[[Results], Iterator[Check]]] = {
    "steps_are_moves_plus_one": _steps_are_moves_plus_one,
    "control_range": _control_range,
    "no_model_above_30_on_level2": _no_model_above_30,
    "image_only_best_for_seven_of_eight": _image_only_best,
    "level2_below_level1": _level2_below_level1,
    "grid_map_reduces_revisits": _below(5, "metric_grid_map", "textual_state", "revisit_rate"),
    "unbounded_history_takes_fewest_steps": _below(2, "image_only", "textual_state", "average_steps"),
    "offline_canvas_improves_every_agent": _offline_canvas_improves,
    "textual_canvas_beats_image_only_canvas": _textual_canvas_beats_image_canvas,
    "online_canvas_improves_gemini_over_image_only": _online_canvas_improves("image_only"),
    "online_canvas_improves_gemini_over_textual": _online_canvas_improves("textual_state"),
    "fable_covers_most_textual_state": _fable_covers_most("textual_state"),
    "fable_covers_most_metric_grid_map": _fable_covers_most("metric_grid_map"),
    "topology_hierarchy": _topology_hierarchy,
    "grid_map_lowers_loops": _grid_map_lowers_loops,
    "longer_history_fewer_steps": _longer_history_fewer_steps,
    "unbounded_history_beats_none_level1": _history_beats_none(1),
    "unbounded_history_beats_none_level2": _history_beats_none(2),
    "larger_window_more_accurate": _larger_window("accuracy", lambda small, large: large > small),
    "larger_window_fewer_steps": _larger_window("average_steps", lambda small, large: large < small),
    "persistent_memory_adds_nothing": _persistent_memory_adds_nothing,
    "coverage_below_accuracy_gap": _coverage_below_accuracy_gap,
    "swap_l1_is_a_count_of_200": _swap_is_a_count,
    "terra_shell_average": _terra_shell_average,
}


def published() -> Results:
    """The paper's own numbers."""
    swapped = next(
        r for r in read_csv("published_diagnostics") if r["statistic"] == "level1_swapped_predictor"
    )
    shell = next(r for r in read_csv("claims") if r["id"] == "terra_shell_average")
    printed_average = float(shell["claim"].split("(")[1].split(")")[0])
    return Results(
        published_results(), {"swap": float(swapped["value"]), "terra_shell_average": printed_average}
    )


def of_runs(database: Database) -> Results:
    """The same numbers of one's own runs."""
    cells = {}
    for row in database.query("claims").iter_rows(named=True):
        model = model_of(row["model"], row["tags"])
        names = {name: row[name] for name in Cell._fields if name != "window"}
        cells[Cell(**{**names, "model": model or row["model"], "window": row["window_px"]})] = row["value"]
    return Results(cells)


def evaluate(results: Results) -> list[Row]:
    """One row a claim: n cells, how many hold, the verdict, and where it does not hold."""
    rows = []
    for told in read_csv("claims"):
        checks = list(CLAIMS[told["id"]](results))
        failed = [check.name for check in checks if not check.holds]
        verdict = "not_testable" if not checks else "fails" if failed else "holds"
        rows.append(
            {
                "id": told["id"],
                "claim": told["claim"],
                "where": told["where"],
                "unit": told["unit"],
                "n": len(checks),
                "n_true": len(checks) - len(failed),
                "verdict": verdict,
                "counterexamples": "; ".join(failed[:_SHOWN])
                + (f"; and {len(failed) - _SHOWN} more" if len(failed) > _SHOWN else ""),
                "published_verdict": told["published_verdict"],
            }
        )
    return rows
