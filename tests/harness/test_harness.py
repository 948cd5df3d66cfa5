"""The world as tools: a real client over stdio, what arms carry, and what an agent cannot get at."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import sys
import tempfile
import tomllib
from pathlib import Path
from threading import Thread

import mcp
import pytest
from fake_server import KEY, FakeServer, Received, spec

from mnistpro_replay.replay.verify import verify
from mnistpro_replay.traces.models import Prompts
from mnistpro_replay.traces.runner.harness.agent import command
from mnistpro_replay.traces.runner.harness.controller import Controller
from mnistpro_replay.traces.runner.harness.mailbox import Mailbox, Result, call
from mnistpro_replay.traces.runner.harness.play import HarnessPlan, run_harness
from mnistpro_replay.traces.runner.harness.workspace import Carried, prepare
from mnistpro_replay.traces.runner.record import record
from mnistpro_replay.traces.store import Store
from mnistpro_replay.traces.world.env import GlimpseEnv

CLIENT = """
import asyncio, json, pathlib, sys, mcp
server = json.loads(pathlib.Path(".mcp.json").read_text())["mcpServers"]["glimpse"]
async def explore():
    async with mcp.Client(mcp.StdioServerParameters(**server)) as client:
        async def use(tool, **arguments):
            result = await client.call_tool(tool, arguments)
            return result, " ".join(b.text for b in result.content if b.type == "text")
%s
asyncio.run(explore())
"""


LIGHT = """
import json, pathlib, sys
from mnistpro_replay.traces.runner.harness.mailbox import call
server = json.loads(pathlib.Path(".mcp.json").read_text())["mcpServers"]["glimpse"]
def use(tool, **arguments):
    result = call(server["env"]["GLIMPSE_MAILBOX"], tool, arguments)
    return result, result.text
%s
"""


def agent(body: str) -> tuple[str, ...]:
    """A command that runs a scripted MCP client."""
    indented = "\n".join("        " + line for line in body.strip().splitlines())
    return sys.executable, "-c", CLIENT % indented


def light(body: str) -> tuple[str, ...]:
    """The same without the start-up of MCP: a script that calls as the server does."""
    return sys.executable, "-c", LIGHT % body.replace("await ", "")


def plan(command: tuple[str, ...], **more) -> HarnessPlan:
    return HarnessPlan(**{"command": command, "prompts": Prompts(), "episodes": 1, "name": "tools"} | more)


def made(tmp_path: Path, command: tuple[str, ...], **more) -> Store:
    store = Store(tmp_path / "store", create=True)
    record(plan(command, **more), store, play=run_harness)
    return store


WALK = """
await use("view_image")
await use("move", direction="right")
await use("move", direction="sideways")
await use("view_image")
await use("move", direction="down")
await use("submit", answer="7")
await use("move", direction="up")
"""


def test_a_real_client_drives_an_episode_over_stdio(tmp_path: Path) -> None:
    store = made(tmp_path, agent(WALK))
    (episode,) = store.episodes("tools", texts=True)
    assert [(s.action_kind, s.direction) for s in episode.steps] == [
        ("move", "right"),
        ("move", "down"),
        ("answer", None),
    ]
    assert (episode.answer, episode.n_actions, episode.n_glimpses) == ("7", 3, 3)
    calls = [(c.tool, c.step, c.is_error, bool(c.image)) for c in episode.tool_calls]
    assert calls == [
        ("view_image", None, False, True),
        ("move", 0, False, True),
        ("move", None, True, False),
        ("view_image", None, False, True),
        ("move", 1, False, True),
        ("submit", 2, False, False),
        ("move", None, True, False),
    ]
    assert episode.tool_calls[3].image == episode.steps[0].image, "the current picture again"
    assert all(finding.verdict == "exact" for finding in verify(store, "tools"))
    run = store.run("tools")
    assert (run.harness, run.arm, run.agent) == ("mcp", "A0", Path(sys.executable).name)


def test_pictures_over_stdio_are_those_of_the_trace(tmp_path: Path) -> None:
    env = GlimpseEnv()
    controller = Controller(env, 0, workspace=tmp_path)
    mailbox = Mailbox(controller.call)
    prepare(tmp_path, "task", mailbox.address, "A0", Carried())
    listed = json.loads((tmp_path / ".mcp.json").read_text())["mcpServers"]["glimpse"]

    async def explore() -> list:
        async with mcp.Client(mcp.StdioServerParameters(**listed)) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            calls = [("view_image", {}), ("move", {"direction": "left"}), ("submit", {"answer": 7})]
            return [names, *[await client.call_tool(*made) for made in calls]]

    names, viewed, moved, submitted = asyncio.run(explore())
    mailbox.close()
    played = controller.finish()
    assert names == ["move", "view_image", "submit"]
    sent = [
        base64.b64decode(block.data) for r in (viewed, moved) for block in r.content if block.type == "image"
    ]
    hashes = [hashlib.sha256(png).hexdigest() for png in sent]
    assert hashes == [glimpse.image for glimpse in played.episode.glimpses()]
    files = {hashlib.sha256(f.read_bytes()).hexdigest() for f in (tmp_path / "observations").iterdir()}
    assert files == set(hashes) and not submitted.is_error
    assert "right" not in submitted.content[0].text and "wrong" not in submitted.content[0].text


def test_a_move_with_the_last_action_is_delivered_and_shown() -> None:
    controller = Controller(GlimpseEnv(window=128, stride=64), 0)
    results = [controller.call("move", {"direction": d}) for d in ("left", "right", "up", "down") * 3]
    assert [bool(r.picture) for r in results] == [True] * 9 + [False] * 3
    assert results[9].is_error
    episode = controller.finish().episode
    assert (episode.stop_reason, episode.n_actions) == ("step_limit", 9)
    assert episode.n_glimpses == episode.n_glimpses_reached == 10


PLANTED = """
import os, re
from multiprocessing.connection import Client
found = {"environment": dict(os.environ), "files": {}}
for path in pathlib.Path.cwd().rglob("*"):
    if path.is_file() and path.suffix != ".png":
        found["files"][str(path)] = path.read_text()
