import io
import json
import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import assert_same, canonical, collect, read

from mnistpro_replay.schemas import extras
from mnistpro_replay.traces.adapters import MemoryBundle, adapter
from mnistpro_replay.traces.adapters.inspect.archive import Archive
from mnistpro_replay.traces.ingest import ingest
from mnistpro_replay.traces.store import Store
from mnistpro_replay.traces.world import embedded

sys.path.insert(0, str(Path(__file__).parent))

START = {"version": 2, "eval": {"task": "t", "model": "m", "eval_id": "e"}, "plan": {}}


def sample(script, **more):
    """A sample as Inspect writes it: a picture of its own is an attachment of the sample."""
    attachments, messages = {}, []

    def image(glimpse):
        attachments[f"{glimpse:032x}"] = script.uri(glimpse)
        return {"type": "image", "image": f"attachment://{glimpse:032x}", "detail": "auto"}

    messages.append({"role": "user", "content": [{"type": "text", "text": "go"}, image(0)]})
    for number, direction in enumerate(script.directions, start=1):
        call = {
            "id": f"c{number}",
            "function": "move",
            "arguments": {"direction": direction},
            "type": "function",
        }
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": [image(number)]})
    if script.answer is not None:
        call = {"id": "s", "function": "submit", "arguments": {"answer": script.answer}}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
    record = {
        "id": script.id,
        "epoch": 1,
        "target": script.label,
        "messages": messages,
        "attachments": attachments,
    }
    return record | {"metadata": {"digit_indices": [script.index]}, "total_time": 1.0} | more


def log_file(samples, header=True, method=zipfile.ZIP_DEFLATED, names=None):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr("_journal/start.json", json.dumps(START))
        for number, record in enumerate(samples):
            name = names[number] if names else f"{record['id']}_epoch_{record['epoch']}"
            archive.writestr(f"samples/{name}.json", json.dumps(record))
        if header:
            archive.writestr("header.json", json.dumps(START | {"status": "success"}))
    return buffer.getvalue()


def test_ten_samples(ten):
    assert_same(read(log_file(map(sample, ten)), "inspect", "log.eval"), ten)


def test_real_evaluation(ten, tmp_path):
    """A log of the real inspect_ai (Zstandard, attachments, pools): the same episodes, seen turn by turn."""
    pytest.importorskip("inspect_ai")
    from inspect_logs import evaluate

    result = read(evaluate(ten, tmp_path), "inspect")
    assert_same(result, ten, {"shown", "n_glimpses"})
    assert [step.shown for step in result.episode("ep9").steps] == [True, False]
    for script in ten[:9]:
        assert result.episode(script.id).n_glimpses == script.episode.n_glimpses
    (run,) = result.runs
    assert (run.run, run.model) == ("glimpses", "mockllm/model") and run.created is not None
    assert result.episode("ep0").success is True and result.episode("ep3").success is False
    assert all(step.model_latency is not None for step in result.episode("ep0").steps)


@pytest.mark.parametrize("suffix", ["eval", "json"])
def test_real_writer(ten, tmp_path, suffix):
    """Tool-using samples written by the real inspect_ai, as zip and as JSON."""
    pytest.importorskip("inspect_ai")
    from inspect_ai.log import write_eval_log
    from inspect_logs import tool_log

    path = tmp_path / f"log.{suffix}"
    write_eval_log(tool_log(ten), str(path))
    result = read(path, "inspect")
    assert_same(result, ten)
    assert result.episode("ep0").step_texts[0].thought == "plan 0\nI go."


@pytest.fixture
def chunked(ten, tmp_path):
    """The tool-using samples in chunks of three messages, by Inspect's own converter."""
    pytest.importorskip("inspect_ai")
    convert = pytest.importorskip("inspect_ai.log._recorders.chunked").convert_eval_logs_to_chunked
    from inspect_ai.log import write_eval_log
    from inspect_logs import tool_log

    write_eval_log(tool_log(ten), str(tmp_path / "log.eval"))
    convert(str(tmp_path / "log.eval"), str(tmp_path / "out"), chunk_size=3, attachments_chunk_bytes=2000)
    return tmp_path / "out" / "log.eval"


def test_samples_in_chunks(ten, chunked):
    result = read(chunked, "inspect")
    assert_same(result, ten)
    assert result.episode("ep0").step_texts[0].thought == "plan 0\nI go."
    assert result.episode("ep0").success is True and result.codes() == {"windows_recovered"}


def test_real_evaluation_in_chunks(ten, tmp_path):
    """Model events in chunks say as much as events in one piece."""
    pytest.importorskip("inspect_ai")
    convert = pytest.importorskip("inspect_ai.log._recorders.chunked").convert_eval_logs_to_chunked
    from inspect_logs import evaluate

    path = evaluate(ten, tmp_path)
    convert(str(path), str(tmp_path / "out"), chunk_size=4, attachments_chunk_bytes=2000)
    whole, parts = read(path, "inspect").episodes, read(tmp_path / "out" / path.name, "inspect").episodes
    for step in (step for episode in [*whole, *parts] for step in episode.steps):
        # The converter keeps equal messages once, so that they have one id.
        step.source_step = None
    assert parts == whole and whole[1].tokens_input == 80


