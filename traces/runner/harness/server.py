"""The tool server: MCP over stdio. It knows an address and nothing else of the world.

Run as `python -m mnistpro_replay.traces.runner.harness.server` with `GLIMPSE_MAILBOX` in its environment; the
generated configuration does so.
"""

from __future__ import annotations

import os
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Image
from mcp.server.mcpserver.exceptions import ToolError

from .mailbox import VARIABLE, call

NAME = "glimpse"


def make_server(address: str) -> MCPServer:
    """The server with its three tools, which pass every call on to `address`."""
    server = MCPServer(NAME, log_level="ERROR")

    def ask(tool: str, **arguments: Any) -> list[Any]:
        try:
            result = call(address, tool, arguments)
        except OSError as error:
            raise ToolError("the exploration is over") from error
        if result.is_error:
            raise ToolError(result.text)
        pictures = [Image(data=result.picture, format="png")] if result.picture else []
        return [result.text, *pictures]

    @server.tool(structured_output=False)
    def move(direction: str) -> list[Any]:
        """Move the window up, down, left or right, and see the new picture. Costs one action."""
        return ask("move", direction=direction)

    @server.tool(structured_output=False)
    def view_image(name: str = "") -> list[Any]:
        """See a picture again that you were given, or the current one without a name. Costs nothing."""
        return ask("view_image", name=name)

    @server.tool(structured_output=False)
    def submit(answer: str | int) -> list[Any]:
        """Submit your answer. This ends the exploration."""
        return ask("submit", answer=answer)

    return server


if __name__ == "__main__":
    make_server(os.environ[VARIABLE]).run("stdio")
