"""Rollout transcripts of Codex."""

from .. import Adapter
from .detect import detect
from .read import VERSION, read

ADAPTER = Adapter(
    name="codex",
    description="rollout transcripts (JSONL) of Codex",
    version=VERSION,
    detect=detect,
    read=read,
)
