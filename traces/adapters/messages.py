"""Conversations to episodes: which replies were actions, and which pictures were put before the agent."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from ...schemas import Attempt, Diagnostic, Episode, Step, StepText, ToolCall, Usage
from .actions import Action, from_call, from_reply, is_direction
from .content import Call, Message, Opener, Picture
from .facts import position
from .json_text import BadJson, finite, loads

_USAGE = tuple(f.name for f in fields(Usage))
_LOST_CODES = {
    "missing": "image_missing",
    "redacted": "image_redacted",
    "remote": "image_remote",
    "lossy": "lossy_image",
}


@dataclass
class Draft:
    """An episode as its messages tell it; windows, canvas, counts and verdicts are settled afterwards.

    Args:
        episode: with steps, texts and tool calls.
        facts: what the source says of world and condition, by canonical name (`facts.NAMES`).
        path: file it came from, for diagnostics.
        answers: values of accepted answers, in order.
        images: pictures by sha256.
        lost: pictures that are not here or not as they were shown, by diagnostic code.
        version: version of the source, where known.
        open_file: reads files that the source names.
    """

    episode: Episode
    facts: dict[str, Any] = field(default_factory=dict)
    path: str = ""
    answers: list[Any] = field(default_factory=list)
    images: dict[str, bytes] = field(default_factory=dict)
    lost: Counter[str] = field(default_factory=Counter)
    problems: list[Diagnostic] = field(default_factory=list)
    version: str | None = None
    open_file: Opener | None = None

    def note(self, code: str, message: str, position: str | None = None) -> None:
        """Record a diagnostic."""
        self.problems.append(Diagnostic(code=code, message=message[:300], path=self.path, position=position))

    def keep(self, picture: Picture) -> str | None:
        """Keep a picture; its sha256, or None where it is not here."""
        if picture.status in _LOST_CODES:
            self.lost[_LOST_CODES[picture.status]] += 1
        if picture.data is None:
            return None
        digest = hashlib.sha256(picture.data).hexdigest()
        self.images[digest] = picture.data
        return digest


def draft_episode(messages: Iterable[Message], source_id: str, facts: dict[str, Any], path: str) -> Draft:
    """Read one episode's messages.

    A picture in a tool result was delivered; one in a user's message was put before the agent when a reply follows.
    Of several pictures in one message only the last is new. Looks at pictures are tool calls, never steps.
    """
    draft = Draft(Episode(episode_id=source_id, source_episode_id=source_id), facts, path)
    _Teller(draft, [piece for message in messages for piece in message.split()]).tell()
    return draft


def add_usage(record: Usage | Step | Attempt | Episode, usage: Usage | None) -> None:
    """Add tokens and cost to what a record has."""
    for name in _USAGE if usage else ():
        value = getattr(usage, name)
        if value is not None:
            setattr(record, name, (getattr(record, name) or 0) + value)


class _Teller:
    def __init__(self, draft: Draft, messages: Sequence[Message]) -> None:
        self.draft, self.episode, self.messages = draft, draft.episode, messages
        self.by_tools = any(message.calls for message in messages)
        replies = [number for number, message in enumerate(messages) if message.role == "assistant"]
        self.last_reply = replies[-1] if replies else -1
        self.awaiting: Step | None = None
        self.open_calls: list[tuple[ToolCall, Step | None]] = []
        self.usage, self.said = Usage(), []

    def tell(self) -> None:
        for number, message in enumerate(self.messages):
            if message.role == "assistant":
                self._reply(message, number)
            elif message.role == "tool":
                self._result(message)
            elif message.role == "user":
                self._observe(message, shown=number < self.last_reply)
        add_usage(self.episode.steps[-1] if self.episode.steps else self.episode, self.usage)
        times = [message.time for message in self.messages if message.time]
        if times:
            self.episode.started = self.episode.started or times[0]
            self.episode.duration = (max(times) - times[0]).total_seconds()

    def _observe(self, message: Message, shown: bool) -> None:
        if message.pictures:
            self._deliver(message.pictures[-1], shown, message.facts)
        elif self.awaiting and not self.by_tools:
            self.awaiting.shown = shown
            self.awaiting.window_after = self.awaiting.window_after or position(message.facts)

    def _deliver(self, picture: Picture, shown: bool, facts: Mapping[str, Any]) -> None:
        """Give a picture to the move that it answers, else to the start; what is left was a second look."""
        if self.awaiting:
            _attach(self.awaiting, self.draft.keep(picture), picture, facts)
            self.awaiting.shown = shown
            self.awaiting = None
        elif self.episode.start_image_status is None and not _moves(self.episode):
            self.episode.start_image = self.draft.keep(picture)
            self.episode.start_image_status = picture.status
            self.episode.start_shown = shown
            self.episode.start = position(facts)

    def _reply(self, message: Message, number: int) -> None:
        for error in message.retries:
            self._attempt(error=error)
        if message.calls:
            self._say(message)
            for call in message.calls:
                self._call(call, message)
        elif self.by_tools:
            self._say(message)
        elif message.text:
            self._text_action(message, number)
        else:
            add_usage(self.usage, message.usage)

    def _say(self, message: Message) -> None:
        add_usage(self.usage, message.usage)
        self.said += [text for text in (message.thought, message.text) if text]

    def _text_action(self, message: Message, number: int) -> None:
        action = from_reply(message.text)
        add_usage(self.usage, message.usage)
        if action.kind == "invalid" and self._is_retried(number):
            self._attempt(raw=message.text, error="no action in the reply")
            return
        action.thought = action.thought or message.thought
        step = self._step(action, message)
        self.episode.step_texts.append(
            StepText(
                step=step.step,
                thought=action.thought,
                spatial_map=action.spatial_map,
                raw_reply=message.text,
            )
        )

    def _is_retried(self, number: int) -> bool:
        """Whether another reply follows before anything new was shown."""
        for message in self.messages[number + 1 :]:
            if message.role == "assistant":
                return True
            if message.pictures or message.role == "tool":
                return False
        return False

    def _attempt(self, raw: str | None = None, error: str | None = None) -> None:
        step = len(self.episode.steps)
        earlier = sum(attempt.step == step for attempt in self.episode.attempts)
        attempt = Attempt(step=step, attempt=earlier, raw_reply=raw, error=error)
        add_usage(attempt, self.usage)
        self.usage = Usage()
        self.episode.attempts.append(attempt)

    def _call(self, call: Call, message: Message) -> None:
        action = from_call(call)
        record = ToolCall(
            position=len(self.episode.tool_calls),
            call_id=call.call_id,
            tool=call.name,
            arguments=call.arguments,
            arguments_raw=call.raw,
            arguments_error=call.error,
            time=message.time,
        )
        self.episode.tool_calls.append(record)
        if call.error:
            self.draft.note("arguments_unparseable", f"{call.name}: {call.error}", call.call_id)
        step = None
        if action.kind not in ("look", "aside"):
            step = self._step(action, message)
            record.step = step.step
            self._words(step, action, message)
        self.open_calls.append((record, step))

    def _words(self, step: Step, action: Action, message: Message) -> None:
        """The words said since the last step go to this one."""
        said = [*self.said, *([action.thought] if action.thought else [])]
        if said:
            thought, raw = "\n".join(said), message.text or None
            self.episode.step_texts.append(
                StepText(step=step.step, thought=thought, spatial_map=action.spatial_map, raw_reply=raw)
            )
        self.said = []

    def _step(self, action: Action, message: Message) -> Step:
        valid = action.kind == "answer" or (action.kind == "move" and is_direction(action.value))
        if action.kind == "unknown":
            self.draft.note("unknown_action", f"action {action.raw}"[:200], message.source_id)
        step = Step(
            step=len(self.episode.steps),
            source_step=message.source_id,
            action_kind=action.kind,  # type: ignore[arg-type]
            action_raw=action.raw,
            direction=None if action.kind != "move" or action.value is None else str(action.value),
            valid=valid,
            image_status="missing",
            model_latency=message.latency,
        )
        add_usage(step, self.usage)
        self.usage = Usage()
        self.episode.steps.append(step)
        if step.action_kind == "move" and valid:
            self.awaiting = step
        if step.action_kind == "answer":
            self.draft.answers.append(action.value)
        return step

    def _result(self, message: Message) -> None:
        found = self._claim(message)
        if found is None:
            self.draft.note("orphan_result", "a tool result belongs to no call", message.call_id)
            if message.pictures:
                self._deliver(message.pictures[-1], True, message.facts)
            return
        record, step = found
        told = _told(message.text)
        record.result, record.is_error = message.text or None, _failed(message, told)
        picture = message.pictures[-1] if message.pictures else None
        if step is None:
            if picture:
                record.image = self.draft.keep(picture)
                self._deliver(picture, True, {**told, **message.facts})
        elif record.is_error:
            self._reject(step)
        else:
            self._accept(record, step, picture, {**told, **message.facts})

    def _claim(self, message: Message) -> tuple[ToolCall, Step | None] | None:
        """The call that a result belongs to: by id, or the oldest open one where the result names none."""
        for number, (record, _) in enumerate(self.open_calls):
            if message.call_id is None or record.call_id == message.call_id:
                return self.open_calls.pop(number)
        return None

    def _reject(self, step: Step) -> None:
        step.valid = False
        if step.action_kind == "answer" and self.draft.answers:
            self.draft.answers.pop()
        if self.awaiting is step:
            self.awaiting = None

    def _accept(
        self, record: ToolCall, step: Step, picture: Picture | None, facts: Mapping[str, Any]
    ) -> None:
        # Our own exports say so where the world made a picture that nobody was shown.
        step.shown = step.action_kind == "move" and step.valid and facts.get("shown") is not False
        step.reward = finite(facts.get("reward"))
        if picture:
            record.image = self.draft.keep(picture)
            _attach(step, record.image, picture, facts)
            self.awaiting = None if self.awaiting is step else self.awaiting
        elif step.shown:
            step.window_after = position(facts)


def _attach(step: Step, digest: str | None, picture: Picture, facts: Mapping[str, Any]) -> None:
    step.image, step.image_status = digest, picture.status
    step.window_after = position(facts) or step.window_after


def _moves(episode: Episode) -> bool:
    return any(step.action_kind == "move" and step.valid for step in episode.steps)


def _told(text: str) -> dict[str, Any]:
    """What a textual tool result says, where it is a JSON object."""
    if not text.lstrip().startswith("{"):
        return {}
    try:
        value, _ = loads(text.encode("utf-8", "surrogatepass"))
    except BadJson:
        return {}
    return value if isinstance(value, dict) else {}


def _failed(message: Message, told: Mapping[str, Any]) -> bool | None:
    if message.is_error or told.get("error") or told.get("valid") is False or told.get("ok") is False:
        return True
    return message.is_error
