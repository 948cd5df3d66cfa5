import json

import pytest
from scripted import assert_same, jsonl, read, tool_calls


def block(script, glimpse, media="media_type"):
    return {"type": "image", "source": {"type": "base64", media: "image/png", "data": script.b64(glimpse)}}


def conversation(script, media="media_type"):
    messages = [{"role": "user", "content": [{"type": "text", "text": "look"}, block(script, 0, media)]}]
    for number, (name, arguments, glimpse) in enumerate(tool_calls(script)):
        use = {
            "type": "tool_use",
            "id": f"t{number}",
            "name": f"mcp__activeglimpse__{name.split('_')[-1]}",
            "input": arguments,
        }
        thinking = {"type": "thinking", "thinking": f"thought {number}", "signature": "x"}
        messages.append({"role": "assistant", "content": [thinking, {"type": "text", "text": "I go."}, use]})
        content = [
            {"type": "text", "text": "done"},
            *([] if glimpse is None else [block(script, glimpse, media)]),
        ]
        messages.append(
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": f"t{number}", "content": content}],
            }
        )
    return {"model": "claude", "system": "s", "messages": messages, **script.facts}


def test_ten_episodes(ten):
    result = read(jsonl(*map(conversation, ten)), "anthropic")
    assert_same(result, ten)
    texts = result.episode("ep0").step_texts
    assert [text.thought for text in texts][:2] == ["thought 0\nI go.", "thought 1\nI go."]
    assert [call.tool for call in result.episode("ep0").tool_calls][-1] == "mcp__activeglimpse__submit"


@pytest.mark.parametrize("media", ["media_type", "mime_type", "mimeType"])
def test_spellings_of_media_type(ten, media):
    """Row 7: three spellings of the same picture all decode."""
    assert_same(read(jsonl(*(conversation(script, media) for script in ten)), "anthropic"), ten)


def test_usage_excludes_cache(ten):
    """Model calls: input tokens exclude cached ones; each call's usage is counted once."""
    messages, records = conversation(ten[0])["messages"], []
    for number in range(1, len(messages), 2):
        usage = {
            "input_tokens": 10,
            "cache_read_input_tokens": 5,
            "cache_creation_input_tokens": 2,
            "output_tokens": 3,
        }
        response = {
            **messages[number],
            "type": "message",
            "model": "claude",
            "stop_reason": "tool_use",
            "usage": usage,
        }
        records.append({"request": {"model": "claude", "messages": messages[:number]}, "response": response})
    episode = read(jsonl(*records), "anthropic").episode()
    calls = len(records)
    assert (episode.tokens_input, episode.tokens_cache_read, episode.tokens_cache_write) == (
        10 * calls,
        5 * calls,
        2 * calls,
    )
    assert episode.n_moves == 2 and [step.shown for step in episode.steps][:1] == [True]


def test_document_of_one_conversation(ten):
    """A pretty-printed JSON document is read like a line."""
    text = json.dumps(conversation(ten[2]), indent=1).encode()
    assert read(text, "anthropic", "log.json").episode().answer == ten[2].label
