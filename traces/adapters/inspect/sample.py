"""One sample of an Inspect log to a draft: messages or model events, attachments, scores, retries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import is_
from typing import Any

from ....schemas import Attempt
from ..bundle import Bundle
from ..chat import join_replies, read_message
from ..content import Message, Opener
from ..facts import gather, read_time
from ..json_text import as_text, finite, whole
from ..messages import Draft, draft_episode
from ..threads import Exchange, Thread, mark
from ..transcripts import beside, exclusive_usage

_REFERENCES = ("attachment://", "tc://")
_CARRIERS = ("content", "tool_calls")
_NESTED = (str, dict, list)
_CORRECT: dict[Any, bool] = {"C": True, "I": False, "N": False, True: True, False: False}


def read_sample(sample: dict[str, Any], log_facts: dict[str, Any], bundle: Bundle, path: str) -> Draft:
    """The draft of a sample; see `docs/formats.md` for what is taken from where."""
    reader = _Sample(sample, beside(bundle, path))
    source_id = as_text(sample.get("id")) or "0"
    facts = log_facts | gather(sample.get("metadata"), sample.get("store"))
    facts.setdefault("label", _label(sample.get("target")))
    draft = draft_episode(
        reader.messages(), source_id, {k: v for k, v in facts.items() if v is not None}, path
    )
    draft.open_file = reader.open_file
    _read_scores(draft, sample.get("scores"))
    _read_ending(draft, sample)
    for number, retry in enumerate(sample.get("error_retries") or []):
        error = as_text(retry.get("message")) if isinstance(retry, dict) else as_text(retry)
        draft.episode.attempts.append(Attempt(step=0, attempt=number, error=error))
    if reader.missing:
        draft.note("missing_field", f"{reader.missing} attachments are not in the sample")
    return draft


def _label(target: Any) -> str | None:
    if isinstance(target, list):
        target = target[0] if len(target) == 1 else None
    return as_text(target) or None


def _read_ending(draft: Draft, sample: Mapping[str, Any]) -> None:
    episode = draft.episode
    episode.repeat = max(0, (whole(sample.get("epoch")) or 1) - 1)
    episode.started = read_time(sample.get("started_at")) or episode.started
    episode.duration = finite(sample.get("total_time")) or episode.duration
    error = sample.get("error")
    episode.error = as_text(error.get("message")) if isinstance(error, dict) else as_text(error)
    limit = sample.get("limit")
    if isinstance(limit, dict):
        episode.termination_raw = f"limit: {as_text(limit.get('type'))}"
    if "completed_at" not in sample and "total_time" not in sample and not sample.get("scores"):
        episode.complete = episode.error is not None or bool(draft.answers)


def _read_scores(draft: Draft, scores: Any) -> None:
    """Verdict and answer of the first score; what is not finite is no verdict."""
    for name, score in scores.items() if isinstance(scores, dict) else ():
        value = score.get("value") if isinstance(score, dict) else score
        if isinstance(value, float) and finite(value) is None:
            draft.note("non_finite", f"score {name} is {value!r}", f"scores.{name}")
        elif draft.episode.success is None:
            draft.episode.success = _verdict(value)
            answer = score.get("answer") if isinstance(score, dict) else None
            if answer and (draft.answers or str(answer).isdigit()):
                draft.facts.setdefault("answer", answer)


def _verdict(value: Any) -> bool | None:
    if isinstance(value, (str, bool)):
        return _CORRECT.get(value)
    number = finite(value)
    return None if number is None or number not in (0, 1) else bool(number)


class _Sample:
    def __init__(self, sample: Mapping[str, Any], open_file: Opener) -> None:
        self.sample, self.open_file = sample, open_file
        self.missing = 0
        attachments = sample.get("attachments")
        self.attachments: Any = attachments if isinstance(attachments, (dict, list)) else {}
        pools = sample.get("events_data")
        self.pool = pools.get("messages") if isinstance(pools, dict) else None

    def messages(self) -> list[Message]:
        """The conversation; from the model's calls where they say more than it."""
        conversation = self.sample.get("messages")
        conversation = conversation if isinstance(conversation, list) else []
        events: list[Any] = [
            e for e in self.sample.get("events") or [] if isinstance(e, dict) and e.get("event") == "model"
        ]
        replies = sum(isinstance(m, dict) and m.get("role") == "assistant" for m in conversation)
        if len([event for event in events if not event.get("error")]) > replies:
            thread = Thread(None, {})
            for exchange in self._exchanges(events):
                thread.add(exchange, [mark(message) for message in exchange.request], self._message)
            return join_replies(thread.messages)
        messages = [self._message(raw) for raw in conversation]
        self._add_calls(messages, events)
        return messages

    def _exchanges(self, events: list[Mapping[str, Any]]) -> Iterator[Exchange]:
        failed: list[str] = []
        for event in events:
            raw = _output_message(event)
            if raw is None:
                failed.append(as_text(event.get("error")) or "no output")
                continue
            reply = self._message(raw)
            reply.retries, failed = failed, []
            _add_call(reply, event)
            yield Exchange(self._input(event), reply)

    def _input(self, event: Mapping[str, Any]) -> list[Any]:
        refs, listed = event.get("input_refs"), event.get("input")
        if not isinstance(refs, list) or not isinstance(self.pool, list):
            return listed if isinstance(listed, list) else []
        return [message for start, end in refs for message in self.pool[start:end]]

    def _add_calls(self, messages: list[Message], events: list[Mapping[str, Any]]) -> None:
        """Usage and times of the model calls go to the replies that they made; failed calls before them are retries."""
        by_id = _replies_by_id([message for message in messages if message.role == "assistant"], events)
        failed: list[str] = []
        for event in events:
            raw = _output_message(event)
            message = by_id.get(as_text(raw.get("id"))) if raw else None
            if event.get("error"):
                failed.append(as_text(event["error"]) or "failed")
            elif message is not None:
                message.retries, failed = failed, []
                _add_call(message, event)

    def _message(self, raw: Any) -> Message:
        if isinstance(raw, dict):
            raw = raw | {name: self._resolve(raw[name]) for name in _CARRIERS if name in raw}
        return read_message(raw, self.open_file)

    def _resolve(self, value: Any) -> Any:
        """The value with attachments put back in; what has none is handed back as it is."""
        if isinstance(value, str):
            return self._attachment(value) if value.startswith(_REFERENCES) else value
        if isinstance(value, dict):
            for name, item in value.items():
                # Most values are plain strings: a call for each would take as long as all the rest.
                if type(item) is str and not item.startswith(_REFERENCES) or not isinstance(item, _NESTED):
                    continue
                if (resolved := self._resolve(item)) is not item:
                    value = value | {name: resolved}
            return value
        if isinstance(value, list):
            resolved = [self._resolve(item) for item in value]
            return value if all(map(is_, resolved, value)) else resolved
        return value

    def _attachment(self, value: str) -> str:
        name = value.partition("://")[2]
        if isinstance(self.attachments, list):
            number = int(name) if name.isdigit() else -1
            found = self.attachments[number] if 0 <= number < len(self.attachments) else None
        else:
            found = self.attachments.get(name)
        if not isinstance(found, str):
            self.missing += 1
            return value
        return found


def _output_message(event: Mapping[str, Any]) -> Mapping[str, Any] | None:
    output = event.get("output")
    choices = output.get("choices") if isinstance(output, dict) else None
    message = choices[0].get("message") if choices and isinstance(choices[0], dict) else None
    return message if isinstance(message, dict) else None


def _replies_by_id(replies: list[Message], events: list[Mapping[str, Any]]) -> dict[str | None, Message]:
    """Replies by the id that the model's output has in the events."""
    by_id = {message.source_id: message for message in replies}
    if len(by_id) == len(replies):
        return by_id
    # Chunked samples keep equal replies once, under one id: then they are told apart by their order.
    outputs = [raw for event in events if (raw := _output_message(event)) and not event.get("error")]
    if len(outputs) != len(replies):
        return by_id
    return {as_text(raw.get("id")): message for raw, message in zip(outputs, replies, strict=True)}


def _add_call(message: Message, event: Mapping[str, Any]) -> None:
    output = event.get("output")
    if isinstance(output, dict):
        message.usage = exclusive_usage(output.get("usage"))
        message.latency = finite(output.get("time"))
    message.time = read_time(event.get("timestamp"))
    if message.latency is None:
        message.latency = finite(event.get("working_time"))
