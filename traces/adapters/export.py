"""What every `write.py` shares: the episodes to export, their pictures, and how paths and secrets are taken out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

import numpy as np
import polars as pl

from ...schemas import Episode, Glimpse, Run, Usage
from ..store import Store, natural
from ..world.canvas import observe, to_png

_SHARD = 100
_USAGE = tuple(field.name for field in fields(Usage))
_SECRETS = re.compile(
    r"sk-[A-Za-z0-9_-]{16,}|(?:ghp|gho|github_pat|hf|xox[abp]|glpat)[_-][A-Za-z0-9_-]{16,}|AKIA[0-9A-Z]{16}"
    r"|AIza[0-9A-Za-z_-]{30,}|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*"
    r"|(?<=[Bb]earer )[A-Za-z0-9._~+/-]{12,}=*"
    r"|(?i:(?<=api_key=)|(?<=apikey=)|(?<=token=)|(?<=password=)|(?<=secret=))[^\s\"'&]{6,}"
)
_PATHS = re.compile(
    r"(?<![\w./:])(?:/(?:home|root|Users|tmp|var|mnt|data|work|opt|private|scratch|srv|usr|etc)(?:/[^\s\"'<>|:;,]*)?"
    r"|[A-Za-z]:\\[^\s\"'<>|]+|\\\\[\w.-]+\\[^\s\"'<>|]+|~/[^\s\"'<>|:;,]*)"
)


@dataclass(frozen=True)
class Export:
    """Episodes of one run on their way out.

    Args:
        store: where they come from.
        run: the run.
        ids: only those `source_episode_id`s, None for all.
        redact: whether paths and secrets are taken out of every text.
        columns: official and our metrics by `episode_id`, for formats that hold them.
    """

    store: Store
    run: Run
    ids: Sequence[str] | None = None
    redact: bool = False
    columns: Callable[[str], dict[str, Any]] | None = None

    def parts(self) -> Iterator[Part]:
        """The episodes in parts that fit in memory, in natural order, texts included."""
        rows = self.store.scan("episodes").filter(pl.col("run") == self.run.run).select("source_episode_id")
        listed = sorted(set(rows.collect().to_series()), key=natural)
        chosen = [name for name in listed if self.ids is None or name in self.ids]
        for first in range(0, len(chosen), _SHARD):
            yield Part(self, self.store.episodes(self.run.run, chosen[first : first + _SHARD], texts=True))


class Part:
    """Some episodes with their canvases and pictures."""

    def __init__(self, export: Export, episodes: list[Episode]) -> None:
        self.export, self.episodes = export, episodes
        self.canvases = export.store.canvases(e.canvas for e in episodes if e.canvas)
        glimpses = [glimpse.image for episode in episodes for glimpse in episode.reached()]
        self.images = export.store.images(digest for digest in glimpses if digest)

    def canvas(self, episode: Episode) -> np.ndarray | None:
        """The hidden canvas, None where it is not known as a whole."""
        partial = "canvas" in (episode.reasons or {})
        return None if partial or episode.canvas is None else self.canvases.get(episode.canvas)

    def picture(self, episode: Episode, glimpse: Glimpse) -> bytes | None:
        """The recorded picture of a glimpse, else the picture as the world draws it, else None."""
        recorded = self.images.get(glimpse.image or "")
        canvas, geometry = self.canvas(episode), self.export.run.geometry()
        if recorded is not None or canvas is None or geometry is None or glimpse.window is None:
            return recorded
        return to_png(observe(canvas, glimpse.window, geometry))


def run_facts(run: Run) -> dict[str, Any]:
    """What a format without fields of its own carries of a run; read back by `facts.gather`."""
    names = (
        "run agent memory memory_raw horizon turn_mode harness arm model window stride panel n_panels draw_border "
        "t_max seed"
    )
    facts = {name: getattr(run, name) for name in names.split() if getattr(run, name) is not None}
    return facts | {"created": run.created.isoformat()} if run.created else facts


def episode_facts(episode: Episode) -> dict[str, Any]:
    """What a format without fields of its own carries of an episode; read back by `facts.gather`."""
    names = (
        "source_episode_id label digit_indices start windows_source answer_source termination_raw success error "
        "control_answer control_success execution_position repeat"
    )
    return {name: getattr(episode, name) for name in names.split() if getattr(episode, name) is not None}


def inclusive(record: Usage | Any) -> dict[str, Any]:
    """Token counts in the style whose input tokens include the cached ones."""
    cached, new = record.tokens_cache_read, record.tokens_input
    counts = {
        "prompt_tokens": None if new is None else new + (cached or 0),
        "completion_tokens": record.tokens_output,
        "cached_tokens": cached,
        "cost_usd": record.cost,
    }
    return {name: value for name, value in counts.items() if value is not None}


def redacted(value: Any) -> Any:
    """A JSON value with paths and secrets taken out of every text.

    >>> redacted("see /home/ann/x.py, key sk-abcdefghijklmnop1234")
    'see [path], key [secret]'
    """
    if isinstance(value, str):
        return value if value.startswith("data:") else _PATHS.sub("[path]", _SECRETS.sub("[secret]", value))
    if isinstance(value, dict):
        return {name: redacted(item) for name, item in value.items()}
    return [redacted(item) for item in value] if isinstance(value, (list, tuple)) else value


def iso(time: datetime | None) -> str | None:
    """A time as ISO text in UTC."""
    return None if time is None else time.isoformat().replace("+00:00", "Z")
