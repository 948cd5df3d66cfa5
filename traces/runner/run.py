"""The harness: plays a policy through the sampled episodes and journals every step."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from ... import __version__
from ...schemas import Geometry, Predictor, PredictorInput, Reading, Run, Usage
from ..episodes import run_id
from ..journal import Journal
from ..world.canvas import offline_canvas
from ..world.env import GlimpseEnv
from ..world.sampler import PUBLISHED_SEED, published
from .policies import Decision, Hidden, Policy, View, make
from .recorder import Played, Recorder

REPRESENTATION = "canvas@1"
"""What the predictor of a scripted run reads: everything shown so far, put together, `window` evidence."""

Line = dict[str, Any]
"""A decision as journalled: episode, step, action (null for none), thought, reading, error and times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A run to make.

    Args:
        policy: name of a policy (see `policies.names`).
        settings: the policy's settings.
        predictor: answers where the policy does not answer itself; None: such episodes end without an answer.
        level: digits on the canvas.
        episodes: how many of the sampled episodes to play, from the first.
        seed: of the episode sampler and, with episode and repeat, of the policy's random choices.
        repeat: number of this repeat of the condition, from 0.
        window: side of the window in pixels.
        stride: pixels of one move.
        digits_from: path of the full MNIST set; None for the embedded sample.
        name: of the run; None for `<policy>_L<level>`, with `_r<repeat>` from the second repeat on.
    """

    policy: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    predictor: Predictor | None = None
    level: int = 1
    episodes: int = 100
    seed: int = PUBLISHED_SEED
    repeat: int = 0
    window: int = 64
    stride: int = 32
    digits_from: str | None = None
    name: str | None = None

    @property
    def geometry(self) -> Geometry:
        """What the world measures."""
        return Geometry(self.window, self.stride, n_panels=self.level)

    def world(self) -> GlimpseEnv:
        """A fresh environment for this run."""
        return GlimpseEnv(
            self.level,
            window=self.window,
            stride=self.stride,
            digits_from=self.digits_from,
            sampler_seed=self.seed,
            evalsets=_evalsets(self.episodes),
        )

    def run(self) -> Run:
        """The run's record; `settings` says where the digits come from and how episodes were drawn."""
        geometry = self.geometry
        run = Run(
            run=self.name or f"{self.policy}_L{self.level}" + (f"_r{self.repeat}" if self.repeat else ""),
            agent=self.policy,
            settings=self._settings(),
            level=self.level,
            memory="none",
            turn_mode="turn_based",
            harness="turn_based",
            window=self.window,
            stride=self.stride,
            panel=geometry.panel,
            n_panels=geometry.n_panels,
            draw_border=geometry.draw_border,
            t_max=geometry.budget,
            seed=self.seed,
            repeat=self.repeat,
            predictor=self.predictor.name if self.predictor else None,
            source_format="runner",
            source_version=__version__,
            created=datetime.now(UTC),
        )
        run.run_id = run_id(run)
        return run

    def _world_settings(self) -> dict[str, Any]:
        """Where the digits come from, and how episodes were drawn."""
        digits, evalsets = self.world().digits, _evalsets(self.episodes)
        same = published(digits, self.level, self.seed, evalsets)
        drawn = "as the official sampler draws them" if same else "drawn among these digits only"
        # Where a user keeps the full set is no part of the condition.
        name = "the MNIST test set" if digits.complete and digits.genuine else digits.name
        return {"evalsets": evalsets, "digits": name, "episodes": drawn}

    def _settings(self) -> dict[str, Any]:
        policy = make(self.policy, **self.settings)
        settings = {"policy": _settings_of(policy) or dict(self.settings), **self._world_settings()}
        if self.predictor:
            names = ("version", "prompt_hash", "settings", "representations")
            settings["predictor"] = {name: getattr(self.predictor, name) for name in names}
            settings["representation"] = REPRESENTATION
        return settings


