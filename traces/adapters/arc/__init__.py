"""Recordings of ARC-AGI-3 agents."""

from .. import Adapter
from .detect import detect
from .read import VERSION, read

ADAPTER = Adapter(
    name="arc",
    description="ARC-AGI-3 recordings: another world, seen whole",
    version=VERSION,
    detect=detect,
    read=read,
)
