"""Messages JSON and JSONL of the Anthropic kind."""

from .. import Adapter
from .detect import detect
from .read import VERSION, read

ADAPTER = Adapter(
    name="anthropic",
    description="Messages JSON or JSONL, as Anthropic-compatible clients log them",
    version=VERSION,
    detect=detect,
    read=read,
)
