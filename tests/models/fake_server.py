"""A local server that speaks the wire formats of OpenAI (chat, responses), Anthropic (messages, SSE too)
and Gemini.

`FakeServer` runs it in a thread of the tests; `python fake_server.py --delay 0.05` on its own, printing its
port. What a request said is kept in one common form, so that a test reads the transcript whatever the
provider.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from mnistpro_replay.traces.models import ModelSpec
from mnistpro_replay.traces.models import client as asking

KEY = "sk-planted-3f9a"
"""The key that every test sends, to be searched for where it must not be."""

WIRES = ("openai-compatible", "openai-chat", "openai", "anthropic", "google")
"""Every provider path: OpenAI-compatible, OpenAI's chat completions and responses, Anthropic, Gemini."""

TOKENS = {"input": 120, "cached": 20, "output": 30, "reasoning": 10}
"""Usage of every reply: 120 input tokens, 20 of them cached; 30 output tokens, 10 of them reasoning."""


@dataclass
class Received:
    """A request: provider format, model, messages as (role, parts) with text or PNG bytes, body, headers,
    time."""

    wire: str
    model: str
    messages: list[tuple[str, list[str | bytes]]]
    body: dict[str, Any]
    headers: dict[str, str]
    time: float = field(default_factory=time.monotonic)

    @property
    def texts(self) -> list[str]:
        """All texts of the last message."""
        return [part for part in self.messages[-1][1] if isinstance(part, str)]

    @property
    def images(self) -> list[bytes]:
        """All pictures of all messages, in order."""
        return [part for _, parts in self.messages for part in parts if isinstance(part, bytes)]


Answer = str | dict[str, Any]
"""A reply's text, or `{"tool": name, "arguments": {...}}` (chat completions only)."""


