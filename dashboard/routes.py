"""Addresses beside the pages: pictures by content hash, an episode as JSON, exports, the player's scripts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
from flask import Flask, Response, abort, request

from ..analysis.swaps import given
from ..replay.canvases import file_name
from ..replay.player import moving, still
from ..replay.player_html import SCRIPTS, asset, page
from ..traces.store import StoreError
from ..traces.world import to_png
from .source import Source

_FOREVER = "public, max-age=31536000, immutable"


def add_routes(server: Flask, source: Source) -> None:
    """Add the addresses to the server."""

    @server.get("/player/<name>")
    def player(name: str) -> Response:
        if name not in (*SCRIPTS, "player.css"):
            abort(404)
        return Response(asset(name), mimetype="text/css" if name.endswith(".css") else "text/javascript")

    @server.get("/picture/<kind>/<name>.png")
    def picture(kind: str, name: str) -> Response:
        data = _picture(source, kind, name)
        if data is None:
            abort(404)
        response = Response(data, mimetype="image/png", headers={"Cache-Control": _FOREVER})
        response.set_etag(name)
        return response.make_conditional(request)  # type: ignore[return-value]

    @server.get("/input.png")
    def given_input() -> Response:
        def answer() -> Response:
            form, evidence = request.args.get("form", "canvas"), request.args.get("evidence", "window")
            item = given(source.store, *_asked(), form, evidence)  # type: ignore[arg-type]
            image = to_png(item.images[request.args.get("image", 0, int)])
            response = Response(image, mimetype="image/png", headers={"Cache-Control": "no-cache"})
            response.set_etag(item.hash)
            return response.make_conditional(request)  # type: ignore[return-value]

        return _told(answer)

    @server.get("/episode.json")
    def episode() -> Response:
        return _told(lambda: _json(source.episode(*_asked())))

    @server.get("/compare.json")
    def compare() -> Response:
        pairs = zip(request.args.getlist("run"), request.args.getlist("episode"), strict=False)
        return _told(lambda: _json(source.comparison(list(pairs))))

    @server.get("/thought.txt")
    def thought() -> Response:
        return _told(
            lambda: Response(
                source.thought(*_asked(), request.args.get("step", 0, int)), mimetype="text/plain"
            )
        )

    @server.get("/export/<kind>")
    def export(kind: str) -> Response:
        if kind not in ("png", "gif", "html"):
            abort(404)
        return _told(lambda: _export(source, kind))


def _asked() -> tuple[str, str]:
    return request.args.get("run", ""), request.args.get("episode", "")


def _told(answer: Callable[[], Response]) -> Response:
    """The answer, or 404 with one sentence that says what is not there."""
    try:
        return answer()
    except (StoreError, LookupError, ValueError) as error:
        text = error.args[0] if error.args else "not found"
        return Response(orjson.dumps({"error": str(text)}), 404, mimetype="application/json")


def _json(content: dict[str, Any]) -> Response:
    text = orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)
    return Response(text, mimetype="application/json")


def _picture(source: Source, kind: str, name: str) -> bytes | None:
    if kind == "image":
        return source.store.images([name]).get(name)
    canvas = source.store.canvases([name]).get(name) if kind == "canvas" else None
    return None if canvas is None else to_png(canvas)


def _export(source: Source, kind: str) -> Response:
    run, source_id = _asked()
    record, episode = source.store.run(run), source.record(run, source_id)
    if kind == "html":
        data = page(source.store, record, episode, source.episode(run, source_id)["tracks"])
    else:
        data = (still if kind == "png" else moving)(source.store, record, episode)
    name = file_name(f"{run}-{source_id}.{kind}")
    mime = {"png": "image/png", "gif": "image/gif", "html": "text/html"}[kind]
    return Response(data, mimetype=mime, headers={"Content-Disposition": f'attachment; filename="{name}"'})
