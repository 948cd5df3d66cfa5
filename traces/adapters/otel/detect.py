"""Are files OpenTelemetry spans of model calls?"""

from __future__ import annotations

from ..bundle import Bundle
from ..transcripts import has_markers, members

_SPAN = rb'"(?:resourceSpans|spanId|span_id)"'
_ATTRIBUTES = rb'gen_ai\.|"?openinference\.span\.kind|llm\.input_messages'


def detect(bundle: Bundle) -> bool:
    """True for JSON or JSONL files of spans with GenAI or OpenInference attributes."""
    return bool(
        members(bundle, (".json", ".jsonl", ".ndjson"), lambda data: has_markers(data, _SPAN, _ATTRIBUTES))
    )
