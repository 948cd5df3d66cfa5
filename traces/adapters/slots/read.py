"""Slots of the six-arm suite to canonical records: one episode a slot, in the order of execution."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ....schemas import Diagnostic, Episode, Note
from ...world.digits import Digits
from ..bundle import Bundle
from ..chat import join_replies
from ..content import Call, Message, read_call, read_content
from ..facts import gather
from ..json_text import as_text, finite, whole
from ..messages import Draft, draft_episode
from ..settle import Item, Runs
from ..transcripts import beside, drain, read_json, stem
from .detect import SLOT

VERSION = 1


def read(bundle: Bundle, digits: Digits) -> Iterator[Item]:
    """Records of a suite's folder.

    Args:
        bundle: `traces/slot_<nnn>/episode.json`, `notes_history/`, `schedule_manifest.json`.
        digits: used to rebuild canvases.
    """
    runs, problems = Runs(stem(bundle.name), "slots", digits), []
    schedule = _schedule(bundle, problems)
    for name in bundle.names():
        match = SLOT.fullmatch(name)
        if not match:
            continue
        slot = read_json(bundle, name, problems)
        if isinstance(slot, dict):
            draft = _draft(bundle, name, int(match[1]), slot, schedule)
            yield from drain(problems)
            yield from runs.items(draft)
        elif slot is not None:
            problems.append(Diagnostic(code="record_skipped", message="a slot that is no object", path=name))
    yield from drain(problems)


def _schedule(bundle: Bundle, problems: list[Diagnostic]) -> dict[int, Mapping[str, Any]]:
    """Entries of the manifest by execution position."""
    found: dict[int, Mapping[str, Any]] = {}
    for name in bundle.names():
        if name.split("/")[-1] != "schedule_manifest.json":
            continue
        manifest = read_json(bundle, name, problems)
        entries = manifest.get("execution_schedule") if isinstance(manifest, dict) else None
        for entry in entries if isinstance(entries, list) else []:
            position = whole(entry.get("execution_position")) if isinstance(entry, dict) else None
            if position is not None:
                found[position] = entry
    return found


def _draft(
    bundle: Bundle, name: str, number: int, slot: Mapping[str, Any], schedule: dict[int, Mapping[str, Any]]
) -> Draft:
    position = whole(slot.get("execution_position"))
    position = number if position is None else position
    planned = schedule.get(position, {})
    model = slot.get("model")
    facts = gather(slot, planned) | {"harness": "mcp", "execution_position": position}
    facts.pop("success", None)
    if isinstance(model, dict):
        facts["model"] = model.get("api_model") or model.get("label")
        facts["settings"] = {key: model.get(key) for key in ("label", "thinking_level", "transport")}
    messages = join_replies(list(_messages(slot.get("tool_calls"), bundle, name)))
    source_id = as_text(slot.get("episode_id", planned.get("episode_id"))) or str(position)
    draft = draft_episode(messages, source_id, facts, name)
    draft.open_file = beside(bundle, name)
    _read_ending(draft.episode, slot)
    if slot.get("validity") == "INVALID":
        draft.note("run_incomplete", "the suite calls the slot INVALID")
    draft.episode.notes = list(_notes(bundle, name, number))
    return draft


def _messages(calls: Any, bundle: Bundle, name: str) -> Iterator[Message]:
    """Tool calls as messages: call and result are one record here."""
    for number, raw in enumerate(calls if isinstance(calls, list) else []):
        if not isinstance(raw, dict):
            continue
        call = read_call({"name": raw.get("tool"), "id": f"call_{number}", **raw})
        call = Call(call.name, call.arguments, call.call_id or f"call_{number}", call.raw, call.error)
        yield Message("assistant", calls=[call])
        result = Message("tool", call_id=call.call_id, is_error=raw.get("is_error") is True)
        yield read_content(result, raw.get("result"), beside(bundle, name))


def _read_ending(episode: Episode, slot: Mapping[str, Any]) -> None:
    correct = slot.get("correctness")
    episode.success = (
        correct
        if isinstance(correct, bool)
        else {"correct": True, "incorrect": False}.get(str(correct).lower())
    )
    episode.duration = finite(slot.get("elapsed_seconds"))
    counters = slot.get("counters")
    if not episode.steps and isinstance(counters, dict):
        episode.reasons = {"glimpses": "not_recorded", "n_moves": "not_recorded"}


def _notes(bundle: Bundle, name: str, number: int) -> Iterator[Note]:
    """The notes after the episode with the slot's number, where the suite kept them."""
    root = name.split("traces/")[0]
    path = f"{root}notes_history/ep_{number:03d}.md"
    if path in bundle.names():
        text = bundle.read(path).decode("utf-8", "replace")
        yield Note(position=0, kind="notes_after", text=text)
