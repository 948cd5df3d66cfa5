"""Scripted beliefs: policies that think aloud, and hold, revise or flip a belief on purpose.

What they believe at each step is known, so that what is read out of their thoughts can be checked. The belief
comes from the script and not from the evidence, which the walk collects greedily.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ....schemas import Geometry
from .base import Decision, View
from .greedy import greedy_move, unseen_ink

_HOLD = ("I still think that {}.", "Nothing here changes my mind: {}.", "I am confident: {}.")
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")


@dataclass
class Believer:
    """Clairvoyant: sees greedily, says what it believes with every action, answers its last belief.

    It answers when all ink was seen or after `glimpses` glimpses. Subclasses say what is believed when.
    """

    glimpses: int = 10
    clairvoyant = True
    _rng: np.random.Generator = field(default_factory=np.random.default_rng, init=False)
    _label: str = field(default="", init=False)
    _wrong: str = field(default="", init=False)
    _said: str | None = field(default=None, init=False)
    _thoughts: int = field(default=0, init=False)

    def reset(self, rng: np.random.Generator, geometry: Geometry, t_max: int) -> None:
        """Take the episode's generator."""
        self._rng, self._said, self._thoughts = rng, None, 0

    def act(self, view: View) -> Decision:
        """A greedy move or the answer, and a thought."""
        assert view.hidden is not None
        if self._thoughts == 0:
            self._choose(view.hidden.label)
        unseen = unseen_ink(view)
        last = view.last or len(view.windows) >= self.glimpses or not unseen.any()
        before, self._said = self._said, self.believe(self._thoughts, last)
        words = say(self._said, before, self._thoughts)
        self._thoughts += 1
        if last:
            return Decision(answer=self._said, thought=words)
        return Decision(greedy_move(view.geometry, view.position, unseen), thought=words)

    def script(self, label: str, rng: np.random.Generator, n_thoughts: int) -> list[str | None]:
        """The known truth: what is believed at each thought of an episode with that label and generator."""
        self._rng = rng
        self._choose(label)
        return [self.believe(thought, thought == n_thoughts - 1) for thought in range(n_thoughts)]

    def _choose(self, label: str) -> None:
        """Pick the wrong belief: another digit in one panel."""
        at = int(self._rng.integers(len(label)))
        other = (int(label[at]) + int(self._rng.integers(1, 10))) % 10
        self._label, self._wrong = label, f"{label[:at]}{other}{label[at + 1 :]}"

    def believe(self, thought: int, last: bool) -> str | None:
        """Digits believed at a thought, counted from 0; None for no belief yet."""
        raise NotImplementedError


class Anchored(Believer):
    """Believer that adopts a wrong belief and never lets go of it."""

    def believe(self, thought: int, last: bool) -> str | None:
        """Nothing, then always the wrong digits."""
        return self._wrong if thought or last else None


@dataclass
class Correcting(Believer):
    """Believer that adopts a wrong belief and corrects it at thought `revise_at`, or with its answer."""

    revise_at: int = 4

    def believe(self, thought: int, last: bool) -> str | None:
        """Nothing, then the wrong digits, then the right ones."""
        if thought >= self.revise_at or last:
            return self._label
        return self._wrong if thought else None


class FlipFlopping(Believer):
    """Believer that changes between a wrong belief and the right one with every thought."""

    def believe(self, thought: int, last: bool) -> str | None:
        """Nothing, then the wrong and the right digits in turn."""
        return (self._label, self._wrong)[thought % 2] if thought or last else None


def say(belief: str | None, before: str | None, thought: int = 0) -> str:
    """A belief in English, given the one stated before; `thought` varies the words of one that is held.

    >>> say("7", None), say("9", "7")
    ('I can make out enough: this is a 7.', 'The new ink does not fit. This is not a 7 but a 9.')
    >>> say("47", "41")
    'The new ink does not fit. The left digit is a 4. The right digit is not a 1 but a 7.'
    >>> say("47", "47")
    'I still think that the left digit is a 4 and the right digit is a 7.'
    """
    if belief is None:
        return "I see part of a stroke and follow it."
    names = _names(len(belief))
    if before is None or before == belief:
        frame = "I can make out enough: {}." if before is None else _HOLD[thought % len(_HOLD)]
        return frame.format(" and ".join(f"{name} is {_a(d)}" for name, d in zip(names, belief, strict=True)))
    parts = [
        f"{name[0].upper()}{name[1:]} is {_a(new) if new == old else f'not {_a(old)} but {_a(new)}'}."
        for name, new, old in zip(names, belief, before, strict=True)
    ]
    return " ".join(["The new ink does not fit.", *parts])


def _names(n: int) -> list[str]:
    if n == 1:
        return ["this"]
    if n == 2:
        return ["the left digit", "the right digit"]
    return [f"the {_ORDINALS[i]} digit from the left" for i in range(n)]


def _a(digit: str) -> str:
    return f"an {digit}" if digit == "8" else f"a {digit}"
