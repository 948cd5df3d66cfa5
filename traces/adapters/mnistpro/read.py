"""A run folder of the official runner to canonical records: bytes in, records and diagnostics out."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from ....schemas import Canvas, Diagnostic, Episode, Image, Run
from ...episodes import finish, run_id
from ...world.canvas import build_canvas, from_png, pixel_hash, start_window, to_png
from ...world.digits import Digits
from ..bundle import Bundle
from ..json_text import BadJson, loads, whole
from ..pictures import WindowNotFound, find_window
from .condition import make_run
from .folder import Folder
from .pictures_only import read_pictures
from .trajectory import Context, read_trajectory

VERSION = 1

_FOLDER = re.compile(r"episode_(\d+)/(.+)")
_PICTURE = re.compile(r"step_(\d+)\.png")
_OBSERVATIONS = "workspace/workspace/observations/"


def read(bundle: Bundle, digits: Digits) -> Iterator[Run | Episode | Canvas | Image | Diagnostic]:
    """Records of one run folder, in any state the official runner leaves it.

    Args:
        bundle: the folder.
        digits: used to rebuild canvases from digit indices.
    """
    files: dict[str, list[str]] = defaultdict(list)
    for name in bundle.names():
        if match := _FOLDER.fullmatch(name):
            files[match[1]].append(match[2])
    problems: list[Diagnostic] = []
    config = _read_object(bundle, "run_config.json", problems)
    summary = _read_object(bundle, "results_summary.json", problems)
    run, wrong = make_run(bundle.name, config)
    run.run_id = run_id(run)
    entries = _summary_entries(summary, problems)
    folder = Folder(bundle, digits, run, run.geometry(), dict(files), entries, [*problems, *wrong])
    if run.geometry() is None:
        folder.problems.append(
            Diagnostic(code="missing_field", message="window, stride or panel size is unknown")
        )
    yield run
    ids = sorted({*files, *entries}, key=lambda text: (0, int(text), "") if text.isdigit() else (1, 0, text))
    without = [source_id for source_id in ids if not _pictures(folder, source_id)]
    if without:
        message = f"no pictures of {len(without)} of {len(ids)} episodes"
        folder.problems.append(Diagnostic(code="image_missing", message=message))
    if not ids:
        folder.problems.append(Diagnostic(code="empty_run", message="the folder holds no episode"))
    for source_id in ids:
        yield from _read_episode(folder, source_id)
    yield from folder.problems


def _read_object(bundle: Bundle, name: str, problems: list[Diagnostic]) -> dict[str, Any] | None:
    if name not in bundle.names():
        return None
    try:
        value, _ = loads(bundle.read(name))
    except BadJson as error:
        problems.append(Diagnostic(code=error.code, message=str(error), path=name, position=error.position))
        return None
    except OSError as error:
        problems.append(Diagnostic(code="record_skipped", message=str(error), path=name))
        return None
    if not isinstance(value, dict):
        problems.append(Diagnostic(code="invalid_value", message="not a JSON object", path=name))
        return None
    return value


def _summary_entries(summary: dict[str, Any] | None, problems: list[Diagnostic]) -> dict[str, dict[str, Any]]:
    if summary is None:
        return {}
    path, entries, raw = "results_summary.json", {}, summary.get("episodes")
    if not isinstance(raw, list):
        problems.append(Diagnostic(code="missing_field", message="no list of episodes", path=path))
        return {}
    for number, entry in enumerate(raw):
        source_id = whole(entry.get("episode_id")) if isinstance(entry, dict) else None
        if source_id is None:
            message = "an entry of the summary without episode_id"
            problems.append(
                Diagnostic(code="record_skipped", message=message, path=path, position=f"episodes[{number}]")
            )
            continue
        unique, copy = str(source_id), 1
        while unique in entries:
            copy += 1
            unique = f"{source_id}~{copy}"
        if copy > 1:
            message = f"episode_id {source_id} appears again; kept as {unique}"
            problems.append(
                Diagnostic(
                    code="duplicate_episode_id", message=message, path=path, position=f"episodes[{number}]"
                )
            )
        entries[unique] = entry
    return entries


def _read_episode(folder: Folder, source_id: str) -> Iterator[Episode | Canvas | Image | Diagnostic]:
    seen = len(folder.problems)
    folder.images.clear()
    try:
        episode = _episode(folder, source_id)
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        folder.problems.append(
            Diagnostic(code="episode_failed", message=message, path=f"episode_{source_id}")
        )
        episode = None
    for problem in folder.problems[seen:]:
        problem.episode_id = problem.episode_id or source_id
    if episode is None:
        return
    canvas = _canvas(folder, episode)
    if canvas is not None:
        episode.canvas = pixel_hash(canvas)
        height, width = canvas.shape
        yield Canvas(canvas=episode.canvas, png=to_png(canvas), width=width, height=height)
        _check_start(folder, episode, canvas)
    for problem in folder.problems[seen:]:
        problem.episode_id = problem.episode_id or source_id
    yield from (Image(image=digest, data=data) for digest, data in folder.images.items())
    yield finish(episode, folder.geometry)


def _episode(folder: Folder, source_id: str) -> Episode | None:
    entry = folder.summary.get(source_id)
    data, strict, path = _trajectory(folder, source_id)
    if data is not None and entry is not None:
        data = _merge(folder, data, entry, source_id)
    if data is None and entry is not None and isinstance(entry.get("trajectory"), list):
        data, strict, path = entry, False, "results_summary.json"
    pictures = _pictures(folder, source_id)
    if data is None and entry is None and not pictures and not _has(folder, source_id, "original.png"):
        return None
    if data is None:
        return read_pictures(entry or {}, source_id, pictures, folder, released=entry is not None)
    context = Context(
        folder.geometry, folder.run.n_panels, path, strict, pictures, folder.image, problems=folder.problems
    )
    episode = read_trajectory(data, source_id, context)
    episode.source_episode_id = source_id.split("~")[0]
    if data.get("harness") == "mcp" or "deliveries" in data:
        _place_observations(folder, episode, source_id)
    return episode


def _has(folder: Folder, source_id: str, name: str) -> bool:
    return name in folder.files.get(source_id, ())


def _trajectory(folder: Folder, source_id: str) -> tuple[dict[str, Any] | None, bool, str]:
    path = f"episode_{source_id}/trajectory.json"
    if not _has(folder, source_id, "trajectory.json"):
        return None, False, path
    try:
        data, strict = loads(folder.bundle.read(path))
    except BadJson as error:
        problem = Diagnostic(code=error.code, message=str(error), path=path, position=error.position)
        folder.problems.append(problem)
        return None, False, path
    if not isinstance(data, dict):
        folder.problems.append(Diagnostic(code="invalid_value", message="not a JSON object", path=path))
        return None, False, path
    return data, strict, path


def _merge(folder: Folder, data: dict[str, Any], entry: dict[str, Any], source_id: str) -> dict[str, Any]:
    """The trajectory with what only the summary has (control answers, steps it lost); differences are reported."""
    differing = [key for key, value in entry.items() if key in data and not _same(data[key], value)]
    if differing:
        message = f"differ in {', '.join(differing)}"
        path = f"episode_{source_id}/trajectory.json"
        folder.problems.append(Diagnostic(code="summary_conflict", message=message, path=path))
    merged = entry | data
    if not isinstance(data.get("trajectory"), list) and isinstance(entry.get("trajectory"), list):
        merged["trajectory"] = entry["trajectory"]
    return merged


def _same(a: Any, b: Any) -> bool:
    # NaN is not equal to itself, but the same text on both sides is no conflict.
    return a == b or repr(a) == repr(b)


def _pictures(folder: Folder, source_id: str) -> dict[int, str]:
    names = folder.files.get(source_id, ())
    found = ((_PICTURE.fullmatch(name), name) for name in names)
    return {int(match[1]): f"episode_{source_id}/{name}" for match, name in found if match}


def _place_observations(folder: Folder, episode: Episode, source_id: str) -> None:
    """Give a tool run's pictures, which have opaque names, to the glimpses whose windows they show."""
    names = [n for n in folder.files.get(source_id, ()) if n.startswith(_OBSERVATIONS) and n.endswith(".png")]
    by_window = {}
    for name in names:
        path = f"episode_{source_id}/{name}"
        digest = folder.image(path)
        try:
            frame = from_png(folder.images[digest], "RGB") if digest else None
            if frame is not None:
                by_window[find_window(frame).position] = digest
        except (ValueError, WindowNotFound) as error:
            code = error.code if isinstance(error, WindowNotFound) else "image_unreadable"
            folder.problems.append(Diagnostic(code=code, message=str(error), path=path))
    episode.start_image = by_window.get(episode.start)
    episode.start_image_status = "present" if episode.start_image else "missing"
    for step in episode.steps:
        step.image = by_window.get(step.window_after)
        step.image_status = "present" if step.image else "missing"


