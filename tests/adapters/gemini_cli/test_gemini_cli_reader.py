import json

from scripted import assert_same, jsonl, read, tool_calls


def head(script, **more):
    return {
        "sessionId": script.id,
        "projectHash": "h",
        "startTime": "2026-11-29T10:00:00Z",
        "lastUpdated": "x",
        **more,
    }


def messages(script):
    inline = {"inlineData": {"mimeType": "image/png", "data": script.b64(0)}}
    yield {
        "id": "m",
        "timestamp": "2026-11-29T10:00:00Z",
        "type": "user",
        "content": [{"text": "go"}, inline],
    }
    for number, (name, arguments, glimpse) in enumerate(tool_calls(script)):
        parts = [{"functionResponse": {"id": f"c{number}", "name": name, "response": {"output": "ok"}}}]
        if glimpse is not None:
            parts.append({"inlineData": {"mimeType": "image/png", "data": script.b64(glimpse)}})
        call = {"id": f"c{number}", "name": name, "args": arguments, "result": parts, "status": "success"}
        tokens = {"input": 50, "output": 6, "cached": 20, "thoughts": 2, "tool": 0, "total": 58}
        yield {
            "id": f"m{number}",
            "timestamp": "2026-11-29T10:00:01Z",
            "type": "gemini",
            "content": "",
            "thoughts": [{"subject": "Plan", "description": f"{number}"}],
            "toolCalls": [call],
            "tokens": tokens,
            "model": "gemini-x",
        }


def truths(ten):
    return {"episodes.jsonl": jsonl(*({**script.facts, "session": script.id} for script in ten))}


def test_ten_chats(ten):
    files = {f"session-{s.id}.jsonl": jsonl(head(s), *messages(s)) for s in ten}
    result = read(files | truths(ten), "gemini_cli", "chats")
    assert_same(result, ten)
    episode = result.episode("ep0")
    assert (episode.tokens_input, episode.tokens_cache_read) == (90, 60)
    assert episode.step_texts[0].thought == "Plan: 0"


def test_older_documents(ten):
    """One JSON object a session, as older versions write it."""
    files = {f"session-{s.id}.json": json.dumps(head(s, messages=list(messages(s)))).encode() for s in ten}
    assert_same(read(files | truths(ten), "gemini_cli", "chats"), ten)


def test_batches_rewinds_and_overwrites(ten):
    """Row 29: `$set` replaces, a bare record with a known id overwrites, `$rewindTo` takes back."""
    all_of_it = list(messages(ten[0]))
    wrong = {**all_of_it[1], "id": "later"}
    data = jsonl(
        head(ten[0]),
        {"$set": {"messages": all_of_it[:1]}},
        {**all_of_it[1], "toolCalls": []},
        *all_of_it[1:2],
        wrong,
        {"$rewindTo": "later"},
        *all_of_it[2:],
    )
    episode = read(data, "gemini_cli").episode()
    assert [step.direction for step in episode.steps] == ["right", "down", None]


def test_two_files_of_one_session(ten):
    """Row 29: the same session in two files comes in once; another start is another session."""
    same = jsonl(head(ten[0]), *messages(ten[0]))
    other = jsonl(head(ten[0]) | {"startTime": "2026-11-30T10:00:00Z"}, *messages(ten[0]))
    result = read({"a.jsonl": same, "b.jsonl": same, "c.jsonl": other}, "gemini_cli", "chats")
    assert [episode.episode_id for episode in result.episodes] == ["ep0", "ep0~2"]
    assert {"redundant_record", "duplicate_episode_id"} <= result.codes()


def test_unknown_rewind_clears(ten):
    result = read(jsonl(head(ten[0]), *messages(ten[0]), {"$rewindTo": "nowhere"}), "gemini_cli")
    assert result.episodes == []
