"""Evaluation logs of Inspect AI."""

from .. import Adapter
from .detect import detect
from .read import VERSION, read

ADAPTER = Adapter(
    name="inspect",
    description="Inspect AI logs: .eval (crashed ones too) and .json",
    version=VERSION,
    detect=detect,
    read=read,
    extra="inspect",
)
