import json

import pytest
from scripted import assert_same, read, tool_calls

from mnistpro_replay.traces.adapters.atif.write import write
from mnistpro_replay.traces.adapters.export import Export
from mnistpro_replay.traces.ingest import NothingFound, ingest
from mnistpro_replay.traces.store import Store
from mnistpro_replay.traces.world import embedded


def trajectory(script, version="ATIF-v1.6", linked=True):
    def part(glimpse):
        source = {"media_type": "image/png", "path": f"images/step_{glimpse}_screenshot.png"}
        return {"type": "image", "source": source}

    steps = [{"step_id": 1, "source": "user", "message": [{"type": "text", "text": "go"}, part(0)]}]
    for number, (name, arguments, glimpse) in enumerate(tool_calls(script)):
        call_id = f"a/b+c__thought__{number}"
        result = {"content": "ok" if glimpse is None else [part(glimpse)]}
        if linked:
            result["source_call_id"] = call_id
        steps.append(
            {
                "step_id": number + 2,
                "timestamp": "2026-11-29T10:00:00Z",
                "source": "agent",
                "message": "I go.",
                "reasoning_content": f"plan {number}",
                "tool_calls": [{"tool_call_id": call_id, "function_name": name, "arguments": arguments}],
                "observation": {"results": [result]},
                "metrics": {
                    "prompt_tokens": 100,
                    "cached_tokens": 80,
                    "completion_tokens": 7,
                    "cost_usd": 0.01,
                },
            }
        )
    agent = {"name": "terminus", "version": "1", "model_name": "m"}
    return {
        "schema_version": version,
        "session_id": script.id,
        "agent": agent,
        "steps": steps,
        "extra": script.facts,
    }


def files(script, document=None):
    folder = f"trial_{script.id}/agent"
    pictures = {f"{folder}/images/step_{g}_screenshot.png": script.png(g) for g in range(len(script.windows))}
    text = json.dumps(document or trajectory(script)).encode()
    return pictures | {f"{folder}/trajectory.json": text, f"trial_{script.id}/result.json": b"{}"}


@pytest.mark.parametrize("version", ["ATIF-v1.0", "ATIF-v1.6", "ATIF-v1.7"])
def test_ten_trials(ten, version):
    """A job's folder is one run; pictures are read from the files that the steps name."""
    every = {k: v for script in ten for k, v in files(script, trajectory(script, version)).items()}
    result = read(every, "atif", "job")
    assert_same(result, ten)
    (run,) = result.runs
    assert (run.agent, run.model, run.source_version) == ("terminus", "m", version)
    episode = result.episode("ep0")
    assert (episode.tokens_input, episode.tokens_cache_read, episode.cost) == (60, 240, pytest.approx(0.03))


def test_results_without_a_call_id(ten):
    """Row 21: results that name no call go to the oldest open one; a result without any call is reported."""
    document = trajectory(ten[4], linked=False)
    document["steps"].append(
        {"step_id": 99, "source": "agent", "message": "", "observation": {"results": [{"content": "?"}]}}
    )
    result = read(files(ten[4], document), "atif", "job")
    assert_same(result, [ten[4]])
    assert "orphan_result" in result.codes()


@pytest.mark.parametrize("metrics", ["oops", {"prompt_tokens": "abc"}])
def test_wrong_metrics(ten, metrics):
    """Row 19: wrong types are reported with their path; the step is kept."""
    document = trajectory(ten[0])
    document["steps"][1]["metrics"] = metrics
    result = read(files(ten[0], document), "atif", "job")
    (problem,) = [p for p in result.diagnostics if p.code == "invalid_value"]
    assert problem.position == "steps[1].metrics" + (".prompt_tokens" if isinstance(metrics, dict) else "")
    assert_same(result, ten[:1])


def test_copied_context(ten):
    """Row 20: copied steps count neither as steps nor in tokens."""
    document = trajectory(ten[0])
    document["steps"][1:1] = [{**step, "is_copied_context": True} for step in document["steps"][1:3]]
    result = read(files(ten[0], document), "atif", "job")
    assert_same(result, ten[:1])
    assert result.episode().tokens_output == 21 and "copied_context" in result.codes()


def test_whole_trial_as_one_step(ten):
    """Row 22: an episode in one step says so."""
    document = trajectory(ten[0])
    document["steps"] = [{"step_id": 1, "source": "agent", "message": "I looked around; it is a 3."}]
    result = read(files(ten[0], document), "atif", "job")
    assert "not_a_step_trace" in result.codes() and result.episode().steps == []


def test_unknown_tool(ten):
    """Row 37: an unknown action is kept and shown as such."""
    document = trajectory(ten[0])
    call = {"tool_call_id": "z", "function_name": "zoom", "arguments": {"factor": 2}}
    document["steps"].insert(2, {"step_id": 9, "source": "agent", "message": "", "tool_calls": [call]})
    result = read(files(ten[0], document), "atif", "job")
    assert [step.action_kind for step in result.episode().steps] == ["move", "unknown", "move", "answer"]
    assert result.episode().n_actions == 4 and "unknown_action" in result.codes()


def test_newer_version_is_read_and_reported(ten):
    """Row 16: what the reader knows comes in, with the advice to upgrade."""
    result = read(files(ten[0], trajectory(ten[0], "ATIF-v9.0")), "atif", "job")
    assert "unknown_version" in result.codes() and len(result.episodes) == 1


def test_missing_picture(ten):
    every = files(ten[0])
    del every["trial_ep0/agent/images/step_1_screenshot.png"]
    episode = (result := read(every, "atif", "job")).episode()
    assert [step.image_status for step in episode.steps] == ["missing", "present", "missing"]
    assert "image_missing" in result.codes() and episode.windows() == ten[0].windows


def test_round_trip(ten, tmp_path):
    """Store to ATIF and back: the same episodes, also with recorded pictures."""
    source = tmp_path / "job"
    for script in ten:
        for name, data in files(script).items():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes(data)
    store = Store(tmp_path / "store", create=True)
    ingest(store, [source], embedded(), name="first")
    export = Export(store, store.run("first"))
    assert write(export, tmp_path / "out") == 10
    ingest(store, [tmp_path / "out"], embedded(), name="second")
    first, second = store.episodes("first"), store.episodes("second")
    for before, script in zip(first, ten, strict=True):
        assert before.start == script.start
    from scripted import canonical

    assert [canonical(e) for e in first] == [canonical(e) for e in second]


def test_nothing_readable_is_an_error(tmp_path):
    (tmp_path / "trajectory.json").write_text('{"schema_version": "ATIF-v1.5", "steps": ')
    with pytest.raises(NothingFound, match="every record was skipped"):
        ingest(Store(tmp_path / "s", create=True), [tmp_path / "trajectory.json"], embedded())
