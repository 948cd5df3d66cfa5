import json

from scripted import actions, assert_same, jsonl, read, tool_calls


def image(script, glimpse):
    return {"type": "image_url", "image_url": {"url": script.uri(glimpse)}}


def tool_conversation(script):
    messages = [{"role": "user", "content": [{"type": "text", "text": "look"}, image(script, 0)]}]
    for number, (name, arguments, glimpse) in enumerate(tool_calls(script)):
        call = {
            "id": f"c{number}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        content = "ok" if glimpse is None else [{"type": "text", "text": "moved"}, image(script, glimpse)]
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": content})
    return {"messages": messages, "model": "m", **script.facts}


def turns(script, horizon=1):
    """One request a turn with the last pictures, as a turn-based runner sends them."""
    for turn, reply in enumerate(actions(script)):
        pictures = [image(script, g) for g in range(max(0, turn - horizon + 1), turn + 1)]
        request = {
            "model": "m",
            "messages": [{"role": "user", "content": [{"type": "text", "text": str(turn)}, *pictures]}],
        }
        usage = {"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 40}}
        response = {
            "choices": [{"message": {"role": "assistant", "content": reply}}],
            "usage": usage,
            "created": 1_700_000_000,
        }
        yield {"request": request, "response": response, **script.facts}


def test_ten_tool_conversations(ten):
    """A tool's picture was delivered; windows come from the pictures, the canvas from the digit indices."""
    result = read(jsonl(*map(tool_conversation, ten)), "openai")
    assert_same(result, ten)
    assert [run.geometry() for run in result.runs] == [result.runs[0].geometry()]
    assert (result.runs[0].window, result.runs[0].stride, result.runs[0].panel) == (64, 32, 224)
    assert "windows_recovered" in result.codes() and len(result.images) > 20


def test_ten_turn_based(ten):
    """Model calls are woven into episodes; of four pictures in a turn only the last is new (row 8)."""
    for horizon in (1, 4):
        result = read(jsonl(*(record for script in ten for record in turns(script, horizon))), "openai")
        # The last picture of the episode without an answer was never in a request: nobody saw it.
        assert_same(result, ten, {"shown", "n_glimpses", "image"})
        last = result.episode("ep9")
        assert [step.shown for step in last.steps] == [True, False]
        assert result.episode("ep1").tokens_input == 60 * 8
        assert result.episode("ep1").tokens_cache_read == 40 * 8
