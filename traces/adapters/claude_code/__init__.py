"""Session transcripts of Claude Code."""

from .. import Adapter
from .detect import detect
from .read import VERSION, read

ADAPTER = Adapter(
    name="claude_code",
    description="session transcripts (JSONL) of Claude Code",
    version=VERSION,
    detect=detect,
    read=read,
)