class FakeServer:
    """The server on its own thread and port.

    Args:
        reply: what to say to a request.
        delay: seconds before each reply.
        faults: one for each of the first requests: `429`, `500`, `400`, `401`, `404`, `timeout` (no reply
            for 5 s), `malformed` (a body that is no JSON), `empty` (JSON that is no reply), `drop` (closes
            the connection), `` for none.
        keep: whether requests are kept.
    """

    def __init__(
        self,
        reply: Callable[[Received], Answer] = lambda request: '{"action": "answer", "value": "7"}',
        *,
        delay: float = 0.0,
        faults: list[str] | None = None,
        keep: bool = True,
    ) -> None:
        self.reply, self.delay, self.faults, self.keep = reply, delay, list(faults or []), keep
        self.received: list[Received] = []
        self.requests = self.replies = self.open = self.most_open = 0
        self._started = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> FakeServer:
        self._thread.start()
        self._started.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def url(self, wire: str = "openai-compatible") -> str:
        """Base URL for a provider."""
        root = f"http://127.0.0.1:{self.port}"
        return root if wire in ("anthropic", "google") else f"{root}/v1"

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self.start())
        self._started.set()
        self._loop.run_forever()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.close()

    async def start(self, port: int = 0) -> asyncio.Server:
        """Listen."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", port)
        self.port = server.sockets[0].getsockname()[1]
        return server

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                first, *lines = head.decode().split("\r\n")
                headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in lines if line)}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                self.requests += 1
                self.open += 1
                self.most_open = max(self.most_open, self.open)
                try:
                    data = await self._answer(*first.split()[:2], headers, body)
                finally:
                    self.open -= 1
                if data is None:
                    break
                writer.write(data)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _answer(self, method: str, path: str, headers: dict[str, str], raw: bytes) -> bytes | None:
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "timeout":
            await asyncio.sleep(5)
        if fault == "drop":
            return None
        if fault == "malformed":
            return http(200, b'{"id": "x", "choices": [')
        if fault == "empty":
            return http(200, b"{}")
        if fault.isdigit():
            # Some servers repeat what they were sent.
            keys = [value for value in headers.values() if KEY in value]
            said = {
                "message": f"fault {fault}; your key was {keys}",
                "code": int(fault),
            }
            return http(
                int(fault), json.dumps({"error": said, "type": "error"}).encode(), {"retry-after-ms": "20"}
            )
        wire = next((name for name, end in _PATHS.items() if path.split("?")[0].endswith(end)), None)
        if wire is None:
            return http(404, b'{"error": {"message": "no such path"}}')
        await asyncio.sleep(self.delay)
        body = json.loads(raw)
        request = READ[wire](body, path) if self.keep else Received(wire, "", [], {}, {})
        request.headers = headers
        if self.keep:
            self.received.append(request)
        answer = self.reply(request)
        self.replies += 1
        if wire == "anthropic" and body.get("stream"):
            return http(200, _sse(answer), {"content-type": "text/event-stream"})
        return http(200, json.dumps(WRITE[wire](answer)).encode())


def http(status: int, body: bytes, headers: dict[str, str] | None = None) -> bytes:
    fields = {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})}
    head = f"HTTP/1.1 {status} X\r\n" + "".join(f"{k}: {v}\r\n" for k, v in fields.items())
    return head.encode() + b"\r\n" + body


def _part(part: Any) -> str | bytes:
    if isinstance(part, str):
        return part
    if (data := part.get("inlineData") or part.get("inline_data") or part.get("source")) is not None:
        return base64.b64decode(
            data["data"] + "==", altchars=b"-_" if "-" in data["data"] or "_" in data["data"] else None
        )
    if (image := part.get("image_url")) is not None:
        url = image if isinstance(image, str) else image["url"]
        return base64.b64decode(url.partition(",")[2])
    return part.get("text", "")


def _parts(content: Any) -> list[str | bytes]:
    return [content] if isinstance(content, str) else [_part(part) for part in content or []]


def _chat(body: dict[str, Any], path: str) -> Received:
    messages = [(m["role"], _parts(m.get("content"))) for m in body["messages"]]
    return Received("openai-chat", body["model"], messages, body, {})


def _responses(body: dict[str, Any], path: str) -> Received:
    given = body["input"] if isinstance(body["input"], list) else [{"role": "user", "content": body["input"]}]
    return Received(
        "openai", body["model"], [(m["role"], _parts(m["content"])) for m in given if "role" in m], body, {}
    )


def _anthropic(body: dict[str, Any], path: str) -> Received:
    return Received(
        "anthropic", body["model"], [(m["role"], _parts(m["content"])) for m in body["messages"]], body, {}
    )


def _google(body: dict[str, Any], path: str) -> Received:
    roles = {"user": "user", "model": "assistant"}
    messages = [(roles[c["role"]], _parts(c["parts"])) for c in body["contents"]]
    return Received("google", path.rpartition("/")[2].partition(":")[0], messages, body, {})


def _write_chat(answer: Answer) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer}
    if isinstance(answer, dict):
        call = {"name": answer["tool"], "arguments": json.dumps(answer["arguments"])}
        message = {"role": "assistant", "content": None}
        message["tool_calls"] = [{"id": f"call_{time.monotonic_ns()}", "type": "function", "function": call}]
    usage = {
        "prompt_tokens": TOKENS["input"],
        "completion_tokens": TOKENS["output"],
        "total_tokens": TOKENS["input"] + TOKENS["output"],
        "prompt_tokens_details": {"cached_tokens": TOKENS["cached"]},
        "completion_tokens_details": {"reasoning_tokens": TOKENS["reasoning"]},
    }
    ended = "tool_calls" if isinstance(answer, dict) else "stop"
    choice = {"index": 0, "finish_reason": ended, "message": message}
    head = {"id": "c1", "object": "chat.completion", "created": 1, "model": "fake"}
    return {**head, "choices": [choice], "usage": usage}


def _write_responses(answer: Answer) -> dict[str, Any]:
    text = {"type": "output_text", "text": answer, "annotations": []}
    message = {"type": "message", "id": "m1", "status": "completed", "role": "assistant", "content": [text]}
    usage = {
        "input_tokens": TOKENS["input"],
        "input_tokens_details": {"cached_tokens": TOKENS["cached"]},
        "output_tokens": TOKENS["output"],
        "output_tokens_details": {"reasoning_tokens": TOKENS["reasoning"]},
        "total_tokens": TOKENS["input"] + TOKENS["output"],
    }
    head = {"id": "r1", "object": "response", "created_at": 1, "model": "fake", "status": "completed"}
    rest = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    return {**head, **rest, "output": [message], "usage": usage}


def _write_anthropic(answer: Answer) -> dict[str, Any]:
    usage = {
        "input_tokens": TOKENS["input"] - TOKENS["cached"],
        "cache_read_input_tokens": TOKENS["cached"],
        "cache_creation_input_tokens": 0,
        "output_tokens": TOKENS["output"],
        "output_tokens_details": {"thinking_tokens": TOKENS["reasoning"]},
    }
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "fake"}
    return {
        **head,
        "content": [{"type": "text", "text": answer}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": usage,
    }


def _write_google(answer: Answer) -> dict[str, Any]:
    usage = {
        "promptTokenCount": TOKENS["input"],
        "cachedContentTokenCount": TOKENS["cached"],
        "candidatesTokenCount": TOKENS["output"] - TOKENS["reasoning"],
        "thoughtsTokenCount": TOKENS["reasoning"],
        "totalTokenCount": TOKENS["input"] + TOKENS["output"],
    }
    candidate = {
        "content": {"role": "model", "parts": [{"text": answer}]},
        "finishReason": "STOP",
        "index": 0,
    }
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "fake", "responseId": "g1"}


def _sse(answer: Answer) -> bytes:
    message = _write_anthropic("")
    usage = message["usage"]
    events = [
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": answer}},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": usage,
        },
        {"type": "message_stop"},
    ]
    return "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events).encode()


_PATHS = {
    "openai-chat": "/chat/completions",
    "openai": "/responses",
    "anthropic": "/messages",
    "google": ":generateContent",
}
READ = {"openai-chat": _chat, "openai": _responses, "anthropic": _anthropic, "google": _google}
WRITE = {
    "openai-chat": _write_chat,
    "openai": _write_responses,
    "anthropic": _write_anthropic,
    "google": _write_google,
}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits between attempts shrink to almost nothing, and the key is there. Conftests import it."""
    monkeypatch.setattr(asking, "_FIRST_WAIT", 0.01)
    monkeypatch.setenv("PLANTED_KEY", KEY)


def spec(server: FakeServer, provider: str = "openai-compatible", **more: Any) -> ModelSpec:
    """A model of a provider at a server's address, with a time-out of half a second."""
    given = {"name": "tested", "provider": provider, "model": "gpt-5.6-sol", "api_key_env": "PLANTED_KEY"}
    given |= {"base_url": server.url(provider), "settings": {"timeout": 0.5}}
    return ModelSpec(**given | more)


async def _main(delay: float) -> None:
    server = await FakeServer(delay=delay, keep=False).start()
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--delay", type=float, default=0.0)
    asyncio.run(_main(parser.parse_args().delay))
