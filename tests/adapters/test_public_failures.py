"""Rows of the list of public failure reports that concern all importers; the others stand with their format."""

import io
import json
import os
import time
import tracemalloc
import unicodedata
import zipfile
from datetime import UTC, datetime

import polars as pl
import pytest
from scripted import collect, jsonl, read

from mnistpro_replay.schemas import TABLES
from mnistpro_replay.traces.adapters import MemoryBundle, adapter
from mnistpro_replay.traces.adapters.export import Export
from mnistpro_replay.traces.adapters.facts import read_time
from mnistpro_replay.traces.adapters.parquet.write import write
from mnistpro_replay.traces.ingest import NothingFound, ingest
from mnistpro_replay.traces.store import Store
from mnistpro_replay.traces.world import embedded


def call(name, arguments, call_id="c"):
    return {
        "role": "assistant",
        "tool_calls": [{"id": call_id, "function": {"name": name, "arguments": arguments}}],
    }


def tiny(number, moves=2):
    messages = [{"role": "user", "content": "go"}]
    for step in range(moves):
        messages += [
            call("move", '{"direction": "up"}', f"c{step}"),
            {"role": "tool", "tool_call_id": f"c{step}", "content": "ok"},
        ]
    return {
        "id": f"s{number}",
        "epoch": 1,
        "messages": messages + [call("submit", '{"answer": "3"}', "s")],
        "target": "3",
    }


def container(count):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "header.json", json.dumps({"version": 2, "status": "success", "eval": {"task": "t"}})
        )
        for number in range(count):
            archive.writestr(f"samples/s{number}_epoch_1.json", json.dumps(tiny(number)))
    return buffer.getvalue()


def test_thousands_of_samples_in_one_container():
    """Row 1: 5,000 samples are read one at a time: what is held does not grow with their number."""
    peaks = []
    for count in (500, 5000):
        bundle = MemoryBundle("log.eval", {"log.eval": container(count)})
        tracemalloc.start()
        read_samples = sum(
            type(item).__name__ == "Episode" for item in adapter("inspect").read(bundle, embedded())
        )
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert read_samples == count
    # Names of members and ids that were given grow by some hundred bytes a sample, nothing else does.
    assert peaks[1] - peaks[0] < 4500 * 900


def test_one_very_long_episode():
    """Row 2: 6,700 steps in one episode, in time that grows with their number."""
    started = time.perf_counter()
    episode = read(jsonl({"messages": tiny(0, 6700)["messages"]}), "openai").episode()
    assert (episode.n_moves, len(episode.tool_calls)) == (6700, 6701)
    assert time.perf_counter() - started < 20


def test_reply_of_two_megabytes(tmp_path):
    """Row 3: a very long reply is stored whole."""
    text = "x" * 2_000_000 + '{"action": "answer", "value": "3"}'
    (tmp_path / "a.jsonl").write_bytes(
        jsonl({"messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": text}]})
    )
    store = Store(tmp_path / "s", create=True)
    ingest(store, [tmp_path / "a.jsonl"], embedded(), name="r")
    (episode,) = store.episodes("r", texts=True)
    assert episode.answer == "3" and episode.step_texts[0].raw_reply == text


def test_pictures_in_text_of_the_log_are_no_text(ten):
    """Row 6: a data URI becomes a picture, by hash; it stands in no text, argument or result."""
    image = {"type": "image_url", "image_url": {"url": ten[0].uri(0)}}
    shown = {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "ok"}, image]}
    messages = [{"role": "user", "content": [image]}, call("move", '{"direction": "right"}'), shown]
    messages += [
        call("submit", '{"answer": "3"}', "d"),
        {"role": "tool", "tool_call_id": "d", "content": "ok"},
    ]
    result = read(jsonl({"messages": messages}), "openai")
    assert list(result.images.values()) == [ten[0].png(0)]
    assert result.episode().start_image in result.images
    assert "base64" not in repr(result.episode()) and "iVBOR" not in repr(result.episode())


def test_tables_that_a_migration_scrambled(sample_store, tmp_path):
    """Row 32: our tables rewritten with their rows in another order hold the same episodes, step for step."""
    write([Export(sample_store, sample_store.run("l2"))], tmp_path / "out")
    for path in (tmp_path / "out").glob("*.parquet"):
        table = pl.read_parquet(path)
        if path.stem != "episodes":
            table.sample(fraction=1, shuffle=True, seed=3).write_parquet(path, row_group_size=7)
    store = Store(tmp_path / "store", create=True)
    (result,) = ingest(store, [tmp_path / "out"], embedded()).runs
    assert store.episodes(result.run, texts=True) == sample_store.episodes("l2", texts=True)


def test_times_that_fall_back():
    """Row 32: times that start again at zero change neither the order nor the number of the steps."""
    messages = tiny(0, 4)["messages"]
    for message, seconds in zip(messages, [100, 101, 102, 0, 0, 1, 2, 3, 4, 5], strict=True):
        message["timestamp"] = seconds
    episode = read(jsonl({"messages": messages}), "openai").episode()
    assert [step.step for step in episode.steps] == [0, 1, 2, 3, 4] and episode.n_moves == 4
    assert episode.duration == 2.0 and [c.call_id for c in episode.tool_calls] == [
        "c0",
        "c1",
        "c2",
        "c3",
        "s",
    ]


