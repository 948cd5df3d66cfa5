"""Optional dependencies: imported where they are used, with an error that names the extra."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


class MissingExtra(ImportError):
    """A package of an extra is not installed."""


def require(module: str, extra: str) -> ModuleType:
    """Import a module of an extra.

    Raises:
        MissingExtra: naming the extra, where it is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name and error.name.split(".")[0] != module.split(".")[0]:
            raise
        raise MissingExtra(
            f"this needs the extra {extra!r}: pip install 'mnistpro-replay[{extra}]'"
        ) from error
