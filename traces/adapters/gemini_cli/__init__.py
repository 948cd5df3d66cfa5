"""Chat transcripts of Gemini CLI."""

from .. import Adapter
from .detect import detect
from .read import VERSION, read

ADAPTER = Adapter(
    name="gemini_cli",
    description="chat transcripts (JSONL or JSON) of Gemini CLI",
    version=VERSION,
    detect=detect,
    read=read,
)
