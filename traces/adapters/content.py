"""Message content in its many spellings: text, reasoning, pictures, tool calls and tool results."""

from __future__ import annotations

import binascii
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal
from urllib.parse import unquote_to_bytes

from ...schemas import Usage
from ...schemas.enums import ImageStatus
from .json_text import BadJson, as_text, loads

Role = Literal["system", "user", "assistant", "tool"]
Opener = Callable[[str], bytes]

_PNG, _JPEG = b"\x89PNG", b"\xff\xd8\xff"
_REMOVED = ("<base64-data-removed>", "__REDACTED__", "[REDACTED]", "<redacted>", "[image]")
_BASE64_STARTS = ("iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR")
_TEXT_TYPES = ("text", "input_text", "output_text", "refusal", "summary_text")
_THOUGHT_TYPES = ("reasoning", "thinking", "reasoning_text")
_MEDIA_KEYS = ("media_type", "mime_type", "mimeType", "mediaType")


@dataclass(slots=True)
class Picture:
    """A picture in a message: its file, or why it is not here (`detail`: URL, path or reason)."""

    data: bytes | None
    status: ImageStatus
    detail: str | None = None


@dataclass(slots=True)
class Call:
    """A tool call: arguments parsed, and as text where the source has text."""

    name: str
    arguments: Any = None
    call_id: str | None = None
    raw: str | None = None
    error: str | None = None


@dataclass(slots=True)
class Message:
    """One message of a conversation, whoever's format it came in.

    Args:
        role: who speaks; a tool result is a message of its own.
        text: what is said, parts joined by newlines.
        thought: reasoning beside it.
        pictures: in order.
        calls: tool calls of an assistant's message.
        results: tool results that came inside a user's message (Anthropic); `split` takes them out.
        call_id: call that a tool result belongs to.
        is_error: whether a tool result says that the call failed.
        source_id: id in the source.
        usage: tokens and cost of the model call that made it.
        time: when it was made (UTC).
        latency: duration of that model call in seconds.
        facts: what the source says beside it (positions, metadata).
        retries: errors or replies of calls that were made before it for the same turn.
    """

    role: Role
    text: str = ""
    thought: str | None = None
    pictures: list[Picture] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    results: list[Message] = field(default_factory=list)
    call_id: str | None = None
    is_error: bool | None = None
    source_id: str | None = None
    usage: Usage | None = None
    time: datetime | None = None
    latency: float | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    retries: list[str] = field(default_factory=list)

    def split(self) -> Iterable[Message]:
        """The tool results inside, as messages, then the message itself where anything is left of it."""
        yield from self.results
        if self.role != "user" or not self.results or self.text or self.pictures:
            yield self


def read_picture(value: Any, open_file: Opener | None = None) -> Picture:
    """A picture from a data URI, base64 text, a URL, or a path that `open_file` reads."""
    if not isinstance(value, str) or not value:
        return Picture(None, "missing", "no picture where one should be")
    if value.startswith("data:"):
        return _from_data_uri(value)
    if value.startswith(_REMOVED):
        return Picture(None, "redacted", "removed by the source")
    if value.startswith(_BASE64_STARTS):
        return _decode(value)
    if "://" in value[:16] and not value.startswith("file://"):
        return Picture(None, "remote", value[:300])
    if open_file is None:
        return Picture(None, "missing", value[:300])
    try:
        return identify(open_file(value.removeprefix("file://")))
    except (OSError, ValueError):
        return Picture(None, "missing", value[:300])


def identify(data: bytes) -> Picture:
    """A picture file with its status: JPEG and lossy WebP have changed pixels."""
    if data.startswith(_JPEG) or (data[:4] == b"RIFF" and data[12:16] == b"VP8 "):
        return Picture(data, "lossy")
    if data.startswith((_PNG, b"GIF8", b"RIFF")):
        return Picture(data, "present")
    return Picture(None, "missing", "not a picture file" if data else "an empty picture file")


def _from_data_uri(value: str) -> Picture:
    head, _, body = value.partition(",")
    if body.startswith(_REMOVED):
        return Picture(None, "redacted", "removed by the source")
    return _decode(body) if head.endswith(";base64") else identify(unquote_to_bytes(body))


def _decode(text: str) -> Picture:
    try:
        return identify(binascii.a2b_base64(text))
    except ValueError as error:
        return Picture(None, "missing", f"not base64: {error}")