def test_arguments_that_are_no_json():
    """Row 17: kept as text with the error, the step is kept."""
    messages = [
        {"role": "user", "content": "go"},
        call("move", "move up"),
        call("submit", '{"answer": 3}', "d"),
    ]
    result = read(jsonl({"messages": messages}), "openai")
    first, second = result.episode().steps
    assert (first.action_kind, first.valid, first.action_raw, second.action_kind) == (
        "invalid",
        False,
        "move up",
        "answer",
    )
    record = result.episode().tool_calls[0]
    assert (record.arguments, record.arguments_raw) == (None, "move up") and record.arguments_error
    assert "arguments_unparseable" in result.codes()


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_names_outside_ascii(tmp_path, form):
    """Row 26: folders and files of any name, composed or not."""
    folder = tmp_path / "丽爱说" / unicodedata.normalize(form, "étude")
    folder.mkdir(parents=True)
    (folder / "log.jsonl").write_bytes(jsonl({"messages": tiny(0)["messages"]}))
    report = ingest(Store(tmp_path / "s", create=True), [tmp_path / "丽爱说"], embedded())
    assert [run.episodes for run in report.runs] == [1]


@pytest.mark.parametrize(
    "name",
    ["gemini_cli", "claude_code", "codex", "openai", "anthropic", "jsonl", "otel", "arc", "atif", "inspect"],
)
@pytest.mark.parametrize(
    "data",
    [b"", b"\x00\xff\xfe", b"{", b"[]", b"null", b'{"a": 1}\n', b"\n\n", b"[[[1]]]", b'{"messages": 5}'],
)
def test_no_reader_raises(name, data):
    """Row 28 and all the rest: whatever the bytes are, a reader yields diagnostics."""
    result = collect(adapter(name).read(MemoryBundle("x.json", {"x.json": data}), embedded()))
    assert all(not episode.steps for episode in result.episodes)


def test_empty_file_is_an_error_that_says_so(tmp_path):
    """Row 28: nothing was read, so the import failed, and why is told."""
    (tmp_path / "x.jsonl").write_bytes(b"")
    with pytest.raises(NothingFound, match="empty"):
        ingest(Store(tmp_path / "s", create=True), [tmp_path / "x.jsonl"], embedded(), format="gemini_cli")


def test_pictures_are_in_no_analysis_table():
    """Row 35: blobs have tables of their own."""
    wide = [name for name, table in TABLES.items() if any(column.type == "bytes" for column in table.columns)]
    assert sorted(wide) == ["canvases", "images"]


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York", "UTC"])
@pytest.mark.parametrize(
    "text", ["20260824_105544", "2026-08-24T10:55:44", "2026-08-24T10:55:44Z", "2026-08-24T12:55:44+02:00"]
)
def test_times_without_a_zone(monkeypatch, zone, text):
    """Row 38: the same UTC time on every host."""
    monkeypatch.setenv("TZ", zone)
    if hasattr(time, "tzset"):
        time.tzset()
    assert read_time(text) == datetime(2026, 8, 24, 10, 55, 44, tzinfo=UTC)
    monkeypatch.undo()
    os.environ.get("TZ")
    time.tzset()


def test_picture_that_disagrees_with_the_log(ten):
    """A window in the log and one in the picture that differ: null, and a diagnostic; nothing is invented."""
    script = ten[4]
    content = [{"type": "image_url", "image_url": {"url": script.uri(1)}}]
    told = {"role": "tool", "tool_call_id": "c", "content": content, "metadata": {"window": [0, 0]}}
    start = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": script.uri(0)}}]}
    messages = [start, call("move", '{"direction": "down"}'), told, call("submit", '{"answer": 1}', "d")]
    result = read(jsonl({"messages": messages, **script.facts}), "openai")
    assert result.episode().steps[0].window_after is None and result.episode().windows() is None
    assert "windows_conflict" in result.codes()


def test_two_conditions_in_one_file(ten):
    """Models that take turns in one file are two runs, each whole."""
    lines = [{**{"messages": tiny(n)["messages"]}, "model": "ab"[n % 2], "episode_id": n} for n in range(6)]
    result = read(jsonl(*lines), "openai")
    assert (
        sorted(run.model for run in result.runs) == ["a", "b"]
        and len({run.run_id for run in result.runs}) == 2
    )


def test_runs_of_one_file_are_committed_apart(tmp_path):
    lines = [{**{"messages": tiny(n)["messages"]}, "model": "ab"[n % 2], "episode_id": n} for n in range(6)]
    (tmp_path / "x.jsonl").write_bytes(jsonl(*lines))
    store = Store(tmp_path / "s", create=True)
    report = ingest(store, [tmp_path / "x.jsonl"], embedded())
    assert [(run.run, run.episodes) for run in report.runs] == [("x", 3), ("x~2", 3)]
    again = ingest(store, [tmp_path / "x.jsonl"], embedded())
    assert all(run.unchanged for run in again.runs)