listed = json.dumps(server)
port, key = server["env"]["GLIMPSE_MAILBOX"].split(":")
replies = []
for tool in ("label", "schedule", "state", "reset", "info", "__init__", "finish", "_env"):
    with Client(("127.0.0.1", int(port)), authkey=bytes.fromhex(key)) as line:
        line.send_bytes(json.dumps({"tool": tool, "arguments": {}}).encode())
        replies.append(line.recv_bytes().decode())
try:
    Client(("127.0.0.1", int(port)), authkey=b"guess").close()
    replies.append("a guessed key was taken")
except Exception as error:
    found["guess"] = type(error).__name__
for name in ("../" * 6 + "etc/hostname", "/etc/hostname", "0.png", "step_000.png", *OTHER):
    result, text = await use("view_image", name=name)
    replies.append(json.dumps({"is_error": result.is_error, "text": text}))
found["replies"] = replies
found["siblings"] = [str(p) for p in pathlib.Path.cwd().parent.glob("glimpse-*") if p != pathlib.Path.cwd()]
names = [path.name for path in pathlib.Path("observations").iterdir()]
found["names"] = names
pathlib.Path(OUT, str(os.getpid())).write_text(json.dumps(found))
await use("submit", answer="0")
"""


def test_planted_attempts_to_get_at_what_is_hidden_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, workspaces = tmp_path / "found", tmp_path / "workspaces"
    out.mkdir()
    workspaces.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(workspaces))
    body = f"import pathlib, glob\nOUT = {str(out)!r}\nOTHER = []\n"
    body += "for seen in pathlib.Path(OUT).iterdir():\n    OTHER += json.loads(seen.read_text())['names']\n"
    store = made(tmp_path, light(body + PLANTED), episodes=2, level=2)
    episodes = store.episodes("tools", texts=True)
    assert [e.stop_reason for e in episodes] == ["answered"] * 2, [e.error for e in episodes]
    attempts = [json.loads(path.read_text()) for path in out.iterdir()]
    assert len(attempts) == 2
    names = [set(found["names"]) for found in attempts]
    assert not names[0] & names[1], "picture names tell nothing"
    for found in attempts:
        assert all('"is_error": true' in reply for reply in found["replies"]), found["replies"]
        assert found["guess"] == "AuthenticationError" and not found["siblings"]
        said = json.dumps(found["files"]) + json.dumps(found["replies"])
        for episode in episodes:
            for index in episode.digit_indices:
                assert str(index) not in said
            assert f"{episode.label}" not in [v for k, v in found["environment"].items() if "GLIMPSE" in k]
        assert not any(key.startswith("GLIMPSE") for key in found["environment"])
    assert sum(len(found["replies"]) for found in attempts) == 2 * 12 + 1, "the other's picture was tried"


def test_the_server_is_given_an_address_and_nothing_else(tmp_path: Path) -> None:
    prepare(tmp_path, "task", "1234:ab", "A0", Carried())
    for name in (".mcp.json", ".gemini/settings.json"):
        (listed,) = json.loads((tmp_path / name).read_text())["mcpServers"].values()
        assert listed["args"] == ["-m", "mnistpro_replay.traces.runner.harness.server"]
        assert listed["env"] == {"GLIMPSE_MAILBOX": "1234:ab"}
    codex = tomllib.loads((tmp_path / ".codex/config.toml").read_text())["mcp_servers"]["glimpse"]
    assert codex == listed


def test_a_closed_mailbox_says_so() -> None:
    mailbox = Mailbox(lambda tool, arguments: Result(tool))
    assert call(mailbox.address, "x", {}).text == "x"
    mailbox.close()
    with pytest.raises(OSError):
        call(mailbox.address, "x", {})


def test_a_mailbox_closes_whether_it_is_waiting_for_a_call_or_has_just_stopped() -> None:
    def stop(tool: str, arguments: dict) -> Result:
        mailbox._open = False  # as if `close` had come while the call was answered
        return Result(tool)

    for handle in (stop, lambda tool, arguments: Result(tool)):
        mailbox = Mailbox(handle)
        assert call(mailbox.address, "x", {}).text == "x"
        if handle is stop:
            mailbox._thread.join(5)
        closing = Thread(target=mailbox.close, daemon=True)
        closing.start()
        closing.join(10)
        assert not closing.is_alive() and not mailbox._thread.is_alive()


NOTES = """
seen = {p: pathlib.Path(p).read_text() for p in ("notes.md", "feedback.md") if pathlib.Path(p).exists()}
print(json.dumps({"seen": seen}))
if pathlib.Path("notes.md").exists():
    pathlib.Path("notes.md").write_text(seen["notes.md"] + "I was here. ")
