"""Our own export as JSON lines: one object an episode."""

from .. import Adapter
from .detect import detect
from .read import VERSION, read

ADAPTER = Adapter(
    name="jsonl",
    description="our own export: one JSON object an episode, steps inside",
    version=VERSION,
    detect=detect,
    read=read,
)