@pytest.mark.parametrize("lost", ["messages/3.json", "attachments/1.json", "sample.json"])
def test_lost_chunk(ten, chunked, lost):
    """What one sample lost harms no other, and what is left of it keeps its place."""
    buffer, whole = io.BytesIO(), Archive(chunked.open("rb"))
    assert f"samples/ep1_epoch_1/{lost}" in whole.names()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in whole.names():
            if name != f"samples/ep1_epoch_1/{lost}":
                archive.writestr(name, whole.read(name))
    result = read(buffer.getvalue(), "inspect", "log.eval")
    assert len(result.episodes) == (9 if lost == "sample.json" else 10)
    others = [script for script in ten if script.id != "ep1"]
    for script in others:
        assert canonical(result.episode(script.id)) == canonical(script.episode)
    assert result.codes() - {"windows_recovered"}
    if lost == "attachments/1.json":
        assert canonical(result.episode("ep1"))["start"] == ten[1].start


def test_json_under_another_name(ten):
    """Row 36: logs are known by content, not by name."""
    log = START | {"status": "success", "samples": [sample(script) for script in ten]}
    assert_same(read(json.dumps(log).encode(), "inspect", "mylog.txt"), ten)


def test_pictures_that_were_removed(ten):
    """Row 4: `log_images=False`; where the canvas is known, windows are followed from the moves."""
    record = sample(ten[0])
    record["attachments"] = {key: "<base64-data-removed>" for key in record["attachments"]}
    record["metadata"] |= {"window": 64, "stride": 32, "panel": 224}
    result = read(log_file([record]), "inspect", "log.eval")
    episode = result.episode()
    assert [step.image_status for step in episode.steps[:2]] == ["redacted", "redacted"]
    assert episode.windows() == ten[0].windows and "image_redacted" in result.codes()


def test_cut_off_file(ten, tmp_path):
    """Row 9: a file cut by 100 bytes is reported; others beside it come in."""
    whole = log_file(map(sample, ten))
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "cut.eval").write_bytes(whole[:-100])
    (tmp_path / "logs" / "whole.eval").write_bytes(whole)
    report = ingest(Store(tmp_path / "s", create=True), [tmp_path / "logs"], embedded())
    assert [run.episodes for run in report.runs] == [10]
    assert [problem.code for problem in report.diagnostics] == ["truncated_file"]


def test_crashed_run(ten):
    """Row 10: no header, only the journal's start and one sample."""
    result = read(log_file([sample(ten[0])], header=False), "inspect", "log.eval")
    assert_same(result, ten[:1])
    assert "run_incomplete" in result.codes() and result.runs[0].model == "m"


def test_zstandard_in_several_frames(ten):
    """Row 11: members with method 93, in more than one frame."""
    zstandard = pytest.importorskip("zstandard")
    text = json.dumps(sample(ten[0])).encode()
    compress = zstandard.ZstdCompressor().compress
    stored = log_file([sample(ten[0])], method=zipfile.ZIP_STORED)
    frames = compress(text[:1000]) + compress(text[1000:])
    data = _replace_member(stored, text, frames)
    assert_same(read(data, "inspect", "log.eval"), ten[:1])


def _replace_member(data: bytes, text: bytes, packed: bytes) -> bytes:
    """The zip with one stored member replaced by bytes of method 93."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive, zipfile.ZipFile(io.BytesIO(data)) as old:
        for info in old.infolist():
            content = old.read(info)
            archive.writestr(info.filename, packed if content == text else content)
            if content == text:
                made = archive.infolist()[-1]
                made.compress_type, made.file_size, made.CRC = 93, len(text), info.CRC
    return buffer.getvalue()


@pytest.mark.parametrize("before", [b"", b"something before the zip"])
@pytest.mark.parametrize("members", [0, 3, 66_000])
def test_directory_of_any_size(before, members):
    """The same members as the standard library finds, with a comment and wide numbers too."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = b"PK comment"
        for number in range(members):
            archive.writestr(f"samples/é{number}.json", str(number))
        with archive.open("wide", "w", force_zip64=True) as file:
            file.write(b"wide")
    ours = Archive(io.BytesIO(before + buffer.getvalue()))
    assert ours.names() == zipfile.ZipFile(buffer).namelist()
    assert all(ours.read(name) == name[9:-5].encode() for name in ours.names()[:-1:997])
    assert ours.read("wide") == b"wide"


