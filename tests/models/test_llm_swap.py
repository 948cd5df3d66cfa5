"""Language models as predictors of the swap engine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fake_server import FakeServer, Received, spec

from mnistpro_replay.replay.plan import load_source, plan_for
from mnistpro_replay.replay.predictors.llm.predictor import LLM
from mnistpro_replay.replay.representations import REPRESENTATIONS
from mnistpro_replay.replay.swap import estimate, swap
from mnistpro_replay.schemas import PredictorInput
from mnistpro_replay.traces.ingest import ingest
from mnistpro_replay.traces.models import Prompts
from mnistpro_replay.traces.store import Store
from mnistpro_replay.traces.world import embedded
from mnistpro_replay.traces.world.canvas import from_png


@pytest.fixture
def store(sample_folders: dict[int, Path], tmp_path: Path) -> Store:
    store = Store(tmp_path / "store", create=True)
    for level, folder in sample_folders.items():
        ingest(store, [folder], embedded(), name=f"l{level}")
    return store


@pytest.mark.parametrize("form", REPRESENTATIONS)
def test_the_model_is_shown_exactly_the_frozen_evidence(store: Store, form: str) -> None:
    with FakeServer() as server:
        llm = LLM(spec(server))
        plan = plan_for(store, [("l1", None)], llm, form=form)
        outcome = swap(store, plan, llm)
    assert plan.tasks and not outcome.failed
    sent = {}
    for request in server.received:
        pictures = tuple(from_png(data, "L" if _grey(data) else "RGB") for data in request.images)
        text = next((t.input().text for t in plan.tasks if (t.input().text or "") in request.texts[0]), None)
        sent[PredictorInput(f"{form}@1", pictures, 1, text).hash] = request
        assert [type(part) for part in request.messages[0][1]] == [str] + [bytes] * len(pictures)
    assert sent.keys() == {task.input_hash for task in plan.tasks}


def _grey(png: bytes) -> bool:
    return png[25] == 0


def test_replies_are_read_strictly_and_robustly(store: Store) -> None:
    said = ["I see a loop. The answer is 8.", '{"action": "answer", "value": 8}', "8 9", "no idea", "88 {}"]

    def reply(request: Received) -> str:
        return said[(server.requests - 1) % len(said)]

    with FakeServer(reply) as server:
        llm = LLM(spec(server), concurrency=1)
        outcome = swap(store, plan_for(store, [("l1", None)], llm), llm)
    rows = {p.prediction.raw_reply: p.prediction for p in outcome.pairs if p.prediction}
    found = {raw: (row.answer, row.answer_strict, row.parse_status) for raw, row in rows.items()}
    assert found == {
        said[0]: ("8", None, "repaired"),
        said[1]: ("8", "8", "ok"),
        said[2]: (None, None, "wrong_length"),
        said[3]: (None, None, "unparseable"),
        said[4]: (None, None, "no_answer"),
    }
    row = rows[said[1]]
    assert (row.tokens_input, row.tokens_output, row.predictor_version) == (
        100,
        30,
        "openai-compatible/gpt-5.6-sol",
    )


def test_other_prompts_are_another_question(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "prompts"
    folder.mkdir()
    (folder / "predictor_canvas.txt").write_text("Mine: read it.")
    with FakeServer() as server:
        ours, mine = LLM(spec(server)), LLM(spec(server), prompts=Prompts(folder))
        plan = plan_for(store, [("l1", None)], ours)
        swap(store, plan, ours)
        outcome = swap(store, plan, mine)
    assert outcome.cached == 0 and ours.prompt_hash != mine.prompt_hash
    assert server.received[-1].texts[0].startswith("Mine: read it.")
    hashes = {row.prompt_hash for pair in outcome.pairs if (row := pair.prediction)}
    assert hashes == {mine.prompt_hash}


@pytest.mark.parametrize(
    ("files", "says"), [({}, "no .txt"), ({"unknown.txt": "x"}, "unknown.txt"), (None, "no prompt folder")]
)
def test_a_folder_of_other_prompts_is_refused(tmp_path: Path, files: dict | None, says: str) -> None:
    folder = tmp_path / "p"
    if files is not None:
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text)
    with pytest.raises(ValueError, match=says):
        Prompts(folder)


def test_an_estimate_counts_calls_and_money_and_asks_nothing(store: Store) -> None:
    with FakeServer() as server:
        llm = LLM(spec(server, price=(2.0, 10.0)))
        plan = plan_for(store, [("l1", None)], llm)
        outcome = estimate(store, plan, llm)
        assert outcome.predictor_calls == len(plan.distinct())
        assert outcome.cost is not None and 0.0005 < outcome.cost / outcome.predictor_calls < 0.01
        assert estimate(store, plan, LLM(spec(server, model="nobody-knows-it"))).cost is None
        assert not server.requests


def test_predictions_carry_the_settings_as_sent_not_as_wished(store: Store) -> None:
    with FakeServer() as server:
        for model, sent in (("a-plain-one", 0.25), ("gpt-5.6-sol", None)):
            llm = LLM(spec(server, model=model, settings={"temperature": 0.25}))
            outcome = swap(store, plan_for(store, [("l1", ["0"])], llm), llm)
            row = outcome.pairs[0].prediction
            assert row is not None and row.settings["sent"].get("temperature") == sent
            assert server.received[-1].body.get("temperature") == sent


def test_forms_show_no_more_than_was_seen(store: Store) -> None:
    source = load_source(store, "l2", texts=True)
    geometry = source.run.geometry()
    for form in REPRESENTATIONS.values():
        if form.whole:
            continue
        for task in plan_for(store, [("l2", ["0", "1"])], _AnyForm(), form=form.name).tasks:
            item = task.input()
            ink = source.canvases[task.episode.canvas] == 0
            seen = geometry.seen((task.episode.windows() or [])[: task.glimpse + 1])
            shown = sum(_ink(picture) for picture in item.images)
            # Each glimpse may show the same ink again; nothing may show ink that no glimpse showed.
            assert shown <= (len(item.images) + task.glimpse + 1) * int((ink & seen).sum())
            assert (item.text or "").count("#") <= int((ink & seen).sum())


def _ink(picture: np.ndarray) -> int:
    return int((picture.max(axis=-1) == 0).sum() if picture.ndim == 3 else (picture == 0).sum())


class _AnyForm:
    name = version = prompt_hash = ""
    representations = tuple(REPRESENTATIONS)
