"""JSON as researchers' logs really have it: NaN and Infinity, lone surrogates, text that is cut off."""

from __future__ import annotations

import json
import math
from typing import Any

import orjson

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


class BadJson(ValueError):
    """Text that is not JSON; says where."""

    def __init__(self, code: str, message: str, position: str | None) -> None:
        super().__init__(message)
        self.code = code
        self.position = position


def loads(data: bytes) -> tuple[Any, bool]:
    """Parse JSON.

    Returns:
        the value, and whether the text was strict JSON (no NaN, Infinity or lone surrogate).

    Raises:
        BadJson: with a diagnostic code (`empty_file`, `truncated_file`, `invalid_json`) and a byte position.
    """
    try:
        return orjson.loads(data), True
    except orjson.JSONDecodeError:
        return _loads_lenient(data), False


def _loads_lenient(data: bytes) -> Any:
    if not data.strip():
        raise BadJson("empty_file", "the file is empty", None)
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise BadJson("invalid_json", f"not UTF-8: {error.reason}", f"byte {error.start}") from error
    except RecursionError as error:
        raise BadJson("invalid_json", "nested too deeply", None) from error
    except json.JSONDecodeError as error:
        at_end = error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string")
        code = "truncated_file" if at_end else "invalid_json"
        position = f"byte {len(error.doc[: error.pos].encode('utf-8', 'surrogatepass'))}"
        raise BadJson(code, f"{error.msg} at line {error.lineno}", position) from error


def dumps(value: Any) -> str:
    """JSON text that keeps NaN and Infinity as they are."""
    return _ENCODER.encode(value)


def as_text(value: Any) -> str | None:
    """Text of a JSON value: strings as they are, null as None, the rest as JSON."""
    return value if value is None or isinstance(value, str) else dumps(value)


def finite(value: Any) -> float | None:
    """The value as a float where it is a finite number, else None."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    return None


def whole(value: Any) -> int | None:
    """The value as an int where it is a whole number, else None."""
    if isinstance(value, int):
        return None if isinstance(value, bool) else value
    return int(value) if isinstance(value, float) and value.is_integer() else None


def point(value: Any) -> tuple[int, int] | None:
    """An `[x, y]` pair of whole numbers, else None."""
    if isinstance(value, (list, tuple)) and len(value) == 2:
        x, y = whole(value[0]), whole(value[1])
        if x is not None and y is not None:
            return x, y
    return None
