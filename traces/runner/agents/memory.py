"""Memory conditions: what a model is sent at each turn, and when the consolidated canvas is part of it.

The rules are those of the official runner (docs/models.md): in turn-based runs every turn is one user
message with the instruction, all earlier raw replies as text, a warning at the last turn allowed, and the
kept pictures; in natural runs there is one conversation that begins with the instruction, and no warning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from ....schemas import Geometry
from ...models import Prompts
from ...models.client import Turn
from ...models.questions import answer_form

AgentMemory = Literal["image_only", "textual_state", "metric_grid_map", "online_canvas"]
MEMORIES: tuple[AgentMemory, ...] = get_args(AgentMemory)
MULTI_TURN = "multi_turn"
"""Name for native multi-turn: a natural conversation in which a reply is an action and nothing else."""

ALL = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One memory condition.

    Args:
        memory: what a reply must contain, and whether the canvas is shown.
        horizon: pictures kept, the current one included; -1 for all.
        turn_mode: `turn_based` or `natural`.
        canvas_when: turns at which an online canvas is shown: `every`; `N` for every N-th, the first
            included; `coverage:X` from the glimpse on at which the share X of the ink has been seen; `end`
            once, when the model wants to answer (its answer after the canvas counts) or has its last turn.

    Raises:
        ValueError: for a combination that is none.
    """

    memory: AgentMemory = "image_only"
    horizon: int = ALL
    turn_mode: Literal["turn_based", "natural"] = "turn_based"
    canvas_when: str = "every"

    def __post_init__(self) -> None:
        if self.memory not in MEMORIES:
            raise ValueError(f"no memory {self.memory!r}; there are {', '.join((*MEMORIES, MULTI_TURN))}")
        if self.turn_mode not in ("turn_based", "natural"):
            raise ValueError(f"no turn mode {self.turn_mode!r}; there are turn_based and natural")
        if self.horizon != ALL and self.horizon < 1:
            raise ValueError(f"a horizon is -1 for all pictures or at least 1, not {self.horizon}")
        if self.turn_mode == "natural" and (self.horizon != ALL or self.memory == "online_canvas"):
            raise ValueError("a natural conversation keeps all pictures and has no canvas: horizon -1")
        if self.memory != "online_canvas" and self.canvas_when != "every":
            raise ValueError("--canvas-when belongs to the memory online_canvas")
        self.shows_canvas(0, 0.0, 1)

    def shows_canvas(self, turn: int, coverage: float, turns_left: int, *, answering: bool = False) -> bool:
        """Whether the canvas is shown.

        Args:
            turn: number of the turn, from 0.
            coverage: share of the ink that was seen.
            turns_left: turns left, this one included.
            answering: whether the model is about to have its answer counted.
        """
        if self.memory != "online_canvas":
            return False
        kind, _, value = self.canvas_when.partition(":")
        if self.canvas_when == "every":
            return True
        if self.canvas_when == "end":
            return answering or turns_left <= 1
        if kind == "coverage" and _share(value) is not None:
            return coverage >= float(value)
        if self.canvas_when.isdigit() and int(self.canvas_when):
            return turn % int(self.canvas_when) == 0
        raise ValueError(f"--canvas-when takes every, N, coverage:X or end, not {self.canvas_when!r}")

    @property
    def prompt_names(self) -> list[str]:
        """Prompt files that the condition uses."""
        names = ["agent", f"agent_{self.memory}", "agent_first_turn", "agent_history", "agent_last_turn"]
        return [
            *names,
            "agent_probe",
            *(["agent_online_canvas_note"] if self.memory == "online_canvas" else []),
        ]


def condition(
    memory: str, horizon: int | None = None, turn_mode: str | None = None, canvas_when: str = "every"
) -> Condition:
    """A condition with what the paper uses where nothing is said: all pictures for image only, else one.

    Raises:
        ValueError: for a combination that is none.
    """
    if memory == MULTI_TURN:
        if turn_mode not in (None, "natural") or horizon not in (None, ALL):
            raise ValueError("multi_turn is a natural conversation with all pictures")
        return Condition(turn_mode="natural", canvas_when=canvas_when)
    mode: Any = turn_mode or "turn_based"
    all_kept = memory == "image_only" or mode == "natural"
    kept = (ALL if all_kept else 1) if horizon is None else horizon
    name: Any = memory
    return Condition(memory=name, horizon=kept, turn_mode=mode, canvas_when=canvas_when)


def _share(text: str) -> float | None:
    try:
        return float(text) if 0 <= float(text) <= 1 else None
    except ValueError:
        return None


def instruction(prompts: Prompts, condition: Condition, geometry: Geometry) -> str:
    """The instruction of a condition in a world."""
    values: dict[str, Any] = {}
    if condition.memory == "online_canvas":
        values["note"] = prompts.text("agent_online_canvas_note")
    return prompts.text("agent", **world(geometry), reply=prompts.text(f"agent_{condition.memory}", **values))


def world(geometry: Geometry) -> dict[str, Any]:
    """What instructions say about a world."""
    n = geometry.n_panels
    return {
        "width": geometry.width,
        "height": geometry.height,
        "window": geometry.window,
        "stride": geometry.stride,
        "budget": geometry.budget,
        "count": "there is one digit" if n == 1 else f"there are {n} digits",
        "layout": "" if n == 1 else f", side by side, one in each {geometry.panel} pixels of width",
        "form": answer_form(n),
    }


@dataclass(frozen=True, slots=True)
class Context:
    """What a turn is made of.

    Args:
        replies: raw replies of all earlier turns.
        frames: PNG files of all glimpses shown so far, the current one last.
        canvas: PNG file of the consolidated canvas where it is shown at this turn.
        turns_left: turns left, this one included.
    """

    replies: Sequence[str]
    frames: Sequence[bytes]
    canvas: bytes | None
    turns_left: int


def turns(prompts: Prompts, condition: Condition, geometry: Geometry, context: Context) -> list[Turn]:
    """The conversation that is sent at one turn."""
    head = instruction(prompts, condition, geometry)
    if condition.turn_mode == "natural":
        first, *later = context.frames
        talk = [Turn("user", (head, first))]
        for reply, frame in zip(context.replies, later, strict=True):
            talk += [Turn("assistant", (reply,)), Turn("user", (frame,))]
        return talk
    parts: list[str | bytes] = [head]
    if context.replies:
        history = "\n".join(f"Turn {number}: {reply}" for number, reply in enumerate(context.replies, 1))
        parts.append(prompts.text("agent_history", history=history))
    else:
        parts.append(prompts.text("agent_first_turn"))
    if context.turns_left <= 1:
        parts.append(prompts.text("agent_last_turn"))
    if context.canvas is not None:
        parts.append(context.canvas)
    kept = context.frames if condition.horizon == ALL else context.frames[-condition.horizon :]
    return [Turn("user", (*parts, *kept))]


def probe_turns(prompts: Prompts, conversation: Sequence[Turn], n_panels: int) -> list[Turn]:
    """The same conversation with the demand to answer now at its end."""
    lists = ", ".join(["[<ten numbers>]"] * n_panels)
    demand = prompts.text("agent_probe", form=answer_form(n_panels), lists=lists)
    *before, last = conversation
    return [*before, Turn("user", (*last.parts, demand))]