await use("submit", answer="0")
"""


@pytest.mark.parametrize("arm", ["A0", "A1", "A2"])
def test_arms_carry_notes_and_feedback_in_the_order_of_execution(tmp_path: Path, arm: str) -> None:
    store = made(tmp_path, light(NOTES), episodes=3, arm=arm)
    episodes = store.episodes("tools", texts=True)
    assert [e.execution_position for e in episodes] == [0, 1, 2]
    kept = [{note.kind: note.text for note in e.notes} for e in episodes]
    if arm == "A0":
        assert kept == [{}, {}, {}]
        return
    assert [k["notes_before"] for k in kept] == ["", "I was here. ", "I was here. " * 2]
    assert [k["notes_after"] for k in kept] == ["I was here. " * n for n in (1, 2, 3)]
    told = [k.get("feedback") for k in kept]
    # Episode 0 shows a 0, the others do not.
    verdicts = ["right", "wrong", "wrong"]
    expected = [f"Exploration {n}: your answer 0 was {v}.\n" for n, v in enumerate(verdicts, 1)]
    assert told == (expected if arm == "A2" else [None] * 3)


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ((sys.executable, "-c", "import sys; sys.exit('no such key')"), "exit status 1: no such key"),
        ((sys.executable, "-c", "import time; time.sleep(60)"), "not over after 1 s"),
        ((sys.executable, "-c", "pass"), None),
    ],
)
def test_a_program_that_fails_or_hangs_or_gives_up_is_recorded(
    tmp_path: Path, command: tuple[str, ...], error: str | None
) -> None:
    (episode,) = made(tmp_path, command, time_limit=1.0).episodes("tools", texts=True)
    assert episode.error == error
    assert episode.stop_reason == ("error" if error else "no_answer") and episode.n_glimpses == 1


def test_a_command_that_is_none_and_an_arm_that_is_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot start nowhere-to-be-found"):
        made(tmp_path, ("nowhere-to-be-found",))
    with pytest.raises(ValueError, match="no arm 'A3'"):
        plan(("x",), arm="A3").run()
    with pytest.raises(ValueError, match="needs a command"):
        plan(()).run()


def test_finished_episodes_are_not_played_again_after_a_crash(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", create=True)
    counter = tmp_path / "started"
    body = f"""
