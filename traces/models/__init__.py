"""Asking a model: which model a name means, prompts, limits, and one client over every provider."""

from .limits import Limits, StopAsking
from .prompts import Prompts
from .spec import ALIASES, ModelSpec, find

__all__ = ["ALIASES", "Limits", "ModelSpec", "Prompts", "StopAsking", "find"]
