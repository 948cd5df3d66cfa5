"""Episodes without a trajectory: the released layout, and episodes that were still being written.

Certain in the released layout are the folder's name, `episode_id`, digit indices, label, `original.png` and the
pictures. Everything else is a hint: texts are kept, `prediction` is read, each with a diagnostic, and nothing that
is measured leans on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ....schemas import DIRECTIONS, Diagnostic, Episode, Geometry, Point, Step, StepText
from ...episodes import settle_answer
from ...world.canvas import from_png
from ..json_text import BadJson, as_text, loads, whole
from ..pictures import WindowNotFound, find_window
from .folder import Folder

_FORCED = "Forced answer: maximum steps reached"


def read_pictures(
    entry: dict[str, Any], source_id: str, pictures: Mapping[int, str], folder: Folder, *, released: bool
) -> Episode:
    """What pictures (by number of steps taken) and a summary entry allow to say about an episode."""
    episode = Episode(episode_id=source_id, source_episode_id=source_id.split("~")[0], complete=released)
    episode.digit_indices = _indices(entry)
    episode.label = _label(entry, episode.digit_indices, folder)
    windows = _recover(episode, pictures, folder)
    if windows:
        _steps_from_windows(episode, windows, pictures, folder)
    if released:
        _read_hints(episode, entry, folder)
    else:
        episode.stop_reason = "running"
        folder.problems.append(
            Diagnostic(code="run_incomplete", message="no trajectory yet", path=f"episode_{source_id}")
        )
    _settle_windows(episode, bool(windows))
    return episode


def _settle_windows(episode: Episode, recovered: bool) -> None:
    """The windows as far as they are certain, and why the rest is null."""
    if not recovered:
        episode.reasons = {"windows_source": "not_recorded", "glimpses": "not_recorded"}
        return
    episode.reasons = {"windows_source": "recovered"}
    reached = [glimpse.window for glimpse in episode.reached()]
    if None in reached:
        episode.reasons = {"windows_source": "ambiguous", "glimpses": "ambiguous"}
        return
    episode.windows_source = reached  # type: ignore[assignment]
    if episode.steps and episode.steps[-1].action_kind == "unknown":
        episode.reasons["n_moves"] = "ambiguous"


def _indices(entry: dict[str, Any]) -> list[int] | None:
    raw = entry.get("indices", entry.get("eval_index"))
    values = [whole(value) for value in (raw if isinstance(raw, list) else [raw])]
    return None if None in values else values  # type: ignore[return-value]


def _label(entry: dict[str, Any], indices: list[int] | None, folder: Folder) -> str | None:
    # A label kept as a number has lost its leading zero; the data set's own labels have not.
    labels = folder.digits.labels
    if indices and folder.digits.genuine and all(0 <= index < len(labels) for index in indices):
        return "".join(str(labels[index]) for index in indices)
    return as_text(entry.get("label"))


def _recover(episode: Episode, pictures: Mapping[int, str], folder: Folder) -> dict[int, Point]:
    """Window after n steps, by n, for each picture that shows one."""
    windows = {}
    for number in sorted(pictures):
        digest = folder.image(pictures[number])
        if digest is None:
            continue
        try:
            found = find_window(from_png(folder.images[digest], "RGB"))
        except (ValueError, WindowNotFound) as error:
            code = error.code if isinstance(error, WindowNotFound) else "image_unreadable"
            folder.problems.append(Diagnostic(code=code, message=str(error), path=pictures[number]))
            continue
        if folder.geometry and found.side not in (None, folder.geometry.window):
            message = f"the window measures {found.side} pixels, the run's {folder.geometry.window}"
            folder.problems.append(
                Diagnostic(code="windows_conflict", message=message, path=pictures[number])
            )
            continue
        if folder.run.draw_border is None:
            folder.run.draw_border = found.outlined
        windows[number] = found.position
    if windows:
        message = f"{len(windows)} windows recovered from pictures"
        folder.problems.append(Diagnostic(code="windows_recovered", message=message))
    return windows


def _steps_from_windows(
    episode: Episode, windows: dict[int, Point], pictures: Mapping[int, str], folder: Folder
) -> None:
    """Moves that the pictures prove; a repeated last picture may be an answer or a blocked move."""
    episode.start = windows.get(0)
    if 0 in pictures:
        episode.start_image = folder.image(pictures[0])
        episode.start_image_status = "present"
    last = max(windows)
    limit = folder.run.t_max
    for number in range(1, last + 1):
        before, after = windows.get(number - 1), windows.get(number)
        moved = before is not None and after is not None and before != after
        blocked = before is not None and before == after and number < last
        step = Step(
            step=number - 1,
            action_kind="move" if moved or blocked else "unknown",
            valid=moved or blocked,
            direction=_direction(folder.geometry, before, after) if moved else None,
            window_before=before,
            window_after=after,
            image_status="missing",
        )
        if step.direction and folder.geometry and before:
            step.clipped = folder.geometry.move(before, step.direction)[1]
        elif blocked:
            step.clipped = True
        if number in pictures:
            step.image = folder.image(pictures[number])
            step.image_status = "present" if step.image else "missing"
        step.shown = step.valid and not (number == last and limit is not None and number >= limit)
        episode.steps.append(step)


def _direction(geometry: Geometry | None, before: Point | None, after: Point | None) -> str | None:
    if geometry is None or before is None:
        return None
    return next((name for name in DIRECTIONS if geometry.move(before, name)[0] == after), None)


def _read_hints(episode: Episode, entry: dict[str, Any], folder: Folder) -> None:
    history = entry.get("history")
    forced = any(_FORCED in text for text in _strings(entry))
    prediction = as_text(entry.get("prediction"))
    hints = [name for name in ("history", "prediction", "success") if name in entry]
    if hints:
        message = f"undocumented fields were used: {', '.join(hints)}"
        folder.problems.append(Diagnostic(code="hint_used", message=message, path="results_summary.json"))
    episode.answer_source = prediction
    given = None if prediction == "-1" else prediction
    settle_answer(episode, folder.run.n_panels, given)
    if prediction == "-1":
        episode.answer_status = "forced" if forced else "unparseable"
    episode.stop_reason = "step_limit" if forced else "answered" if given is not None else "unknown"
    success = entry.get("success")
    episode.success = success if isinstance(success, bool) else None
    control = entry.get("control_success")
    episode.control_answer = as_text(entry.get("control_prediction"))
    episode.control_success = control if isinstance(control, bool) else None
    if isinstance(history, list):
        _read_history(episode, [item for item in history if isinstance(item, dict)])


def _read_history(episode: Episode, history: list[dict[str, Any]]) -> None:
    """Texts of the steps, and the kind of the actions that the pictures leave open."""
    for number, item in enumerate(history):
        raw = as_text(item.get("raw_response"))
        action = _action(item.get("action"))
        if number == len(episode.steps):
            kind = action.get("action")
            if raw and _FORCED in raw:
                continue
            episode.steps.append(
                Step(
                    step=number,
                    action_kind="answer" if kind == "answer" else "unknown",
                    valid=kind == "answer",
                )
            )
        step = episode.steps[number]
        step.source_step = as_text(item.get("step"))
        step.action_raw = as_text(item.get("action"))
        if step.action_kind == "unknown" and action.get("action") == "answer":
            step.action_kind, step.valid = "answer", True
        elif step.action_kind == "unknown" and action.get("action") == "move" and step.window_before:
            step.action_kind, step.valid, step.clipped, step.shown = (
                "move",
                True,
                True,
                number + 1 < len(history),
            )
        if step.action_kind == "move" and step.direction is None:
            direction = action.get("direction")
            step.direction = direction if direction in DIRECTIONS else None
        if raw is not None:
            text = StepText(step=number, thought=as_text(action.get("thought")), raw_reply=raw)
            text.spatial_map = action.get("spatial_map")
            episode.step_texts.append(text)


def _action(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        try:
            value, _ = loads(value.encode("utf-8", "surrogatepass"))
        except BadJson:
            return {}
    return value if isinstance(value, dict) else {}


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
