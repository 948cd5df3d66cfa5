"""Any JSONL, JSON, CSV or Parquet through a user's mapping (`ingest --map FILE.toml`)."""

from pathlib import Path

from .. import Adapter
from ..bundle import Bundle
from .mapping import Mapping, load
from .read import VERSION, read_mapped


def mapped_adapter(path: Path) -> Adapter:
    """The adapter that a mapping file describes.

    Raises:
        MappingError: where the file is no mapping; says which line of it is wrong.
    """
    mapping: Mapping = load(path)

    def detect(bundle: Bundle) -> bool:
        return True

    return Adapter(
        name="mapped",
        description=f"through {path.name}",
        version=VERSION,
        detect=detect,
        read=lambda bundle, digits: read_mapped(bundle, digits, mapping),
    )
