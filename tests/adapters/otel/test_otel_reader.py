import json

from scripted import assert_same, jsonl, read, tool_calls


def blob(script, glimpse):
    return {"type": "blob", "modality": "image", "mime_type": "image/png", "content": script.b64(glimpse)}


def gen_ai_spans(script):
    """Spans of the GenAI conventions: each call repeats the conversation."""
    history = [{"role": "user", "parts": [{"type": "text", "content": "go"}, blob(script, 0)]}]
    for number, (name, arguments, glimpse) in enumerate(tool_calls(script)):
        call = {"type": "tool_call", "id": f"c{number}", "name": name, "arguments": arguments}
        output = [
            {
                "role": "assistant",
                "parts": [{"type": "reasoning", "content": f"plan {number}"}, call],
                "finish_reason": "tool_call",
            }
        ]
        yield {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "m",
            "gen_ai.conversation.id": script.id,
            "gen_ai.usage.input_tokens": 50,
            "gen_ai.usage.cache_read.input_tokens": 20,
            "gen_ai.usage.output_tokens": 3,
            "gen_ai.input.messages": json.dumps(history),
            "gen_ai.output.messages": json.dumps(output),
            "label": script.label,
            "digit_indices": [script.index],
        }
        response = {
            "type": "tool_call_response",
            "id": f"c{number}",
            "response": "ok" if glimpse is None else [blob(script, glimpse)],
        }
        history = [*history, *output, {"role": "tool", "parts": [response]}]
        # The last answer's result is in no later request.


def open_inference_spans(script):
    messages = [
        {"role": "user", "contents.0.message_content.type": "text", "contents.0.message_content.text": "go"}
    ]
    messages[0]["contents.1.message_content.image.image.url"] = script.uri(0)
    for number, (name, arguments, glimpse) in enumerate(tool_calls(script)):
        reply = {
            "role": "assistant",
            "tool_calls.0.tool_call.id": f"c{number}",
            "tool_calls.0.tool_call.function.name": name,
            "tool_calls.0.tool_call.function.arguments": json.dumps(arguments),
        }
        span = {"openinference.span.kind": "LLM", "llm.model_name": "m", "session.id": script.id}
        span |= {
            f"llm.input_messages.{i}.message.{k}": v for i, m in enumerate(messages) for k, v in m.items()
        }
        span |= {f"llm.output_messages.0.message.{k}": v for k, v in reply.items()}
        yield span | {"metadata": {"label": script.label, "digit_indices": [script.index]}}
        messages = [*messages, reply]
        if glimpse is not None:
            shown = {"role": "tool", "tool_call_id": f"c{number}"}
            shown["contents.0.message_content.image.image.url"] = script.uri(glimpse)
            messages = [*messages, shown]


def otlp(attributes, number):
    def value(given):
        if isinstance(given, bool):
            return {"boolValue": given}
        if isinstance(given, int):
            return {"intValue": str(given)}
        if isinstance(given, list):
            return {"arrayValue": {"values": [value(item) for item in given]}}
        if isinstance(given, dict):
            return {"kvlistValue": {"values": [{"key": k, "value": value(v)} for k, v in given.items()]}}
        return {"stringValue": given}

    span = {
        "traceId": "t",
        "spanId": f"{number}",
        "startTimeUnixNano": str(1_800_000_000_000_000_000 + number * 10**9),
        "endTimeUnixNano": str(1_800_000_000_500_000_000 + number * 10**9),
        "attributes": [{"key": k, "value": value(v)} for k, v in attributes.items()],
    }
    return {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}


def lines(ten, make):
    return jsonl(*(otlp(a, n) for n, a in enumerate(a for script in ten for a in make(script))))


def test_ten_conversations_in_gen_ai_spans(ten):
    """A picture that no later request holds is not recorded: the last move of the unanswered episode."""
    result = read(lines(ten[:9], gen_ai_spans), "otel")
    assert_same(result, ten[:9])
    episode = result.episode("ep0")
    assert (episode.tokens_input, episode.tokens_cache_read, episode.tokens_output) == (90, 60, 9)
    assert episode.steps[0].model_latency == 0.5 and episode.step_texts[0].thought == "plan 0"
    assert result.runs[0].model == "m"


def test_ten_sessions_in_open_inference_spans(ten):
    assert_same(read(lines(ten[:9], open_inference_spans), "otel"), ten[:9])


def test_pictures_that_were_redacted(ten):
    """Phoenix replaces pictures that are too large."""
    spans = [
        json.loads(json.dumps(s).replace(ten[0].uri(1), "__REDACTED__")) for s in open_inference_spans(ten[0])
    ]
    result = read(jsonl(*(otlp(a, n) for n, a in enumerate(spans))), "otel")
    assert result.episode().steps[0].image_status == "redacted"
    assert "image_redacted" in result.codes() and result.episode().windows() == ten[0].windows
