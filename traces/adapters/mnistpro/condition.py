"""The run's condition: from `run_config.json`, and from the folder's name where that is all there is."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from ....schemas import Diagnostic, Run
from ....schemas.enums import Memory
from ..json_text import whole

_NAME = re.compile(
    r"(?:multidigit_(?P<digits>\d+)_)?(?P<model>.+)_img(?P<image_size>\d+)_box(?P<box_size>\d+)_step(?P<step_size>\d+)"
    r"_maxsteps(?P<max_steps>\d+)_seed(?P<seed>\d+)_(?P<agent>\w+?)_hist(?P<horizon>-?\d+)_evalsets(?P<evalsets>\d+)"
    r"_(?P<timestamp>\d{8}_\d{6})"
)
_PARENT = re.compile(r"multidigit_(?P<digits>\d+)_(?P<org>[^/]+)")
_NUMBERS = ("digits", "image_size", "box_size", "step_size", "max_steps", "seed", "horizon", "evalsets")

_AGENTS: dict[str, tuple[Memory, str | None]] = {
    "DefaultVisionAgent": ("image_only", None),
    "MemoryVisionAgent": ("textual_state", None),
    "SpatialMemoryVisionAgent": ("metric_grid_map", None),
    "SensoryVisionAgent": ("visual_buffer", None),
    "NaturalConversationVisionAgent": ("image_only", "natural"),
    "NaturalConversationMemoryVisionAgent": ("textual_state", "natural"),
}
_OLD_NAMES: dict[str, Memory] = {
    "event_logging": "image_only",
    "textual_belief_state": "textual_state",
    "visual_buffer": "visual_buffer",
}
_NEW_NAMES: dict[str, Memory] = {
    "image_only_baseline": "image_only",
    "textual_state": "textual_state",
    "metric_grid_map": "metric_grid_map",
}


def from_name(name: str) -> dict[str, Any]:
    """Fields that a run folder's name gives; empty for a folder of another name.

    A model called `org/model` puts the run one level deeper; then the parent carries the number of digits.

    >>> name = "m_img224_box64_step32_maxsteps36_seed42_MemoryVisionAgent_hist1_evalsets10_20260824_110242"
    >>> from_name(name)["horizon"], from_name("anything else")
    (1, {})
    """
    *parents, last = name.split("/")
    match = _NAME.fullmatch(last)
    if not match:
        return {}
    found: dict[str, Any] = match.groupdict()
    outer = _PARENT.fullmatch(parents[-1]) if parents else None
    if outer and not found["digits"]:
        found |= {"digits": outer["digits"], "model": f"{outer['org']}/{found['model']}"}
    found |= {key: int(found[key]) for key in _NUMBERS if found[key] is not None}
    found["digits"] = found["digits"] or 1
    found["agent"] = found["agent"].removeprefix("MultiDigit")
    return found


def make_run(name: str, config: dict[str, Any] | None) -> tuple[Run, list[Diagnostic]]:
    """The run of a folder called `name` with that `run_config.json` (None without one), and what is wrong with it."""
    named = from_name(name)
    fields = named | {key: value for key, value in (config or {}).items() if value is not None}
    problems: list[Diagnostic] = []

    def number(key: str) -> int | None:
        value = whole(fields.get(key))
        if value is None and fields.get(key) is not None:
            problems.append(_invalid(key, fields[key]))
            value = whole(named.get(key))
        return value

    def text(key: str) -> str | None:
        value = fields.get(key)
        if value is not None and not isinstance(value, str):
            problems.append(_invalid(key, value))
        return value if isinstance(value, str) else named.get(key)

    memory, memory_raw, turn_mode = _memory(config, named, problems)
    run = Run(
        run=name.split("/")[-1],
        agent=named.get("agent"),
        model=text("model"),
        level=number("digits"),
        memory=memory,
        memory_raw=memory_raw,
        horizon=number("horizon"),
        turn_mode=text("turn_mode") or turn_mode,
        harness=_harness(text("harness"), text("turn_mode") or turn_mode),
        arm=text("arm"),
        window=_side(fields.get("box_size"), problems),
        stride=number("step_size"),
        panel=number("image_size"),
        n_panels=number("digits"),
        draw_border=_flag(config, problems),
        t_max=number("max_steps"),
        seed=number("seed"),
        settings={"evalsets": number("evalsets")},
        source_format="mnistpro",
        source_version=_version(config, memory_raw),
    )
    _check_geometry(run, problems)
    run.created_raw = text("timestamp")
    run.created = _time(run.created_raw, problems)
    return run, problems


def _invalid(key: str, value: Any) -> Diagnostic:
    return Diagnostic(
        code="invalid_value", message=f"{key} is {value!r}"[:200], path="run_config.json", position=key
    )


def _memory(
    config: dict[str, Any] | None, named: dict[str, Any], problems: list[Diagnostic]
) -> tuple[Memory | None, str | None, str | None]:
    raw = (config or {}).get("memory")
    if isinstance(raw, str):
        memory = (_OLD_NAMES | _NEW_NAMES).get(raw)
        if memory is None:
            problems.append(
                Diagnostic(
                    code="memory_unknown",
                    message=f"memory {raw!r}",
                    path="run_config.json",
                    position="memory",
                )
            )
        return memory, raw, None
    if raw is not None:
        problems.append(_invalid("memory", raw))
    agent = named.get("agent")
    memory, turn_mode = _AGENTS.get(agent or "", (None, None))
    if agent and memory is None:
        problems.append(Diagnostic(code="memory_unknown", message=f"agent class {agent!r}"))
    return memory, agent, turn_mode


def _harness(harness: str | None, turn_mode: str | None) -> Any:
    # The two are logged independently; a run with turn_mode turn_based and harness natural exists.
    known = ("turn_based", "natural", "mcp", "none")
    return harness if harness in known else turn_mode if turn_mode in known else None


def _version(config: dict[str, Any] | None, memory_raw: str | None) -> str:
    if config is None:
        return "released layout"
    return "older memory names" if memory_raw in _OLD_NAMES else "current memory names"


def _side(value: Any, problems: list[Diagnostic]) -> int | None:
    if isinstance(value, list) and len(value) == 2:
        if value[0] == value[1]:
            return whole(value[0])
        message = f"the window measures {value[0]} by {value[1]} pixels"
        problems.append(Diagnostic(code="non_square_window", message=message, path="run_config.json"))
        return None
    side = whole(value)
    if side is None and value is not None:
        problems.append(_invalid("box_size", value))
    return side


def _flag(config: dict[str, Any] | None, problems: list[Diagnostic]) -> bool | None:
    value = (config or {}).get("draw_border")
    if value is not None and not isinstance(value, bool):
        problems.append(_invalid("draw_border", value))
        return None
    return value


def _check_geometry(run: Run, problems: list[Diagnostic]) -> None:
    try:
        run.geometry()
    except ValueError as error:
        problems.append(Diagnostic(code="invalid_value", message=str(error), path="run_config.json"))
        run.window = run.stride = run.panel = None


def _time(raw: str | None, problems: list[Diagnostic]) -> datetime | None:
    if raw is None:
        return None
    try:
        return datetime.strptime(raw, "%Y%m%d_%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        problems.append(
            Diagnostic(code="time_unparseable", message=f"timestamp {raw!r}", path="run_config.json")
        )
        return None
