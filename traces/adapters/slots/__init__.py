"""Slots of the official six-arm suite."""

from .. import Adapter
from .detect import detect
from .read import VERSION, read

ADAPTER = Adapter(
    name="slots",
    description="slots and notes of the official six-arm suite",
    version=VERSION,
    detect=detect,
    read=read,
)
