"""The local server with the batch endpoints of OpenAI (files, batches), Anthropic and Gemini."""

from __future__ import annotations

import asyncio
import json
import re
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from fake_server import READ, WRITE, FakeServer, http


@dataclass
class Job:
    """A batch as the server has it: (custom id, body) of its requests."""

    id: str
    wire: str
    items: list[tuple[str, dict[str, Any]]]
    source: str = ""
    created: float = field(default_factory=time.time)


class BatchServer(FakeServer):
    """Batches that end when the test says so; results come in the reverse order.

    Args:
        spoilt: what becomes of requests, by their place: `errored`, `expired`, `missing`.
        loses: what becomes of the reply to the creation of a batch: `hang`, `drop`, a status, `` for nothing.
    """

    def __init__(
        self, *args: Any, spoilt: dict[int, str] | None = None, loses: str = "", **more: Any
    ) -> None:
        super().__init__(*args, **more)
        self.spoilt, self.loses, self.ended = spoilt or {}, loses, False
        self.expired = False  # ends without any request run
        self.jobs: list[Job] = []
        self.files: dict[str, bytes] = {}

    async def _answer(self, method: str, path: str, headers: dict[str, str], raw: bytes) -> bytes | None:
        if not self.faults:
            for pattern, handle in _ROUTES.items():
                if found := re.fullmatch(pattern, f"{method} {path.partition('?')[0]}"):
                    self.headers = headers
                    return await handle(self, raw, *found.groups())
        return await super()._answer(method, path, headers, raw)

    async def create(
        self, wire: str, items: list[tuple[str, dict[str, Any]]], source: str = ""
    ) -> bytes | None:
        """Take a batch, and lose the reply where the test wants it lost."""
        self.jobs.append(Job(f"batch_{len(self.jobs)}", wire, items, source))
        self.received += [READ[wire](body, "models/fake:") for _, body in items]
        if self.loses == "hang":
            await asyncio.sleep(30)
        if self.loses == "drop":
            return None
        if self.loses:
            return http(int(self.loses), b'{"error": {"message": "lost"}}')
        return self.show(self.jobs[-1])

    def job(self, name: str) -> Job:
        """A batch by id."""
        return next(job for job in self.jobs if job.id == name)

    def show(self, job: Job) -> bytes:
        """A batch as its provider shows it."""
        return _json(_SHOW[job.wire](self, job))

    def results(self, job: Job) -> bytes:
        """Lines of results, the last request first."""
        lines = []
        for place, (custom_id, body) in reversed(list(enumerate(job.items))):
            fate = "expired" if self.expired else self.spoilt.get(place, "")
            if fate != "missing":
                answer = WRITE[job.wire](self.reply(READ[job.wire](body, "models/fake:")))
                lines.append(json.dumps(_RESULT[job.wire](custom_id, answer, fate)))
        return "\n".join(lines).encode()


def _json(value: Any) -> bytes:
    return http(200, json.dumps(value).encode())


# OpenAI -----------------------------------------------------------------------------------------------------


async def _upload(server: BatchServer, raw: bytes) -> bytes:
    name = f"file-{len(server.files)}"
    boundary = raw.partition(b"\r\n")[0]
    part = next(p for p in raw.split(boundary) if b"filename=" in p)
    server.files[name] = part.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n")
    shown = {
        "id": name,
        "object": "file",
        "bytes": len(raw),
        "created_at": 1,
        "filename": "b",
        "purpose": "batch",
    }
    return _json({**shown, "status": "processed"})


async def _openai_create(server: BatchServer, raw: bytes) -> bytes | None:
    source = json.loads(raw)["input_file_id"]
    lines = [json.loads(line) for line in server.files[source].splitlines()]
    assert {(line["method"], line["url"]) for line in lines} == {("POST", "/v1/responses")}
    return await server.create("openai", [(line["custom_id"], line["body"]) for line in lines], source)


async def _openai_list(server: BatchServer, raw: bytes) -> bytes:
    shown = [_openai_shown(server, job) for job in server.jobs[::-1]]
    return _json({"object": "list", "data": shown, "has_more": False})


async def _one(server: BatchServer, raw: bytes, name: str) -> bytes:
    return server.show(server.job(name))


async def _content(server: BatchServer, raw: bytes, name: str) -> bytes:
    return http(200, server.files[name] if name in server.files else server.results(server.job(name)))


async def _delete(server: BatchServer, raw: bytes, name: str) -> bytes:
    del server.files[name]
    return _json({"id": name, "object": "file", "deleted": True})


def _openai_shown(server: BatchServer, job: Job) -> dict[str, Any]:
    counts = {"total": len(job.items), "completed": len(job.items) if server.ended else 1, "failed": 0}
    shown = {"id": job.id, "object": "batch", "endpoint": "/v1/responses", "completion_window": "24h"}
    status = "expired" if server.expired else "completed" if server.ended else "in_progress"
    shown |= {"input_file_id": job.source, "status": status, "created_at": int(job.created)}
    return {**shown, "request_counts": counts, "output_file_id": job.id if status == "completed" else None}


