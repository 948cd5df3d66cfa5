"""A small agent of our own that uses the tool server: one model, one conversation, tools, notes.

Run by `run --harness mcp --model NAME` in the workspace of an episode. It prints JSON lines as Claude Code
does, so that its calls and its cost are read back like those of any program.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mcp
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.tools import ToolDefinition

from ....schemas import StopAsking, Usage
from ...models import ModelSpec
from ...models.client import Client, Reply, RequestFailed
from .server import NAME
from .workspace import CONFIG, FEEDBACK, NOTES, TASK

if TYPE_CHECKING:
    from collections.abc import Mapping

_FILES = (NOTES, FEEDBACK)
_WRITE_NOTES = ToolDefinition(
    name="write_notes",
    description="Replace your notes for later explorations.",
    parameters_json_schema={
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
    },
)
_ROUNDS_WITHOUT_CALL = 2


async def explore(client: Client, workspace: Path) -> Usage:
    """Explore until the answer is submitted, or the model calls no tool any more.

    Returns:
        tokens and cost of all replies.

    Raises:
        StopAsking: where the model should not be asked any more.
        RequestFailed: where a request got no reply.
    """
    listed = json.loads((workspace / CONFIG).read_text())["mcpServers"][NAME]
    server = mcp.StdioServerParameters(**listed)
    usage, idle = Usage(), 0
    messages: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart(content=_task(workspace))])]
    async with mcp.Client(server) as tools:
        offered = [_definition(tool) for tool in (await tools.list_tools()).tools]
        if (workspace / NOTES).is_file():
            offered.append(_WRITE_NOTES)
        while idle < _ROUNDS_WITHOUT_CALL:
            reply = await client.request(messages, offered)
            _add(usage, reply.usage)
            assert reply.message is not None
            messages.append(reply.message)
            calls = [part for part in reply.message.parts if isinstance(part, ToolCallPart)]
            _print_reply(reply, calls)
            idle = 0 if calls else idle + 1
            returns = [await _run(tools, workspace, call) for call in calls]
            if any(call.tool_name == "submit" for call in calls):
                break
            messages.append(
                ModelRequest(parts=returns or [UserPromptPart(content="Go on with a tool, or submit.")])
            )
    return usage


def _task(workspace: Path) -> str:
    parts = [(workspace / TASK).read_text(encoding="utf-8")]
    for name in _FILES:
        if (workspace / name).is_file():
            parts.append(f"{name}:\n{(workspace / name).read_text(encoding='utf-8')}")
    return "\n\n".join(parts)


def _definition(tool: Any) -> ToolDefinition:
    return ToolDefinition(
        name=tool.name, description=tool.description, parameters_json_schema=tool.input_schema
    )


async def _run(tools: mcp.Client, workspace: Path, call: ToolCallPart) -> ToolReturnPart:
    """Carry out one call."""
    try:
        arguments = call.args_as_dict()
    except ValueError:
        return ToolReturnPart(call.tool_name, "The arguments are not JSON.", call.tool_call_id)
    if call.tool_name == _WRITE_NOTES.name:
        (workspace / NOTES).write_text(str(arguments.get("text", "")), encoding="utf-8")
        return ToolReturnPart(call.tool_name, "Written.", call.tool_call_id)
    result = await tools.call_tool(call.tool_name, arguments)
    content = [_content(block) for block in result.content]
    return ToolReturnPart(call.tool_name, content, call.tool_call_id)


def _content(block: Any) -> str | BinaryContent:
    if block.type != "image":
        return block.text
    picture = BinaryContent.from_data_uri(f"data:{block.mime_type};base64,{block.data}")
    return BinaryContent(data=picture.data, media_type=block.mime_type)


def _add(total: Usage, usage: Usage) -> None:
    for name, value in asdict(usage).items():
        if value is not None:
            setattr(total, name, (getattr(total, name) or 0) + value)


def _print_reply(reply: Reply, calls: list[ToolCallPart]) -> None:
    content: list[dict[str, Any]] = [{"type": "text", "text": reply.text}] if reply.text else []
    for call in calls:
        name = call.tool_name if call.tool_name == _WRITE_NOTES.name else f"mcp__{NAME}__{call.tool_name}"
        used = {"type": "tool_use", "id": call.tool_call_id, "name": name, "input": call.args}
        content.append(used)
    _print({"type": "assistant", "message": {"role": "assistant", "content": content}})


def _print(line: Mapping[str, Any]) -> None:
    print(json.dumps(line), flush=True)


def main() -> None:
    """Explore in the working folder; the model's spec is the one argument, as JSON."""
    parser = argparse.ArgumentParser(description="Explore with the tools of .mcp.json in the working folder.")
    parser.add_argument("spec", help="the model's spec as JSON; keys are taken from the environment")
    spec = ModelSpec(**json.loads(parser.parse_args().spec))
    try:
        client = Client(spec)
        usage = asyncio.run(explore(client, Path.cwd()))
    except (StopAsking, RequestFailed, ValueError) as error:
        sys.exit(str(error))
    used = {
        "input_tokens": usage.tokens_input,
        "cache_read_input_tokens": usage.tokens_cache_read,
        "cache_creation_input_tokens": usage.tokens_cache_write,
        "output_tokens": usage.tokens_output,
    }
    _print({"type": "result", "usage": used, "total_cost_usd": usage.cost})


def command(spec: ModelSpec) -> tuple[str, ...]:
    """The command that runs this agent with a model."""
    return sys.executable, "-m", f"{__package__}.agent", json.dumps(asdict(spec))


if __name__ == "__main__":
    main()
