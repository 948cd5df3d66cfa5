"""Our own export as Parquet: a file a table."""

from .. import Adapter
from .detect import detect
from .read import VERSION, read

ADAPTER = Adapter(
    name="parquet",
    description="our own export: the tables of the trace as Parquet files",
    version=VERSION,
    detect=detect,
    read=read,
)
