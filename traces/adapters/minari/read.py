"""Minari datasets to canonical records: an observation more than actions, pictures possibly as JPEG."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ....schemas import Diagnostic, Episode, Step
from ....schemas.extras import MissingExtra
from ...world.canvas import to_png
from ...world.digits import Digits
from ...world.env import decode
from ..bundle import Bundle
from ..content import Picture, identify
from ..facts import gather, position
from ..json_text import BadJson, as_text, dumps, finite, loads, whole
from ..messages import Draft
from ..settle import Item, Runs
from ..transcripts import drain, read_json
from .detect import metadata_file
from .storage import StoredEpisode, episodes

VERSION = 1

_IMAGES = ("image", "rgb", "pixels", "observation", "masked_rgb", "glimpse", "canvas")


def read(bundle: Bundle, digits: Digits) -> Iterator[Item]:
    """Records of one dataset.

    Args:
        bundle: the dataset's folder.
        digits: used to rebuild canvases.
    """
    problems: list[Diagnostic] = []
    name = metadata_file(bundle) or "metadata.json"
    metadata = read_json(bundle, name, problems)
    if isinstance(metadata, dict):
        runs = Runs(as_text(metadata.get("dataset_id")) or bundle.name, "minari", digits)
        root = name.removesuffix("metadata.json")
        try:
            for stored in episodes(bundle, root, metadata, problems):
                yield from drain(problems)
                yield from runs.items(_draft(stored, metadata, root))
        except MissingExtra as error:
            problems.append(Diagnostic(code="not_supported", message=str(error), path=name))
    yield from drain(problems)


def _draft(stored: StoredEpisode, metadata: Mapping[str, Any], root: str) -> Draft:
    facts = gather(_json(stored.options.get("mnistpro_replay")), stored.options, _kwargs(metadata))
    facts.setdefault("seed", stored.seed)
    source_id = as_text(facts.get("source_episode_id")) or str(stored.number)
    episode = Episode(episode_id=source_id, source_episode_id=source_id)
    draft = Draft(
        episode, {k: v for k, v in facts.items() if v is not None}, f"{root}episode {stored.number}"
    )
    pictures, positions = _pictures(stored.observations), _positions(stored.observations)
    if pictures and positions is None and pictures[0].data is None:
        draft.note("image_unexpected", pictures[0].detail or "observations are no pictures")
    episode.repeat = whole(facts.get("repeat")) or 0
    draft.version = as_text(metadata.get("minari_version"))
    _start(draft, pictures, positions)
    n_panels = whole(facts.get("n_panels")) or len(str(facts.get("label", "0")))
    unshown = _unshown(stored)
    for number, action in enumerate(stored.actions):
        step = _step(draft, number, action, n_panels)
        if number + 1 < len(pictures):
            picture = pictures[number + 1]
            if step.action_kind == "move":
                step.image, step.image_status = draft.keep(picture), picture.status
        if positions is not None and number + 1 < len(positions):
            step.window_after = positions[number + 1]
        step.shown = step.action_kind == "move" and step.valid and number not in unshown
        step.reward = finite(stored.reward(number))
    if stored.truncated and not draft.answers:
        episode.termination_raw = episode.termination_raw or "truncated"
    return draft


def _start(draft: Draft, pictures: list[Picture], positions: list[tuple[int, int] | None] | None) -> None:
    if pictures:
        draft.episode.start_image = draft.keep(pictures[0])
        draft.episode.start_image_status = pictures[0].status
    if positions:
        draft.episode.start = positions[0]


def _unshown(stored: StoredEpisode) -> set[int]:
    """Steps whose pictures the agent never got; only our own exports say so."""
    own = _json(stored.options.get("mnistpro_replay"))
    return set(own.get("unshown") or []) if isinstance(own, dict) else set()


def _json(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return loads(value.encode("utf-8", "surrogatepass"))[0]
    except BadJson:
        return None


def _kwargs(metadata: Mapping[str, Any]) -> Any:
    spec = _json(metadata.get("env_spec"))
    return spec.get("kwargs") if isinstance(spec, dict) else None


def _step(draft: Draft, number: int, action: Any, n_panels: int) -> Step:
    """An action: a number of our environment, or JSON text or an object in the official form."""
    raw = action if isinstance(action, str) else dumps(action)
    given = _json(action) if isinstance(action, str) else action
    kind, value = decode(given if isinstance(given, dict) else _number(given), n_panels)
    step = Step(step=number, action_kind="invalid", action_raw=raw, valid=False)
    if kind == "move":
        step.action_kind, step.direction, step.valid = "move", value, True
    elif kind == "answer":
        step.action_kind, step.valid = "answer", True
        draft.answers.append(value)
    elif isinstance(given, dict) and given.get("action") == "move":
        step.action_kind, step.direction = "move", as_text(given.get("direction"))
    draft.episode.steps.append(step)
    return step


def _number(value: Any) -> Any:
    number = whole(value)
    return {"action": "invalid"} if number is None else number


def _pictures(observations: Any) -> list[Picture]:
    """The pictures of all observations, in order; empty without any."""
    if isinstance(observations, dict):
        names = [name for name in _IMAGES if name in observations] or list(observations)
        return next((found for name in names if (found := _pictures(observations[name]))), [])
    if isinstance(observations, tuple):
        return next((found for item in observations if (found := _pictures(item))), [])
    if isinstance(observations, list) and observations and isinstance(observations[0], bytes):
        return [identify(data) for data in observations]
    if not isinstance(observations, np.ndarray) or observations.dtype != np.uint8 or observations.ndim < 3:
        return []
    if observations.ndim == 4 and observations.shape[-1] == 1:
        observations = observations[..., 0]
    if observations.ndim == 3 or (observations.ndim == 4 and observations.shape[-1] == 3):
        return [Picture(to_png(frame), "present") for frame in observations]
    why = f"observations of shape {observations.shape[1:]} are no pictures"
    return [Picture(None, "missing", why) for _ in observations]


def _positions(observations: Any) -> list[tuple[int, int] | None] | None:
    """Windows of all observations, where the observation names them."""
    if not isinstance(observations, dict):
        return None
    for name in ("window", "position", "pos", "glimpse_pos"):
        values = observations.get(name)
        if isinstance(values, np.ndarray) and values.ndim == 2 and values.shape[1] == 2:
            return [position({"pos": row}) for row in values.tolist()]
    return None
