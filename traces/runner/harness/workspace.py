"""An agent's folder for one episode: instruction, tool configuration for the usual programs, notes."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from ....schemas import Geometry
from ...models import Prompts
from ..agents.memory import world
from .mailbox import VARIABLE
from .server import NAME

Arm = Literal["A0", "A1", "A2"]
ARMS: tuple[Arm, ...] = get_args(Arm)
"""A0: nothing is carried from one episode to the next; A1: the agent's notes; A2: notes, and which answers
were right."""

NOTES, FEEDBACK, TASK, CONFIG = "notes.md", "feedback.md", "TASK.md", ".mcp.json"
PROMPT_NAMES = ("harness", "harness_notes", "harness_feedback")


@dataclass
class Carried:
    """What an arm carries to the next episode."""

    notes: str = ""
    feedback: str = ""


def instruction(prompts: Prompts, geometry: Geometry, arm: Arm) -> str:
    """What the agent is told."""
    parts = {"A0": [], "A1": ["harness_notes"], "A2": ["harness_notes", "harness_feedback"]}[arm]
    told = "\n".join(prompts.text(name) for name in parts)
    return prompts.text("harness", **world(geometry), arm=told)


def prepare(workspace: Path, task: str, address: str, arm: Arm, carried: Carried) -> None:
    """Fill a workspace.

    The tool server is configured for programs that read `.mcp.json` (Claude Code and others),
    `.gemini/settings.json` (Gemini CLI) or `.codex/config.toml` (Codex).
    """
    command, arguments = sys.executable, ["-m", f"{__package__}.server"]
    server = {"command": command, "args": arguments, "env": {VARIABLE: address}}
    listing = json.dumps({"mcpServers": {NAME: server}}, indent=2)
    codex = "\n".join(
        [
            f"[mcp_servers.{NAME}]",
            f"command = {json.dumps(command)}",
            f"args = {json.dumps(arguments)}",
            f"env = {{ {VARIABLE} = {json.dumps(address)} }}\n",
        ]
    )
    files = {TASK: task, CONFIG: listing, ".gemini/settings.json": listing, ".codex/config.toml": codex}
    if arm != "A0":
        files[NOTES] = carried.notes
    if arm == "A2":
        files[FEEDBACK] = carried.feedback
    for name, text in files.items():
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def notes_left(workspace: Path) -> str:
    """The agent's notes as it left them; empty where it removed them."""
    path = workspace / NOTES
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
