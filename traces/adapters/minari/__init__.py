"""Minari datasets."""

from .. import Adapter
from .detect import detect
from .read import VERSION, read

ADAPTER = Adapter(
    name="minari",
    description="Minari datasets (HDF5, Arrow or Parquet)",
    version=VERSION,
    detect=detect,
    read=read,
    extra="minari",
)