def _canvas(folder: Folder, episode: Episode) -> np.ndarray | None:
    """The hidden canvas: the recorded picture, or the one that the digit indices give; both must agree."""
    recorded = _recorded_canvas(folder, episode)
    rebuilt = None
    if episode.digit_indices and folder.geometry and len(episode.digit_indices) == folder.geometry.n_panels:
        try:
            images = [folder.digits.image(index) for index in episode.digit_indices]
            rebuilt = build_canvas(images, folder.geometry.panel)
        except KeyError as error:
            if recorded is None:
                folder.problems.append(Diagnostic(code="digits_unavailable", message=str(error.args[0])))
    if recorded is not None and rebuilt is not None and not np.array_equal(recorded, rebuilt):
        message = "original.png differs from the canvas of the digit indices; the picture was taken"
        path = f"episode_{episode.episode_id}/original.png"
        folder.problems.append(Diagnostic(code="canvas_mismatch", message=message, path=path))
    canvas = recorded if recorded is not None else rebuilt
    if canvas is None:
        folder.problems.append(
            Diagnostic(code="canvas_unknown", message="neither a picture nor known digits")
        )
        episode.reasons = (episode.reasons or {}) | {"canvas": "canvas_unknown"}
    return canvas


def _recorded_canvas(folder: Folder, episode: Episode) -> np.ndarray | None:
    if not _has(folder, episode.episode_id, "original.png"):
        return None
    path = f"episode_{episode.episode_id}/original.png"
    try:
        canvas = from_png(folder.bundle.read(path))
    except ValueError as error:
        folder.problems.append(Diagnostic(code="image_unreadable", message=str(error), path=path))
        return None
    geometry = folder.geometry
    if geometry and canvas.shape != (geometry.height, geometry.width):
        message = f"{canvas.shape[1]}x{canvas.shape[0]} pixels, not {geometry.width}x{geometry.height}"
        folder.problems.append(Diagnostic(code="image_unexpected", message=message, path=path))
        return None
    return canvas


def _check_start(folder: Folder, episode: Episode, canvas: np.ndarray) -> None:
    if folder.geometry is None:
        return
    given = start_window(canvas, folder.geometry)
    if episode.start is None:
        episode.start = given
        for step in episode.steps[:1]:
            step.window_before = step.window_before or given
    elif episode.start != given:
        message = f"the log starts at {episode.start}, the canvas gives {given}"
        folder.problems.append(Diagnostic(code="start_mismatch", message=message))
