import json
from dataclasses import replace

import pytest
from scripted import canonical

from mnistpro_replay.traces.adapters.export import Export, redacted
from mnistpro_replay.traces.ingest import ingest
from mnistpro_replay.traces.store import Store
from mnistpro_replay.traces.world import embedded

LOSSLESS = ("jsonl", "parquet")
LOST = {"atif": set(), "inspect": set(), "minari": {"start_image", "image", "stop_reason", "n_actions"}}


def export(name, exported, out):
    if name == "parquet":
        from mnistpro_replay.traces.adapters.parquet.write import write

        return write([exported], out)
    from importlib import import_module

    return import_module(f"mnistpro_replay.traces.adapters.{name}.write").write(exported, out)


@pytest.mark.parametrize("name", LOSSLESS)
@pytest.mark.parametrize("run", ["l1", "l2"])
def test_our_own_formats_lose_nothing(sample_store, tmp_path, name, run):
    """Official episodes through an export and back: every column, text and picture is the same."""
    exported = Export(sample_store, sample_store.run(run))
    written = export(name, exported, tmp_path / "out")
    store = Store(tmp_path / "store", create=True)
    (result,) = ingest(store, [tmp_path / "out"], embedded()).runs
    before, after = sample_store.episodes(run, texts=True), store.episodes(result.run, texts=True)
    assert written == len(before) == len(after) and result.diagnostics == []
    assert before == after
    assert replace(store.run(result.run), run=run) == sample_store.run(run)
    canvases = {episode.canvas for episode in before}
    assert set(store.canvases(canvases)) == canvases
    images = [glimpse.image for episode in before for glimpse in episode.reached() if glimpse.image]
    assert store.images(images) == sample_store.images(images)


@pytest.mark.parametrize("name", ["atif", "inspect"])
@pytest.mark.parametrize("run", ["l1", "l2"])
def test_foreign_formats_keep_the_episode(sample_store, tmp_path, name, run):
    """What the format can hold is the same: world, windows, actions, answer, verdict, counts, words, tokens."""
    export(name, Export(sample_store, sample_store.run(run)), tmp_path / "out")
    store = Store(tmp_path / "store", create=True)
    (result,) = ingest(store, [tmp_path / "out"], embedded()).runs
    after = {e.source_episode_id: e for e in store.episodes(result.run, texts=True)}
    # Pictures that the agent never got, and whether one was re-drawn, are not part of these formats.
    without = {"image", "start_image"}
    for episode in sample_store.episodes(run, texts=True):
        got = after[episode.source_episode_id]
        assert canonical(got, without) == canonical(episode, without)
        assert (got.success, got.windows_source, got.answer_source) == (
            episode.success,
            episode.windows_source,
            episode.answer_source,
        )
        # An empty reply is no reply there.
        replies = [text.raw_reply for text in episode.step_texts if text.raw_reply or text.thought]
        assert [text.raw_reply for text in got.step_texts] == replies
    run_before, run_after = sample_store.run(run), store.run(result.run)
    assert run_after.geometry() == run_before.geometry()
    assert (run_after.memory, run_after.model, run_after.t_max) == (
        run_before.memory,
        run_before.model,
        run_before.t_max,
    )


def test_inspect_reads_our_log(sample_store, tmp_path):
    pytest.importorskip("inspect_ai")
    from inspect_ai.log import read_eval_log

    exported = Export(sample_store, sample_store.run("l1"))
    written = export("inspect", exported, tmp_path)
    log = read_eval_log(str(tmp_path / "l1.json"))
    assert log.status == "success" and len(log.samples) == written
    assert log.samples[0].scores["success"].value in ("C", "I", "N")


def test_columns_of_the_caller(sample_store, tmp_path):
    """Official and our metrics stand beside the episode; what is not finite is null in strict JSON."""
    columns = {"official_stroke_coverage": 0.5, "coverage_window": float("nan")}
    exported = Export(sample_store, sample_store.run("l1"), ids=["0", "3"], columns=lambda _: columns)
    assert export("jsonl", exported, tmp_path) == 2
    records = [json.loads(line, parse_constant=pytest.fail) for line in (tmp_path / "l1.jsonl").open()]
    assert [record["source_episode_id"] for record in records] == ["0", "3"]
    assert records[0]["official_stroke_coverage"] == 0.5 and records[0]["coverage_window"] is None
    assert {"run", "episode_id", "windows_source", "steps", "answer_status"} <= set(records[0])


SECRET = "sk-" + "a1B2" * 8


@pytest.mark.parametrize("name", ["jsonl", "parquet", "atif", "inspect"])
def test_redaction(sample_store, tmp_path, name):
    """Paths and secrets are in no exported file; the rest of the text stays."""
    text = f"I read /home/ann/notes.txt with key {SECRET} and go up"
    (episode, *_) = sample_store.episodes("l1", texts=True)
    episode.step_texts[0].raw_reply = text
    store = Store(tmp_path / "store", create=True)
    with store.writer(sample_store.run("l1"), "x") as writer:
        writer.add(episode)
    export(name, Export(store, store.run("l1"), redact=True), tmp_path / "out")
    data = b"".join(path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert SECRET.encode() not in data and b"/home/ann" not in data and b"and go up" in data


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("C:\\Users\\ann\\x.png", "[path]"),
        ("Bearer abcdefghijklmnop1234", "Bearer [secret]"),
        ("up/down, 3/4 and https://example.org/home/x", "up/down, 3/4 and https://example.org/home/x"),
        ("~/logs/a.json", "[path]"),
    ],
)
def test_what_counts_as_path_or_secret(text, kept):
    assert redacted({"a": [text]}) == {"a": [kept]}