@given(st.lists(st.tuples(st.integers(-110, 400), st.integers(0, 255)), min_size=1, max_size=4))
def test_damaged_archive(changes):
    """Whatever is wrong with a zip, the reader does not raise, and what it takes is as it was."""
    data = bytearray(log_file([{"id": number, "epoch": 1, "messages": []} for number in range(3)]))
    for place, value in changes:
        data[place] = value
    result = collect(adapter("inspect").read(MemoryBundle("log.eval", {"log.eval": bytes(data)}), embedded()))
    assert {episode.source_episode_id for episode in result.episodes} <= {"0", "1", "2"}


def test_zstandard_without_the_package(ten, monkeypatch):
    """Row 11: the error names the extra to install."""
    zstandard = pytest.importorskip("zstandard")
    text = json.dumps(sample(ten[0])).encode()
    stored = log_file([sample(ten[0])], method=zipfile.ZIP_STORED)
    data = _replace_member(stored, text, zstandard.ZstdCompressor().compress(text))

    def missing(module):
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)

    monkeypatch.setattr(extras, "import_module", missing)
    result = collect(adapter("inspect").read(MemoryBundle("log.eval", {"log.eval": data}), embedded()))
    (problem,) = [p for p in result.diagnostics if p.code == "not_supported"]
    assert "mnistpro-replay[inspect]" in problem.message


@pytest.mark.parametrize("value", [float("-inf"), [float("nan"), 1.0], None])
def test_scores_that_are_not_finite(ten, value):
    """Row 12: no verdict, and a flag where a number is not finite."""
    result = read(log_file([sample(ten[0], scores={"s": {"value": value}})]), "inspect", "log.eval")
    assert result.episode().success is None
    assert ("non_finite" in result.codes()) == (value == float("-inf"))


def test_ids_of_two_types(ten):
    """Row 13: 1 and "1" are two samples."""
    samples = [sample(ten[0], id=1), sample(ten[1], id="1")]
    result = read(log_file(samples, names=["1_epoch_1", "x_epoch_1"]), "inspect", "log.eval")
    assert [episode.episode_id for episode in result.episodes] == ["1", "1~2"]
    assert "duplicate_episode_id" in result.codes()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_sample_written_again(ten):
    """Row 14: of two members of one name the last wins."""
    early = sample(ten[0]) | {"messages": []}
    result = read(log_file([early, sample(ten[0])]), "inspect", "log.eval")
    assert_same(result, ten[:1])
    assert "duplicate_record" in result.codes()


def test_lone_surrogates(ten, tmp_path):
    """Row 15: kept as they are, through the store and back."""
    record = sample(ten[0])
    record["messages"][1]["content"] = "odd \ud835 text"
    (tmp_path / "log.eval").write_bytes(log_file([record]))
    store = Store(tmp_path / "s", create=True)
    ingest(store, [tmp_path / "log.eval"], embedded(), name="r")
    (episode,) = store.episodes("r", texts=True)
    assert episode.step_texts[0].thought == "odd \ud835 text"


def test_retries(ten):
    """Row 18: retries are attempts, not steps; usage is counted once."""
    record = sample(ten[0], error_retries=[{"message": "boom", "traceback": ""}])
    usage = {"input_tokens": 10, "output_tokens": 2, "input_tokens_cache_read": 4}
    record["messages"][1]["id"] = "a"
    output = {
        "choices": [{"message": {"id": "a", "role": "assistant", "content": ""}}],
        "usage": usage,
        "time": 0.5,
    }
    failed = {
        "event": "model",
        "error": "overloaded",
        "output": {"choices": []},
        "timestamp": "2026-11-29T10:00:00+00:00",
    }
    record["events"] = [
        failed,
        {"event": "model", "output": output, "timestamp": "2026-11-29T10:00:01+00:00"},
    ]
    episode = read(log_file([record]), "inspect", "log.eval").episode()
    assert len(episode.steps) == 3 and [a.error for a in episode.attempts] == ["overloaded", "boom"]
    assert (episode.tokens_input, episode.tokens_cache_read, episode.tokens_output) == (10, 4, 2)


def test_version_from_the_future(ten):
    """Row 16."""
    log = START | {"version": 99, "status": "success", "samples": [sample(ten[0])]}
    result = read(json.dumps(log).encode(), "inspect", "log.json")
    (problem,) = [p for p in result.diagnostics if p.code == "unknown_version"]
    assert "upgrade" in problem.message


def test_epochs(ten):
    """Epochs are repeats of the same episode."""
    samples = [sample(ten[0]), sample(ten[0], epoch=2)]
    result = read(log_file(samples), "inspect", "log.eval")
    assert [(e.episode_id, e.source_episode_id, e.repeat) for e in result.episodes] == [
        ("ep0", "ep0", 0),
        ("ep0~2", "ep0", 1),
    ]
    assert "duplicate_episode_id" not in result.codes()
