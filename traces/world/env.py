"""The world as a Gymnasium environment: look at a hidden canvas through a window, move the window, answer."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from functools import cache
from itertools import cycle, pairwise
from typing import Any, Literal, get_args

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from PIL import Image, ImageDraw

from ...schemas import DIRECTIONS, UNSEEN, Geometry, Point
from .canvas import OUTLINE_COLOR, build_canvas, observe, reveal, start_window
from .digits import Digits, Split, embedded, load
from .sampler import PUBLISHED_SEED, sample

Observation = Literal["masked_rgb", "glimpse+pos", "canvas"]
Reward = Literal["official", "sparse", "coverage_delta"]
Kind = Literal["move", "answer", "noop", "invalid"]
Action = int | np.integer | Mapping[str, Any]

MOVES = tuple(DIRECTIONS)
"""Directions in the order of their action numbers 0 to 3."""
INVALID: Action = {"action": "invalid"}
"""An action that the world does not know."""
NOOP: Action = {"action": "noop"}
"""An action that is counted and does nothing else."""

_SEEDS = 2**32
_ROWS, _COLUMNS = 16, 8


def decode(action: Action, n_panels: int) -> tuple[Kind, Any]:
    """What an action asks for.

    Args:
        action: an action number (0-3 move, 4 + n answers the number n, leading zeros included), or the form
            of the logs: `{"action": "move", "direction": "up"}`, `{"action": "answer", "value": "47"}`.
        n_panels: digits that an answer has.

    Returns:
        the kind, and with it the direction or the answer as given.

    >>> decode(3, 2), decode(4, 2), decode({"action": "answer", "value": 7.9}, 1), decode(104, 2)
    (('move', 'right'), ('answer', '00'), ('answer', 7.9), ('invalid', None))
    """
    if isinstance(action, Mapping):
        kind, direction = action.get("action"), action.get("direction")
        if kind == "move" and isinstance(direction, str) and direction in DIRECTIONS:
            return "move", direction
        return (
            ("answer", action.get("value"))
            if kind == "answer"
            else ("noop" if kind == "noop" else "invalid", None)
        )
    try:
        number = operator.index(action)
    except TypeError:
        return "invalid", None
    if 0 <= number < len(MOVES):
        return "move", MOVES[number]
    number -= len(MOVES)
    return ("answer", f"{number:0{n_panels}d}") if 0 <= number < 10**n_panels else ("invalid", None)


def official_answer(value: Any, n_panels: int) -> str:
    """An answer as the official runner compares it: one digit through `int` (else "-1"), more as text.

    >>> official_answer(7.9, 1), official_answer("7.0", 1), official_answer(" 05", 2), official_answer(5, 2)
    ('7', '-1', '05', '5')
    """
    if n_panels > 1:
        return str(value).strip()
    try:
        return str(int(value))
    except (TypeError, ValueError, OverflowError):
        return "-1"


@cache
def _digits(path: str | None, split: Split) -> Digits:
    return load(path, split) if path else embedded(split)


def _choice(name: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")
    return value


class GlimpseEnv(gymnasium.Env[Any, Action]):
    """A canvas of one or more digits, seen through a window.

    Actions are the numbers of `decode`; its dictionary form is taken too. An answer or an invalid action ends
    the episode (`terminated`); so does the last action of the geometry's budget (`truncated`), which counts
    every action, the answer included. `info` always has `window`, `moved`, `clipped`, `n_moves`, `n_actions`,
    `steps_left` and `termination_reason`; only at the end also `label`, `answer`, `success`, `episode_id` and
    `digit_indices` (in the published order the label of one digit follows from the episode's number).

    An environment that was never given a seed walks through the sampled episodes in order, each from the
    start that its canvas picks, as the official runner does. Once seeded, every reset draws episode and start
    at random. `reset(options={"episode_id": 7, "start": (36, 110)})` chooses either or both.

    Args:
        n_panels: digits on the canvas.
        window: side of the window in pixels.
        stride: pixels of one move.
        panel: side of one panel in pixels.
        draw_border: whether `masked_rgb` outlines the window.
        digits_from: path of the full MNIST set (see `digits.load`); None for the embedded sample.
        split: `test` digits, or `train` digits for learning.
        sampler_seed: seed of the episode sampler.
        evalsets: tens of episodes to sample.
        observation: `masked_rgb`, the published picture (uint8, H x W x 3); `glimpse+pos`, the window's grey
            pixels and its position; `canvas`, everything seen so far (uint8, H x W, unseen 128).
        reward: `official`, -0.1 a move, 10 for a right answer, -10 for a wrong one or an invalid action;
            `sparse`, 1 for a right answer, else 0; `coverage_delta`, the share of the ink that a move newly
            shows, and 1 for a right answer.
        privileged: whether `info` has `coverage`, the share of the ink that was seen.
        render_mode: `rgb_array` (what was seen, the window and the path to it) or `ansi`.

    Raises:
        ValueError: for an unknown mode, and in `reset` for an episode or a start that does not exist.
    """

    metadata = {"render_modes": ["rgb_array", "ansi"], "render_fps": 4}

    def __init__(
        self,
        n_panels: int = 1,
        *,
        window: int = 64,
        stride: int = 32,
        panel: int = 224,
        draw_border: bool = True,
        digits_from: str | None = None,
        split: Split = "test",
        sampler_seed: int = PUBLISHED_SEED,
        evalsets: int = 10,
        observation: Observation = "masked_rgb",
        reward: Reward = "official",
        privileged: bool = False,
        render_mode: str | None = None,
    ) -> None:
        self.geometry = Geometry(window, stride, panel, n_panels, draw_border)
        self.observation_mode = _choice("observation", observation, get_args(Observation))
        self.reward_mode = _choice("reward", reward, get_args(Reward))
        self.privileged = privileged
        self.render_mode = render_mode
        self.digits = _digits(digits_from, split)
        self.episodes = sample(self.digits, n_panels, sampler_seed, evalsets)
        self.order = cycle(range(len(self.episodes)))
        """Episodes of unseeded resets; the vector environment shares one among its parts."""
        self.action_space = spaces.Discrete(len(MOVES) + 10**n_panels)
        self.observation_space = _observation_space(self.geometry, observation)
        self.termination_reason = "not_started"
        self._seeded = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; see the class for what `seed` and `options` choose."""
        super().reset(seed=seed)
        self._seeded |= seed is not None
        options = options or {}
        self.episode_id = self._choose_episode(options.get("episode_id"))
        self.digit_indices = self.episodes[self.episode_id]
        self.label = "".join(str(self.digits.labels[index]) for index in self.digit_indices)
        self.canvas = build_canvas(
            [self.digits.image(index) for index in self.digit_indices], self.geometry.panel
        )
        self.window = self._choose_start(options.get("start"))
        self.windows: list[Point] = [self.window]
        self.seen = self.geometry.seen(self.windows)
        self.n_moves = self.n_actions = 0
        self.answer: Any = None
        self.success = False
        self.termination_reason = "running"
        return self._observe(), self._info(moved=False, clipped=False)

    def _choose_episode(self, wanted: Any) -> int:
        if wanted is None:
            return int(self.np_random.integers(len(self.episodes))) if self._seeded else next(self.order)
        if not 0 <= int(wanted) < len(self.episodes):
            raise ValueError(f"episode {wanted} is not one of the {len(self.episodes)} sampled episodes")
        return int(wanted)

    def _choose_start(self, wanted: Any) -> Point:
        if wanted is None:
            seed = int(self.np_random.integers(_SEEDS)) if self._seeded else None
            return start_window(self.canvas, self.geometry, seed)
        start = int(wanted[0]), int(wanted[1])
        if start != self.geometry.clamp(start):
            raise ValueError(f"start {start} lies outside (0, 0) to {self.geometry.limits}")
        return start

    def step(self, action: Action) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take one action.

        Raises:
            gymnasium.error.ResetNeeded: where no episode is running.
        """
        if self.termination_reason != "running":
            raise ResetNeeded("no episode is running: call reset() first")
        kind, value = decode(action, self.geometry.n_panels)
        before, covered, clipped = self.window, self.coverage, False
        self.n_actions += 1
        if kind == "move":
            clipped = self._move(value)
        elif kind == "answer":
            self.answer, self.termination_reason = value, "answered"
            self.success = official_answer(value, self.geometry.n_panels) == self.label
        elif kind == "invalid":
            self.termination_reason = "invalid_action"
        terminated = self.termination_reason != "running"
        truncated = not terminated and self.n_actions >= self.geometry.budget
        if truncated:
            self.termination_reason = "step_limit"
        info = self._info(moved=self.window != before, clipped=clipped)
        return self._observe(), self._reward(terminated, self.coverage - covered), terminated, truncated, info

    def _move(self, direction: str) -> bool:
        self.window, clipped = self.geometry.move(self.window, direction)
        self.windows.append(self.window)
        self.n_moves += 1
        x0, y0, x1, y1 = self.geometry.box(self.window)
        self.seen[y0:y1, x0:x1] = True
        return clipped

    @property
    def coverage(self) -> float:
        """Share of the ink that was seen, in [0, 1]; 0 on a canvas without ink."""
        ink = self.canvas == 0
        return float((ink & self.seen).sum() / max(ink.sum(), 1))

    def _reward(self, terminated: bool, newly_seen: float) -> float:
        if self.reward_mode == "official":
            return (10.0 if self.success else -10.0) if terminated else -0.1
        gained = newly_seen if self.reward_mode == "coverage_delta" else 0.0
        return gained + self.success

    def _observe(self) -> Any:
        if self.observation_mode == "canvas":
            return reveal(self.canvas, self.seen)
        if self.observation_mode == "masked_rgb":
            return observe(self.canvas, self.window, self.geometry).copy()
        x0, y0, x1, y1 = self.geometry.box(self.window)
        return {"glimpse": self.canvas[y0:y1, x0:x1].copy(), "pos": np.array(self.window, dtype=np.int32)}

    def _info(self, moved: bool, clipped: bool) -> dict[str, Any]:
        info = {
            "window": self.window,
            "moved": moved,
            "clipped": clipped,
            "n_moves": self.n_moves,
            "n_actions": self.n_actions,
            "steps_left": self.geometry.budget - self.n_actions,
            "termination_reason": self.termination_reason,
        }
        if self.privileged:
            info["coverage"] = self.coverage
        if self.termination_reason != "running":
            info |= {"label": self.label, "answer": self.answer, "success": self.success}
            info |= {"episode_id": self.episode_id, "digit_indices": self.digit_indices}
        return info

    def render(self) -> Any:
        """What was seen so far, the window and the path to it; None without a `render_mode`.

        Returns:
            `rgb_array`: uint8 (H, W, 3). `ansi`: text, one character for 8 x 16 pixels: `#` ink, `.` unseen,
                and a
            line with the counts.
        """
        if self.render_mode == "rgb_array":
            return self._picture()
        return self._text() if self.render_mode == "ansi" else None

    def _picture(self) -> np.ndarray:
        picture = Image.fromarray(reveal(self.canvas, self.seen)).convert("RGB")
        draw = ImageDraw.Draw(picture)
        half = self.geometry.window // 2
        centres = [(x + half, y + half) for x, y in self.windows]
        for i, ends in enumerate(pairwise(centres), start=1):
            share = i / len(centres)
            draw.line(ends, fill=(round(70 + 160 * share), 90, round(210 - 160 * share)), width=3)
        x, y = self.window
        corners = (x, y, x + self.geometry.window, y + self.geometry.window)
        draw.rectangle(corners, outline=OUTLINE_COLOR, width=2)
        return np.array(picture)

    def _text(self) -> str:
        canvas = reveal(self.canvas, self.seen)
        rows = range(0, canvas.shape[0], _ROWS)
        lines = [
            "".join(_character(canvas[y : y + _ROWS], x) for x in range(0, canvas.shape[1], _COLUMNS))
            for y in rows
        ]
        left = self.geometry.budget - self.n_actions
        head = f"window {self.window}, {self.n_moves} moves, {left} actions left, {self.termination_reason}"
        return "\n".join([head, *lines])


def _character(rows: np.ndarray, x: int) -> str:
    cell = rows[:, x : x + _COLUMNS]
    seen = cell != UNSEEN
    if seen.sum() * 2 < cell.size:
        return "."
    return "#" if (cell == 0).sum() * 4 > seen.sum() else " "


def _observation_space(geometry: Geometry, mode: Observation) -> spaces.Space:
    shape = geometry.height, geometry.width
    if mode == "masked_rgb":
        return spaces.Box(0, 255, (*shape, 3), np.uint8)
    if mode == "canvas":
        return spaces.Box(0, 255, shape, np.uint8)
    glimpse = min(geometry.window, geometry.height), min(geometry.window, geometry.width)
    position = spaces.Box(np.zeros(2, np.int32), np.array(geometry.limits, np.int32), dtype=np.int32)
    return spaces.Dict({"glimpse": spaces.Box(0, 255, glimpse, np.uint8), "pos": position})
