"""Cohorts: which runs a table or figure is over."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..schemas import Run
from ..traces.store import Store
from .database import Selected
from .paper import model_of

INTERNAL = ("image_only", "textual_state", "metric_grid_map")
"""The three internal representations of the paper (section 2.3)."""
_FIGURE_3 = (
    "Gemini-3.1-Pro-Preview",
    "Gemini-3.6-Flash",
    "Gemini-3.7-Flash",
    "Claude-5-Sonnet",
    "Claude-5-Opus",
    "Claude-5-Fable",
    "Qwen-3.8-27B",
    "GLM-4.6V",
)
"""The only subset of Table 2 that gives the numbers of Figure 3; no GPT (docs/metrics.md 0.4)."""


def _figure_3(run: Run) -> bool:
    """Published geometry and one of the models and representations of Figure 3."""
    horizon = -1 if run.memory == "image_only" else 1
    return (
        model_of(run.model, run.tags) in _FIGURE_3
        and run.memory in INTERNAL
        and run.harness != "mcp"
        and (run.window, run.stride, run.horizon) == (64, 32, horizon)
    )


COHORTS: dict[str, tuple[str, Callable[[Run], bool]]] = {
    "all": ("every selected run", lambda run: True),
    "paper_fig3_cohort": ("8 models x 3 internal representations of Figure 3", _figure_3),
    "paper_audit_cohort": (
        "the same models at level 2 under textual_state and metric_grid_map: the 1,600 traces of the audit",
        lambda run: _figure_3(run) and run.level == 2 and run.memory != "image_only",
    ),
}


def in_cohort(store: Store, selected: Sequence[Selected], cohort: str) -> list[Selected]:
    """Those of the selected runs that belong to a cohort: a preset, or the runs with a tag of that name.

    Raises:
        KeyError: for a name that is neither, saying which there are.
    """
    runs = {name: store.run(name) for name, _ in selected}
    if cohort in COHORTS:
        belongs = COHORTS[cohort][1]
    elif any(cohort in run.tags for run in runs.values()):
        belongs = lambda run: cohort in run.tags  # noqa: E731
    else:
        raise KeyError(f"no cohort {cohort!r}; there are {', '.join(COHORTS)}, and the tags of runs")
    return [(name, ids) for name, ids in selected if belongs(runs[name])]
