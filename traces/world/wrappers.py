"""Other ways to act in the world: factored actions, JSON text, and a prediction at every step."""

from __future__ import annotations

import json
import re
import string
from copy import deepcopy
from typing import Any, Literal, get_args

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs

from .env import INVALID, MOVES, NOOP, Action, GlimpseEnv, decode

Malformed = Literal["terminate", "retry", "noop"]

_MAX_TEXT = 10_000


class DictAction(gymnasium.ActionWrapper, RecordConstructorArgs):
    """Actions in parts: `action` 0 moves towards `direction` 0-3, 1 answers `value`, one digit a panel."""

    def __init__(self, env: gymnasium.Env) -> None:
        RecordConstructorArgs.__init__(self)
        gymnasium.ActionWrapper.__init__(self, env)
        digits = spaces.MultiDiscrete([10] * _world(env).geometry.n_panels)
        self.action_space = spaces.Dict(action=spaces.Discrete(2), direction=spaces.Discrete(4), value=digits)

    def action(self, action: dict[str, Any]) -> Action:
        """The action in the form of the logs."""
        if action["action"] == 0:
            return {"action": "move", "direction": MOVES[action["direction"]]}
        return {"action": "answer", "value": "".join(str(digit) for digit in action["value"])}


class JSONTextAction(gymnasium.Wrapper, RecordConstructorArgs):
    """Actions as a language model writes them: text with one JSON object in it, in the form of the logs.

    `info` has `action_text`, and `malformed`: why the text is no action, or None.

    Args:
        env: a `GlimpseEnv`, wrapped or not.
        malformed: what a text that is no action does: `terminate` ends the episode as an invalid action;
            `noop` is counted and does nothing; `retry` is not counted and shows the same observation again,
            until the last attempt, which ends the episode.
        attempts: texts that `retry` takes for one action (3 in the official runner).

    Raises:
        ValueError: for an unknown `malformed`.
    """

    def __init__(self, env: gymnasium.Env, malformed: Malformed = "terminate", attempts: int = 3) -> None:
        if malformed not in get_args(Malformed):
            raise ValueError(f"malformed must be one of {', '.join(get_args(Malformed))}, not {malformed!r}")
        RecordConstructorArgs.__init__(self, malformed=malformed, attempts=attempts)
        gymnasium.Wrapper.__init__(self, env)
        self.action_space = spaces.Text(_MAX_TEXT, charset=string.printable)
        self._n_panels = _world(env).geometry.n_panels
        self._malformed, self._attempts = malformed, attempts
        self._failed = 0
        self._last: tuple[Any, dict[str, Any]] = None, {}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        self._failed = 0
        self._last = self.env.reset(seed=seed, options=options)
        return deepcopy(self._last)

    def step(self, action: str) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take the action that a text asks for."""
        taken, problem = self._read(action)
        self._failed = self._failed + 1 if problem else 0
        if problem and self._malformed == "retry" and self._failed < self._attempts:
            observation, info = deepcopy(self._last)
            return observation, 0.0, False, False, info | {"action_text": action, "malformed": problem}
        if problem:
            taken = NOOP if self._malformed == "noop" else INVALID
        observation, reward, terminated, truncated, info = self.env.step(taken)
        self._last = deepcopy((observation, info))
        return (
            observation,
            reward,
            terminated,
            truncated,
            info | {"action_text": action, "malformed": problem},
        )

    def _read(self, text: str) -> tuple[Action, str | None]:
        try:
            action = parse_action(text)
        except ValueError as error:
            return INVALID, str(error)
        known = decode(action, self._n_panels)[0] in ("move", "answer")
        return action, None if known else "neither a move in a known direction nor an answer"


def parse_action(text: str) -> dict[str, Any]:
    """The JSON object in a reply: the widest span from brace to brace, as the official runner reads it.

    Raises:
        ValueError: where there is none.

    >>> parse_action('I go up. {"action": "move", "direction": "up"}')
    {'action': 'move', 'direction': 'up'}
    """
    span = re.search(r"\{.*\}", text, re.DOTALL)
    try:
        value = json.loads(span.group() if span else text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError("JSON, but no object")
    return value


class PredictEachStep(gymnasium.Wrapper, RecordConstructorArgs):
    """A move and a prediction in every action, as in ap_gym: `Dict(action, prediction)`.

    `prediction` holds logits of the digits, shape (10,) for one digit and (n, 10) for n. The reward is minus
    the prediction's mean cross-entropy with the label, in nats, added to what the move itself earned as
    `base_reward` in `info`. The last action of the budget does not move: its prediction's argmax is the
    answer.
    """

    def __init__(self, env: gymnasium.Env) -> None:
        RecordConstructorArgs.__init__(self)
        gymnasium.Wrapper.__init__(self, env)
        n_panels = _world(env).geometry.n_panels
        shape = (10,) if n_panels == 1 else (n_panels, 10)
        logits = spaces.Box(-np.inf, np.inf, shape, np.float32)
        self.action_space = spaces.Dict(action=spaces.Discrete(len(MOVES)), prediction=logits)

    def step(self, action: dict[str, Any]) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Move, and be judged by the prediction."""
        world = _world(self)
        logits = np.asarray(action["prediction"], dtype=np.float64).reshape(-1, 10)
        last = world.n_actions == world.geometry.budget - 1
        answer = "".join(str(digit) for digit in logits.argmax(axis=1))
        taken: Action = {"action": "answer", "value": answer} if last else int(action["action"])
        observation, base, terminated, truncated, info = self.env.step(taken)
        loss = _cross_entropy(logits, world.label)
        info |= {"base_reward": float(base), "loss": loss, "prediction": logits.astype(np.float32)}
        return observation, float(base) - loss, terminated, truncated, info


def _cross_entropy(logits: np.ndarray, label: str) -> float:
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return float(-log_p[np.arange(len(label)), [int(digit) for digit in label]].mean())


def _world(env: gymnasium.Env) -> GlimpseEnv:
    world = env.unwrapped
    if not isinstance(world, GlimpseEnv):
        raise TypeError(f"{type(world).__name__} is not a GlimpseEnv")
    return world
