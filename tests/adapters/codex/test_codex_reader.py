import json

from scripted import assert_same, jsonl, read, tool_calls


def rollout(script):
    def item(payload):
        return {"timestamp": "2026-11-29T10:00:00.000Z", "type": "response_item", "payload": payload}

    meta = {
        "id": script.id,
        "timestamp": "2026-11-29T10:00:00Z",
        "cwd": "/home/丽爱说",
        "cli_version": "0.128.0",
    }
    yield {"timestamp": "2026-11-29T10:00:00Z", "type": "session_meta", "payload": meta}
    yield {
        "timestamp": "2026-11-29T10:00:00Z",
        "type": "turn_context",
        "payload": {"model": "gpt-x", "cwd": "/"},
    }
    image = {"type": "input_image", "image_url": script.uri(0), "detail": "high"}
    yield item({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}, image]})
    yield {
        "type": "event_msg",
        "payload": {"type": "user_message", "message": "go", "images": [script.uri(0)]},
    }
    for number, (name, arguments, glimpse) in enumerate(tool_calls(script)):
        summary = [{"type": "summary_text", "text": f"plan {number}"}]
        yield item({"type": "reasoning", "summary": summary, "content": None, "encrypted_content": "x"})
        yield {"type": "event_msg", "payload": {"type": "agent_reasoning", "text": f"plan {number}"}}
        call = {
            "type": "function_call",
            "name": name,
            "arguments": json.dumps(arguments),
            "call_id": f"c{number}",
        }
        yield item(call)
        output = "done" if glimpse is None else [{"type": "input_image", "image_url": script.uri(glimpse)}]
        yield item({"type": "function_call_output", "call_id": f"c{number}", "output": output})
        usage = {
            "input_tokens": 100,
            "cached_input_tokens": 60,
            "output_tokens": 9,
            "reasoning_output_tokens": 4,
        }
        info = {"total_token_usage": {"input_tokens": 100 * (number + 1)}, "last_token_usage": usage}
        yield {"type": "event_msg", "payload": {"type": "token_count", "info": info}}


def files(ten):
    truths = jsonl(*({**script.facts, "session": script.id} for script in ten))
    return {f"丽爱说/rollout-{s.id}.jsonl": jsonl(*rollout(s)) for s in ten} | {
        "丽爱说/episodes.jsonl": truths
    }


def test_ten_rollouts(ten):
    """Events that repeat items are not counted twice; names outside ASCII are read (row 26)."""
    result = read(files(ten), "codex", "sessions")
    assert_same(result, ten)
    (run,) = result.runs
    assert (run.model, run.agent, run.source_version) == ("gpt-x", "codex", "0.128.0")


def test_tokens(ten):
    episode = read(jsonl(*rollout(ten[0])), "codex").episode()
    assert (episode.tokens_input, episode.tokens_cache_read, episode.tokens_reasoning) == (120, 180, 12)
    assert episode.step_texts[1].thought == "plan 1"
    assert [call.call_id for call in episode.tool_calls] == ["c0", "c1", "c2"]
