"""The line between a tool server and its controller: one authenticated local connection a call.

The server's process is given an address and a key that is good for one episode and for the three tools, and
nothing else: whoever holds the key can do what the tools can do. Messages are JSON; a picture follows as bytes.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Client, Listener
from threading import Thread
from typing import Any, NamedTuple

VARIABLE = "GLIMPSE_MAILBOX"
_HOST = "127.0.0.1"


class Result(NamedTuple):
    """What a tool gives: a text, a picture, and whether the call failed."""

    text: str
    picture: bytes | None = None
    is_error: bool = False


class Mailbox:
    """Takes calls, one at a time, until it is closed. `address` is what the server's process is given."""

    def __init__(self, handle: Callable[[str, dict[str, Any]], Result]) -> None:
        self._handle = handle
        self._key = os.urandom(16)
        self._listener = Listener((_HOST, 0), authkey=self._key)
        self._port = int(self._listener.address[1])
        self._open = True
        self._thread = Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """Port and key."""
        return f"{self._port}:{self._key.hex()}"

    def _serve(self) -> None:
        while self._open:
            try:
                with self._listener.accept() as connection:
                    self._answer(connection)
            except Exception:
                # A wrong key, a broken connection or nonsense: whoever it was gets nothing.
                continue

    def _answer(self, connection: Any) -> None:
        call = json.loads(connection.recv_bytes())
        result = self._handle(str(call["tool"]), dict(call["arguments"]))
        head = {"text": result.text, "is_error": result.is_error, "picture": result.picture is not None}
        connection.send_bytes(json.dumps(head).encode())
        if result.picture is not None:
            connection.send_bytes(result.picture)

    def close(self) -> None:
        """Take no more calls."""
        self._open = False
        # Wakes `accept`. Not a `Client`, which would wait for ever where the thread has just ended by itself.
        with suppress(OSError):
            socket.create_connection((_HOST, self._port)).close()
        self._thread.join(timeout=5)
        self._listener.close()


def call(address: str, tool: str, arguments: dict[str, Any]) -> Result:
    """Make one call at an address.

    Raises:
        OSError: where nobody listens, or the key is refused.
    """
    port, _, key = address.partition(":")
    try:
        with Client((_HOST, int(port)), authkey=bytes.fromhex(key)) as connection:
            connection.send_bytes(json.dumps({"tool": tool, "arguments": arguments}).encode())
            head = json.loads(connection.recv_bytes())
            picture = connection.recv_bytes() if head["picture"] else None
    except EOFError as error:
        raise OSError("the controller hung up") from error
    return Result(head["text"], picture, head["is_error"])
