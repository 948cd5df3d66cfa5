"""How a kernel says that a value does not exist."""

from __future__ import annotations

from typing import Any, TypeVar

from ...schemas.enums import REASONS

Result = TypeVar("Result", bound=tuple)


def undefined(kind: type[Result], reason: str, **known: Any) -> Result:
    """A result with the fields that are known; the others are None, for one reason.

    Args:
        kind: a NamedTuple with a field `reasons`.
        reason: a key of `schemas.enums.REASONS`.
        known: values of fields that exist all the same.

    Raises:
        KeyError: for a reason that is not in the closed list.

    >>> from typing import NamedTuple
    >>> Rate = NamedTuple("Rate", [("n", int), ("rate", float), ("reasons", dict)])
    >>> undefined(Rate, "no_moves", n=0)
    Rate(n=0, rate=None, reasons={'rate': 'no_moves'})
    """
    REASONS[reason]
    fields: tuple[str, ...] = kind._fields  # pyright: ignore[reportAttributeAccessIssue]
    missing = [name for name in fields if name not in known and name != "reasons"]
    values: dict[str, Any] = {**known, **dict.fromkeys(missing), "reasons": dict.fromkeys(missing, reason)}
    return kind(**values)
