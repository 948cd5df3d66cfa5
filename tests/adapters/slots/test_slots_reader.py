import json

from scripted import canonical, collect, tool_calls

from mnistpro_replay.traces.adapters import MemoryBundle, adapter, detect
from mnistpro_replay.traces.world import embedded


def slot(script, position, **more):
    calls = []
    for name, arguments, glimpse in tool_calls(script):
        result = (
            "ok"
            if glimpse is None
            else [{"type": "image", "data": script.b64(glimpse), "mimeType": "image/png"}]
        )
        calls.append(
            {"tool": name.split("_")[-1], "arguments": arguments, "result": result, "is_error": False}
        )
    look = {"tool": "view_image", "arguments": {"path": "a.png"}, "is_error": False}
    look["result"] = [{"type": "image", "data": script.b64(0), "mimeType": "image/png"}]
    return {
        "execution_position": position,
        "episode_id": script.number,
        "level": 1,
        "arm": "A1",
        "validity": "VALID",
        "answer": None if script.answer is None else script.episode.answer or "-1",
        "ground_truth_label": script.label,
        "correctness": script.episode.correct,
        "counters": {"moves": len(script.directions)},
        "tool_calls": [look, *calls],
        "model": {"label": "M", "api_model": "m-1", "thinking_level": "high", "transport": "mcp"},
        "elapsed_seconds": 3.5,
        "error": None,
        **more,
    }


def suite(ten):
    order = list(reversed(ten))
    files = {
        f"traces/slot_{n:03d}/episode.json": json.dumps(slot(s, n)).encode() for n, s in enumerate(order)
    }
    schedule = [
        {"execution_position": n, "episode_id": s.number, "indices": [s.index]} for n, s in enumerate(order)
    ]
    files["schedule_manifest.json"] = json.dumps({"execution_schedule": schedule}).encode()
    files["notes_history/ep_003.md"] = b"look at the top first"
    files["progress.jsonl"] = b"{}\n"
    return files


def read(files):
    bundle = MemoryBundle("suite", files)
    assert detect(bundle).name == "slots"
    return collect(adapter("slots").read(bundle, embedded()))


def test_ten_slots(ten):
    """Digits come from the schedule, notes from their folder; a look is a call, neither step nor glimpse."""
    result = read(suite(ten))
    without = {"source_episode_id"}
    for position, script in enumerate(reversed(ten)):
        episode = result.episode(str(script.number))
        assert canonical(episode, without) == canonical(script.episode, without)
        assert (episode.execution_position, episode.duration) == (position, 3.5)
        assert episode.tool_calls[0].tool == "view_image" and episode.tool_calls[0].step is None
    (run,) = result.runs
    assert (run.arm, run.harness, run.model, run.settings["thinking_level"]) == ("A1", "mcp", "m-1", "high")
    assert [note.text for note in result.episode("6").notes] == ["look at the top first"]


def test_broken_slot(ten):
    """One bad slot does not lose another; an invalid one says so."""
    files = suite(ten) | {"traces/slot_000/episode.json": b'{"episode_id": '}
    files["traces/slot_001/episode.json"] = json.dumps(
        slot(ten[8], 1, validity="INVALID", error="boom")
    ).encode()
    result = read(files)
    assert len(result.episodes) == 9 and {"truncated_file", "run_incomplete"} <= result.codes()
    assert result.episode("8").stop_reason == "error"
