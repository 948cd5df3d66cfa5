"""Scripted policies by name: the built-in ones, and those that other packages offer.

A package offers a policy through the entry-point group `mnistpro_replay.policies`: the name, and the class.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from .base import Decision, Hidden, Policy, View, follow

GROUP = "mnistpro_replay.policies"
_BUILT_IN = {
    "sweep": "sweep:Sweep",
    "random": "random_walk:Random",
    "early": "random_walk:Early",
    "stroke": "stroke:Stroke",
    "greedy": "greedy:Greedy",
    "infogain": "infogain:Infogain",
    "believer-anchored": "believer:Anchored",
    "believer-correcting": "believer:Correcting",
    "believer-flip-flopping": "believer:FlipFlopping",
}

__all__ = ["GROUP", "Decision", "Hidden", "Policy", "View", "follow", "load", "make", "names"]


def names() -> list[str]:
    """Names of all policies, the built-in ones first."""
    return [*_BUILT_IN, *sorted(entry_points(group=GROUP).names - _BUILT_IN.keys())]


def load(name: str) -> Callable[..., Policy]:
    """The class of a policy; its docstring says what it does, `clairvoyant` what it needs.

    Raises:
        ValueError: for an unknown name.
    """
    if name in _BUILT_IN:
        module, attribute = _BUILT_IN[name].split(":")
        return getattr(import_module(f".{module}", __name__), attribute)
    for entry in entry_points(group=GROUP, name=name):
        return entry.load()
    raise ValueError(f"no policy is called {name!r}; there are {', '.join(names())}")


def make(name: str, **settings: Any) -> Policy:
    """A new policy.

    Raises:
        ValueError: for an unknown name, or settings that the policy does not have.
    """
    factory = load(name)
    try:
        return factory(**settings)
    except TypeError as error:
        raise ValueError(f"policy {name}: {error}") from error
