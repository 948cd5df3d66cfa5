"""An episode as one HTML file that plays anywhere: no server, no network."""

from __future__ import annotations

import base64
import html
import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

from ..schemas import Episode, Run
from ..traces.store import Store
from ..traces.world import to_png
from .scene import scene

SCRIPTS = ("draw.js", "charts.js", "player.js")
"""The player's scripts, in the order in which they are loaded."""


@cache
def asset(name: str) -> str:
    """A text file of the player."""
    return (files(__package__ or "") / "assets" / name).read_text("utf-8")


def page(store: Store, run: Run, episode: Episode, tracks: dict[str, Any] | None = None) -> bytes:
    """A self-contained HTML player.

    Args:
        store: where the pictures are.
        run: the episode's run.
        episode: with its steps and texts.
        tracks: curves, posteriors and beliefs to show beside the path, as `analysis.tracks` gives them.
    """
    pictures = store.images([g.image for g in episode.glimpses() if g.image])
    canvases = store.canvases([episode.canvas] if episode.canvas else [])
    pictures |= {name: to_png(canvas) for name, canvas in canvases.items()}
    content = scene(run, episode, lambda _, name: _data_uri(pictures.get(name)), canvas_known=bool(canvases))
    values = {
        "title": html.escape(f"{run.run} #{episode.source_episode_id}"),
        "css": asset("player.css"),
        "script": "\n".join(map(asset, SCRIPTS)),
        "scene": inline_json({**content, "tracks": tracks or {}}),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], asset("player.html")).encode(
        "utf-8", "replace"
    )


def inline_json(value: Any) -> str:
    """JSON that may stand inside a script element: no text in it can close the element."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False).translate(
        {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}
    )


def _data_uri(picture: bytes | None) -> str | None:
    return None if picture is None else "data:image/png;base64," + base64.b64encode(picture).decode()