with open({str(counter)!r}, "a") as file: file.write("x")
await use("move", direction="left")
await use("submit", answer="1")
"""
    going = plan(light(body), episodes=4)

    def crash(episode) -> None:
        if episode.source_episode_id == "1":
            raise RuntimeError("crash")

    with pytest.raises(RuntimeError):
        record(going, store, crash, play=run_harness)
    record(going, store, play=run_harness)
    assert counter.read_text() == "xxxx"
    assert len(store.episodes("tools", texts=True)) == 4


def test_the_agents_own_calls_are_read_from_what_it_prints(tmp_path: Path) -> None:
    used = [("Bash", "python stitch.py"), ("mcp__glimpse__submit", None)]
    lines = []
    for number, (name, text) in enumerate(used):
        content = [{"type": "tool_use", "id": f"t{number}", "name": name, "input": {"command": text}}]
        lines.append({"type": "assistant", "message": {"role": "assistant", "content": content}})
    told = [{"type": "tool_result", "tool_use_id": "t0", "content": "..#.."}]
    lines.insert(1, {"type": "user", "message": {"role": "user", "content": told}})
    usage = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 3}
    lines.append({"type": "result", "usage": usage, "total_cost_usd": 0.5})
    printed = "\n".join(f"print({json.dumps(json.dumps(line))})" for line in lines)
    (episode,) = made(tmp_path, light(printed + '\nawait use("submit", answer="1")')).episodes(
        "tools", texts=True
    )
    assert [(c.position, c.tool, c.step, c.result) for c in episode.tool_calls] == [
        (0, "Bash", None, "..#.."),
        (1, "submit", 0, "Submitted. The exploration is over."),
    ]
    assert [c.call_id for c in episode.tool_calls] == ["t0", "t1"]
    assert (episode.tokens_input, episode.tokens_cache_read, episode.cost) == (10, 3, 0.5)


def test_our_own_tool_agent_explores_with_a_model(tmp_path: Path) -> None:
    script = [
        {"tool": "view_image", "arguments": {}},
        {"tool": "move", "arguments": {"direction": "right"}},
        {"tool": "write_notes", "arguments": {"text": "go right first"}},
        {"tool": "submit", "arguments": {"answer": "7"}},
    ]

    def reply(request: Received) -> dict:
        return script[sum(role == "assistant" for role, _ in request.messages)]

    with FakeServer(reply) as server:
        store = made(tmp_path, command(spec(server, settings={"timeout": 20.0})), arm="A1")
    episodes = store.episodes("tools", texts=True)
    assert [e.answer for e in episodes] == ["7"], [e.error for e in episodes]
    assert [c.tool for c in episodes[0].tool_calls] == ["view_image", "move", "write_notes", "submit"]
    assert episodes[0].notes[1].text == "go right first"
    assert episodes[0].tokens_input == 400
    sent = {hashlib.sha256(png).hexdigest() for request in server.received for png in request.images}
    assert {g.image for e in episodes for g in e.glimpses()} <= sent
    written = [p for p in Path(store.path).rglob("*") if p.is_file()]
    assert not [p for p in written if KEY.encode() in p.read_bytes()]