def read_content(message: Message, content: Any, open_file: Opener | None = None) -> Message:
    """Add content (text, or a list of parts of any of the known kinds) to a message, and return it."""
    if isinstance(content, str):
        _add_text(message, content)
    elif isinstance(content, dict):
        _add_part(message, content, open_file)
    elif isinstance(content, list):
        for part in content:
            read_content(message, part, open_file)
    return message


def _add_text(message: Message, text: Any) -> None:
    if isinstance(text, str) and text:
        message.text = f"{message.text}\n{text}" if message.text else text


def _add_thought(message: Message, text: Any) -> None:
    if isinstance(text, list):
        text = "\n".join(filter(None, (_plain_text(item) for item in text)))
    if isinstance(text, str) and text:
        message.thought = f"{message.thought}\n{text}" if message.thought else text


def _plain_text(item: Any) -> str | None:
    return item if isinstance(item, str) else as_text(item.get("text")) if isinstance(item, dict) else None


def _add_part(message: Message, part: Mapping[str, Any], open_file: Opener | None) -> None:
    kind = part.get("type")
    if kind in _TEXT_TYPES or (kind is None and isinstance(part.get("text"), str)):
        text = part.get("text") or part.get("content") or part.get("refusal")
        _add_thought(message, text) if part.get("thought") is True else _add_text(message, text)
    elif kind in _THOUGHT_TYPES:
        for name in (kind, "summary", "content", "text"):
            _add_thought(message, part.get(name))
    elif kind in ("tool_use", "tool_call") or "functionCall" in part:
        message.calls.append(read_call(part.get("functionCall") or part))
    elif kind in ("tool_result", "tool_call_response") or "functionResponse" in part:
        message.results.append(_result(part, open_file))
    elif kind not in ("audio", "video", "document") and (picture := _picture_value(part)) is not None:
        message.pictures.append(read_picture(picture, open_file))
    elif kind == "text" or "content" in part:
        read_content(message, part.get("content"), open_file)


def _picture_value(part: Mapping[str, Any]) -> Any:
    """What stands for the picture in a part, or None where the part is no picture."""
    for name in ("image_url", "image", "inlineData", "inline_data", "fileData", "source"):
        if name in part:
            return _nested_value(part[name])
    is_media = any(str(part.get(key, "")).startswith("image/") for key in _MEDIA_KEYS)
    if is_media or part.get("modality") == "image" or part.get("type") in ("image", "input_image"):
        return _nested_value(part) or ""
    return None


def _nested_value(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    for name in ("url", "data", "path", "uri", "fileUri", "content", "image"):
        if isinstance(value.get(name), str):
            return value[name]
        if isinstance(value.get(name), dict):
            return _nested_value(value[name])
    return ""


def _result(part: Mapping[str, Any], open_file: Opener | None) -> Message:
    response = part.get("functionResponse")
    source = response if isinstance(response, dict) else part
    call_id = source.get("tool_use_id") or source.get("id") or source.get("call_id")
    result = Message("tool", call_id=as_text(call_id), is_error=source.get("is_error") is True)
    for name in ("content", "response", "result", "output", "parts"):
        value = source.get(name)
        is_plain = isinstance(value, dict) and _picture_value(value) is None and "content" not in value
        read_content(result, as_text(dict(value)) if is_plain else value, open_file)  # type: ignore[arg-type]
    return result


def read_call(call: Mapping[str, Any]) -> Call:
    """A tool call in any of the spellings: OpenAI, Responses, Anthropic, Inspect, ATIF, Gemini, OTel."""
    function = call.get("function")
    inner = function if isinstance(function, dict) else call
    name = (
        inner.get("name") or inner.get("function_name") or (function if isinstance(function, str) else None)
    )
    call_id = call.get("call_id") or call.get("tool_call_id") or call.get("id")
    given = next((inner[key] for key in ("arguments", "input", "args") if inner.get(key) is not None), None)
    read = Call(as_text(name) or "", given, as_text(call_id), error=as_text(call.get("parse_error")))
    if isinstance(given, str):
        read.raw = given
        try:
            read.arguments = loads(given.encode("utf-8", "surrogatepass"))[0] if given.strip() else {}
        except BadJson as error:
            read.arguments, read.error = None, str(error)
    return read