def _openai_result(custom_id: str, answer: dict[str, Any], fate: str) -> dict[str, Any]:
    line: dict[str, Any] = {"id": "x", "custom_id": custom_id, "response": None, "error": None}
    if fate == "expired":
        return {**line, "error": {"code": "batch_expired", "message": "too late"}}
    if fate == "errored":
        return {**line, "response": {"status_code": 400, "body": {"error": {"message": "no such picture"}}}}
    return {**line, "response": {"status_code": 200, "request_id": "r", "body": answer}}


# Anthropic --------------------------------------------------------------------------------------------------


async def _anthropic_create(server: BatchServer, raw: bytes) -> bytes | None:
    requests = json.loads(raw)["requests"]
    return await server.create("anthropic", [(r["custom_id"], r["params"]) for r in requests])


async def _anthropic_list(server: BatchServer, raw: bytes) -> bytes:
    shown = [_anthropic_shown(server, job) for job in server.jobs[::-1]]
    return _json({"data": shown, "has_more": False, "first_id": None, "last_id": None})


async def _anthropic_results(server: BatchServer, raw: bytes, name: str) -> bytes:
    return http(200, server.results(server.job(name)), {"content-type": "application/x-jsonl"})


def _anthropic_shown(server: BatchServer, job: Job) -> dict[str, Any]:
    counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
    counts["succeeded" if server.ended else "processing"] = len(job.items)
    times = {
        "created_at": datetime.fromtimestamp(job.created, UTC).isoformat(),
        "expires_at": "2099-01-01T00:00:00Z",
    }
    url = f"{server.url('anthropic')}/v1/messages/batches/{job.id}/results" if server.ended else None
    shown = {
        "id": job.id,
        "type": "message_batch",
        "processing_status": "ended" if server.ended else "in_progress",
    }
    return {**shown, **times, "request_counts": counts, "results_url": url}


def _anthropic_result(custom_id: str, answer: dict[str, Any], fate: str) -> dict[str, Any]:
    if fate == "errored":
        error = {"type": "error", "error": {"type": "invalid_request_error", "message": "no such picture"}}
        return {"custom_id": custom_id, "result": {"type": "errored", "error": error}}
    result = {"type": "expired"} if fate == "expired" else {"type": "succeeded", "message": answer}
    return {"custom_id": custom_id, "result": result}


# Gemini -----------------------------------------------------------------------------------------------------


async def _google_upload(server: BatchServer, raw: bytes) -> bytes:
    return http(200, b"{}", {"x-goog-upload-url": f"{server.url('google')}/upload/here"})


async def _google_bytes(server: BatchServer, raw: bytes) -> bytes:
    name = f"files/f{len(server.files)}"
    server.files[name] = raw
    return http(200, json.dumps({"file": {"name": name}}).encode(), {"x-goog-upload-status": "final"})


async def _google_create(server: BatchServer, raw: bytes) -> bytes | None:
    source = json.loads(raw)["batch"]["inputConfig"]["fileName"]
    lines = [json.loads(line) for line in server.files[source].splitlines()]
    return await server.create("google", [(line["key"], line["request"]) for line in lines], source)


async def _google_list(server: BatchServer, raw: bytes) -> bytes:
    return _json({"operations": [_google_shown(server, job) for job in server.jobs[::-1]]})


async def _google_results(server: BatchServer, raw: bytes, name: str) -> bytes:
    return http(200, server.results(server.job(name)))


def _google_shown(server: BatchServer, job: Job) -> dict[str, Any]:
    state = "BATCH_STATE_SUCCEEDED" if server.ended else "BATCH_STATE_RUNNING"
    metadata: dict[str, Any] = {
        "state": state,
        "createTime": datetime.fromtimestamp(job.created, UTC).isoformat(),
    }
    if server.expired:
        metadata["state"] = "BATCH_STATE_EXPIRED"
    elif server.ended:
        metadata["output"] = {"responsesFile": f"files/{job.id}"}
    return {"name": f"batches/{job.id}", "metadata": metadata}


def _google_result(custom_id: str, answer: dict[str, Any], fate: str) -> dict[str, Any]:
    errors = {
        "errored": {"code": 3, "message": "no such picture"},
        "expired": {"code": 4, "message": "too late"},
    }
    return {"key": custom_id, "error": errors[fate]} if fate else {"key": custom_id, "response": answer}


_ROUTES = {
    "POST /upload/v1beta/files": _google_upload,
    "POST /upload/here": _google_bytes,
    "POST /v1beta/models/[^/]+:batchGenerateContent": _google_create,
    "GET /v1beta/batches": _google_list,
    "GET /v1beta/batches/([^/]+)": _one,
    "GET /v1beta/files/([^/]+):download": _google_results,
    "DELETE /v1beta/(files/[^/]+)": _delete,
    "POST /v1/files": _upload,
    "GET /v1/files/([^/]+)/content": _content,
    "DELETE /v1/files/([^/]+)": _delete,
    "POST /v1/batches": _openai_create,
    "GET /v1/batches": _openai_list,
    "GET /v1/batches/([^/]+)": _one,
    "POST /v1/messages/batches": _anthropic_create,
    "GET /v1/messages/batches": _anthropic_list,
    "GET /v1/messages/batches/([^/]+)": _one,
    "GET /v1/messages/batches/([^/]+)/results": _anthropic_results,
}
_SHOW = {"openai": _openai_shown, "anthropic": _anthropic_shown, "google": _google_shown}
_RESULT = {"openai": _openai_result, "anthropic": _anthropic_result, "google": _google_result}
