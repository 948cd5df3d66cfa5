import json
from itertools import count

import pytest
from scripted import assert_same, jsonl, read, tool_calls

from mnistpro_replay.traces.adapters import MemoryBundle


def image(script, glimpse):
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": script.b64(glimpse)},
    }


def session(script, split=True):
    """Lines as Claude Code writes them: one reply is several lines with one message id."""
    ids = count()

    def line(kind, message, **more):
        number = next(ids)
        return {
            "parentUuid": None if not number else f"u{number - 1}",
            "isSidechain": False,
            "userType": "external",
            "cwd": "/home/someone/project",
            "sessionId": script.id,
            "version": "2.1.0",
            "type": kind,
            "message": message,
            "uuid": f"u{number}",
            "timestamp": f"2026-11-29T10:00:{number % 60:02d}.000Z",
            **more,
        }

    yield line("user", {"role": "user", "content": [{"type": "text", "text": "go"}, image(script, 0)]})
    for number, (name, arguments, glimpse) in enumerate(tool_calls(script)):
        use = {
            "type": "tool_use",
            "id": f"t{number}",
            "name": f"mcp__activeglimpse__{name.split('_')[-1]}",
            "input": arguments,
        }
        blocks = [{"type": "thinking", "thinking": f"plan {number}"}, {"type": "text", "text": "I go."}, use]
        for position, block in enumerate(blocks):
            usage = {"input_tokens": 3, "cache_read_input_tokens": 7, "output_tokens": (1, 1, 40)[position]}
            message = {
                "id": f"m{number}",
                "role": "assistant",
                "model": "claude-x",
                "content": [block],
                "usage": usage,
            }
            yield line("assistant", message, requestId=f"r{number}")
        content = [{"type": "text", "text": "ok"}, *([] if glimpse is None else [image(script, glimpse)])]
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": content}
        yield line("user", {"role": "user", "content": [result]}, toolUseResult=content)


def files(ten, suffix=".jsonl"):
    truths = jsonl(*({**script.facts, "session": script.id} for script in ten))
    return {f"{script.id}{suffix}": jsonl(*session(script)) for script in ten} | {"episodes.jsonl": truths}


def test_ten_sessions(ten):
    """A folder of sessions is one run; labels come from the file beside them."""
    result = read(files(ten), "claude_code", "sessions")
    assert_same(result, ten)
    (run,) = result.runs
    assert (run.model, run.harness, run.source_version) == ("claude-x", "mcp", "2.1.0")


def test_tokens_are_counted_once(ten):
    """Row 23: three lines of one reply are one step with the last usage."""
    episode = read(jsonl(*session(ten[0])), "claude_code").episode()
    assert [step.tokens_output for step in episode.steps] == [40, 40, 40]
    assert (episode.tokens_input, episode.tokens_cache_read, episode.tokens_output) == (9, 21, 120)
    assert episode.step_texts[0].thought == "plan 0\nI go."


def test_pictures_that_are_stored_twice(ten):
    """Row 5: the same picture in the result and in toolUseResult is one picture, one observation."""
    result = read(jsonl(*session(ten[0])), "claude_code")
    assert len(result.images) == result.episode().n_glimpses == 3


def test_rows_appended_again(ten):
    """Row 24: after a second compaction old rows come again with the same uuid."""
    lines = list(session(ten[0]))
    result = read(jsonl(*lines, *lines[2:6]), "claude_code")
    assert [step.direction for step in result.episode().steps] == ["right", "down", None]
    assert "redundant_record" in result.codes()


def test_malformed_lines(ten):
    """Row 25: a bad line in the middle and a cut tail are reported with their line, the rest is read."""
    lines = [json.dumps(line).encode() for line in session(ten[0])]
    lines.insert(3, b'{"type": "user", oops}')
    data = b"\n".join(lines) + b'\n{"type": "assistant", "mess'
    result = read(data, "claude_code")
    assert [step.direction for step in result.episode().steps] == ["right", "down", None]
    assert {(p.code, p.position) for p in result.diagnostics} >= {
        ("invalid_json", "line 4"),
        ("truncated_file", f"line {len(lines) + 1}"),
    }


def test_long_first_line(ten):
    """Row 27: a first line of 61 KB hides nothing."""
    first = {
        "type": "user",
        "sessionId": "s",
        "uuid": "u",
        "message": {"role": "user", "content": "x" * 61_000},
    }
    result = read(jsonl(first, *session(ten[3])), "claude_code")
    assert result.episode().n_moves == 4


@pytest.mark.parametrize("kinds", [("novel",), ("novel", "user")])
def test_unknown_line_types(ten, kinds):
    """Row 39: unknown types are skipped and counted; where nothing else is there, nothing comes in."""
    lines = [{"type": "novel", "sessionId": "s", "uuid": f"n{i}", "parentUuid": None} for i in range(30)]
    if "user" in kinds:
        lines += session(ten[0])
    result = read(jsonl(*lines), "claude_code")
    assert len(result.episodes) == ("user" in kinds)
    (problem,) = [p for p in result.diagnostics if p.code == "unknown_record"]
    assert "30 'novel'" in problem.message


def test_cleared_session_is_two_episodes(ten):
    clear = {
        "type": "user",
        "sessionId": "s",
        "uuid": "c",
        "message": {"role": "user", "content": "<command-name>/clear</command-name>"},
    }
    later = [
        {
            **line,
            "uuid": "b" + line["uuid"],
            "message": {**line["message"], "id": "b" + line["message"].get("id", "")},
        }
        for line in session(ten[4])
    ]
    result = read(jsonl(*session(ten[0]), clear, *later), "claude_code")
    assert [len(episode.steps) for episode in result.episodes] == [3, 6]


def test_partial_canvas(ten):
    """Without labels the canvas is put together from the glimpses, marked, and joins nothing."""
    result = read(jsonl(*session(ten[0])), "claude_code")
    episode = result.episode()
    assert result.canvases[episode.canvas].known is not None
    assert (episode.label, episode.correct, episode.world_key) == (None, None, None)
    assert episode.reasons["canvas"] == "canvas_partial" and episode.reasons["label"] == "label_unknown"
    assert episode.windows() == ten[0].windows


def test_empty_file_among_sessions(ten):
    """Row 28: an empty file is reported, the others are read."""
    result = read(files(ten) | {"empty.jsonl": b""}, "claude_code", "sessions")
    assert len(result.episodes) == 10 and "empty_file" in result.codes()


def test_bundle_of_two_formats_is_not_one_source(ten):
    from mnistpro_replay.traces.adapters import detect

    mixed = files(ten) | {"other.jsonl": b'{"messages": [{"role": "user", "content": "x"}]}\n'}
    assert detect(MemoryBundle("mixed", mixed)) is None
