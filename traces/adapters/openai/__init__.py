"""Chat-completions JSONL and Responses items of the OpenAI kind."""

from .. import Adapter
from .detect import detect
from .read import VERSION, read

ADAPTER = Adapter(
    name="openai",
    description="chat-completions JSON or JSONL and Responses items, as OpenAI-compatible clients log them",
    version=VERSION,
    detect=detect,
    read=read,
)