def _evalsets(episodes: int) -> int:
    # At least the published ten, so that a shorter run plays the first of the same episodes.
    return max(10, -(-episodes // 10))


def _settings_of(policy: Policy) -> dict[str, Any]:
    if not is_dataclass(policy):
        return {}
    return {f.name: getattr(policy, f.name) for f in fields(policy) if f.init}


def run_episodes(plan: Plan, journal: Journal | None = None) -> Iterator[Played]:
    """Play a plan's episodes.

    With a journal every decision is on disk before the next is made. Where the journal already holds
    decisions of the same plan they are taken from it, and the run goes on behind them; times apart, the
    result is that of a run that never stopped. A predictor that fails ends its episode with `stop_reason`
    error; the others go on.

    Yields:
        each episode with its hidden canvas and its pictures, in order.

    Raises:
        ValueError: for a plan that cannot be run, or a journal that another plan began.
    """
    env, policy = plan.world(), make(plan.policy, **plan.settings)
    past = past_lines(journal, plan.run()) if journal else {}
    player = _Player(env, policy, plan.predictor, journal.append if journal else lambda line: None)
    for number in range(plan.episodes):
        rng = np.random.default_rng([plan.seed, number, plan.repeat])
        yield player.play(number, plan.repeat, rng, past.get(number, []))


def past_lines(journal: Journal, run: Run) -> dict[int, list[Line]]:
    """A journal's decisions by episode; an empty journal is begun."""
    begun = {"run_id": run.run_id, "repeat": run.repeat}
    lines = list(journal.records())
    if not lines:
        journal.append(begun)
    elif lines[0] != begun:
        raise ValueError(f"run {run.run} was begun with other settings; give this one another name")
    past: dict[int, list[Line]] = defaultdict(list)
    for line in lines[1:]:
        past[line["episode"]].append(line)
    return past


@dataclass(slots=True)
class _Player:
    """Plays one policy in one world."""

    env: GlimpseEnv
    policy: Policy
    predictor: Predictor | None
    note: Callable[[Line], None]

    def play(self, number: int, repeat: int, rng: np.random.Generator, past: list[Line]) -> Played:
        """One episode, of which `past` was decided before."""
        observation, _ = self.env.reset(options={"episode_id": number})
        recorder = Recorder(self.env, observation, repeat)
        self.policy.reset(rng, self.env.geometry, self.env.geometry.budget)
        over = _over(past, self.env.geometry.budget)
        while self.env.termination_reason == "running":
            step = self.env.n_actions
            known = past[step] if step < len(past) else None
            # What was decided before a crash stands; in an unfinished episode the policy has to catch up.
            line = known if known and over else self._decide(known)
            if known is None:
                self.note({"episode": number, "step": step, **line})
            recorder.begun(line)
            if line["action"] is None:
                break
            began = time.perf_counter()
            outcome = self.env.step(line["action"])
            recorder.step(line, outcome, time.perf_counter() - began)
        return recorder.finish()

    def _decide(self, known: Line | None) -> Line:
        """The policy's decision as a journal line; `known` where it was made before."""
        began, at = time.perf_counter(), datetime.now(UTC).isoformat()
        reader = _Reader(self.predictor, self.env, known and known["reading"]) if self.predictor else None
        hidden = Hidden(self.env.canvas, self.env.label)
        view = View.of(hidden, self.env.windows, self.env.geometry, self.policy.clairvoyant, reader)
        decision, action, error = Decision(), None, None
        try:
            decision = self.policy.act(view)
            action = _action(decision, reader)
        except _PredictorFailed as failure:
            error = str(failure)
        return known or {
            "action": action,
            "thought": decision.thought,
            "reading": asdict(reader.reading) if reader and reader.reading else None,
            "error": error,
            "model_latency": time.perf_counter() - began,
            "time": at,
        }


def _over(past: list[Line], budget: int) -> bool:
    """Whether the decisions of an episode are all there."""
    last = past[-1]["action"] if past else {"action": "move"}
    return len(past) == budget or last is None or last["action"] != "move"


def _action(decision: Decision, read: Callable[[], Reading] | None) -> dict[str, Any] | None:
    """The action in the form of the logs; None where nobody has an answer."""
    if decision.direction is not None:
        return {"action": "move", "direction": decision.direction}
    answer = read().answer if read and decision.answer is None else decision.answer
    return None if answer is None else {"action": "answer", "value": answer}


class _PredictorFailed(Exception):
    """The predictor raised."""


class _Reader:
    """Asks the predictor about the current evidence, once; what it said before a crash stands."""

    def __init__(self, predictor: Predictor, env: GlimpseEnv, known: dict[str, Any] | None) -> None:
        self._predictor, self._env = predictor, env
        self.reading = Reading(**{**known, "usage": Usage(**known["usage"])}) if known else None

    def __call__(self) -> Reading:
        if self.reading is None:
            canvas = offline_canvas(self._env.canvas, self._env.windows, self._env.geometry)
            item = PredictorInput(REPRESENTATION, (canvas,), self._env.geometry.n_panels)
            try:
                self.reading = self._predictor.predict(item)
            except Exception as error:
                raise _PredictorFailed(f"{self._predictor.name}: {error}") from error
        return self.reading
