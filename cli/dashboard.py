"""The dashboard: `dashboard`."""

from __future__ import annotations

from typing import Annotated

import typer

from .context import UsageError, counting, open_store, say, select, warn
from .replay import Traces

LOCAL = "127.0.0.1"


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command()(dashboard)


def dashboard(
    traces: Traces = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on")] = 8050,
    host: Annotated[
        str, typer.Option(help="Address to listen on; anything but this machine's own is open to others")
    ] = LOCAL,
) -> None:
    """Look at runs and step through episodes in the browser."""
    from ..analysis.metrics import ensure
    from ..dashboard.app import serve
    from ..dashboard.source import Source

    store = open_store(create=bool(traces))
    selected = [(chosen.run, chosen.ids) for chosen in select(store, traces or [])]
    with counting("metrics") as advance:
        ensure(store, [run for run, _ in selected], "last", progress=advance)
    if host not in (LOCAL, "localhost", "::1"):
        warn(f"anyone who can reach {host}:{port} can read this store; there is no password")
    say(f"dashboard on http://{host}:{port} (Ctrl-C ends it)")
    try:
        serve(Source(store, selected if traces else None), host, port)
    except OSError as error:
        raise UsageError(f"cannot listen on {host}:{port}: {error.strerror or error}") from error
