"""OpenTelemetry spans of model calls."""

from .. import Adapter
from .detect import detect
from .read import VERSION, read

ADAPTER = Adapter(
    name="otel",
    description="OTLP/JSON lines with GenAI or OpenInference attributes",
    version=VERSION,
    detect=detect,
    read=read,
)
