"""What a policy is, what it may see, and what it decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from ....schemas import UNSEEN, Geometry, Point, Reading
from ...world.canvas import offline_canvas


class Hidden(NamedTuple):
    """What only a clairvoyant policy is given: the whole canvas, uint8 with strokes 0, and its label."""

    canvas: np.ndarray
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """All that a policy may see before an action.

    Args:
        geometry: the world's measures.
        windows: windows of the glimpses shown so far, the current one last.
        canvas: what they showed, put together: uint8 (H, W), unseen pixels 128.
        steps_left: actions left, an answer included.
        read: asks the run's predictor what it makes of `canvas`; None without a predictor.
        hidden: given to clairvoyant policies only.
    """

    geometry: Geometry
    windows: tuple[Point, ...]
    canvas: np.ndarray
    steps_left: int
    read: Callable[[], Reading] | None = None
    hidden: Hidden | None = None

    @classmethod
    def of(
        cls,
        hidden: Hidden,
        windows: Sequence[Point],
        geometry: Geometry,
        clairvoyant: bool,
        read: Callable[[], Reading] | None = None,
    ) -> View:
        """What is seen of a world after moves through `windows`, the start included."""
        return cls(
            geometry=geometry,
            windows=tuple(windows),
            canvas=offline_canvas(hidden.canvas, windows, geometry),
            steps_left=geometry.budget - len(windows) + 1,
            read=read,
            hidden=hidden if clairvoyant else None,
        )

    @property
    def position(self) -> Point:
        """The current window."""
        return self.windows[-1]

    @property
    def seen(self) -> np.ndarray:
        """Evidence mask, bool (H, W)."""
        return self.canvas != UNSEEN

    @property
    def last(self) -> bool:
        """Whether this is the last action allowed: a move now would end the episode without an answer."""
        return self.steps_left <= 1


@dataclass(frozen=True, slots=True)
class Decision:
    """A move, or an answer where `direction` is None.

    Args:
        direction: where to move.
        answer: digits; None leaves the answer to the run's predictor.
        thought: what the policy says beside its action.
    """

    direction: str | None = None
    answer: str | None = None
    thought: str | None = None


class Policy(Protocol):
    """A scripted agent. All its randomness comes from the generator that `reset` is given.

    `clairvoyant` says whether it is shown the hidden canvas. A policy that is a dataclass has its fields
    recorded as the run's settings.
    """

    clairvoyant: bool

    def reset(self, rng: np.random.Generator, geometry: Geometry, t_max: int) -> None:
        """Forget the last episode; `t_max` actions are allowed in the next."""
        ...

    def act(self, view: View) -> Decision:
        """Decide on one action."""
        ...


def follow(
    policy: Policy,
    hidden: Hidden,
    windows: Sequence[Point],
    geometry: Geometry,
    rng: np.random.Generator,
    moves: int | None = None,
) -> list[Point]:
    """Where a policy without a predictor goes from the last of `windows`.

    Args:
        policy: is reset with `rng` first.
        hidden: the world.
        windows: the start, and what was seen since.
        geometry: the world's measures.
        rng: of the policy's random choices.
        moves: most moves to make; None for as many as the budget allows.

    Returns:
        `windows` and those reached after them, until the policy answers or may not move any more.
    """
    policy.reset(rng, geometry, geometry.budget)
    reached = list(windows)
    last = min(geometry.budget, len(windows) + (geometry.budget if moves is None else moves))
    while len(reached) < last:
        decision = policy.act(View.of(hidden, reached, geometry, policy.clairvoyant))
        if decision.direction is None:
            break
        reached.append(geometry.move(reached[-1], decision.direction)[0])
    return reached
