"""Agent trajectories in Harbor's interchange format (ATIF)."""

from .. import Adapter
from .detect import detect
from .read import VERSION, read

ADAPTER = Adapter(
    name="atif",
    description="Harbor ATIF v1.0-v1.7 trajectories with pictures as files",
    version=VERSION,
    detect=detect,
    read=read,
)
