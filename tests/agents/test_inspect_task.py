"""The world as Inspect tasks, with a mock model, and their logs read back as traces."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("inspect_ai")

from inspect_ai import eval as inspect_eval
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from mnistpro_replay.replay.verify import verify
from mnistpro_replay.traces.ingest import ingest
from mnistpro_replay.traces.inspect_task import level1, level2
from mnistpro_replay.traces.store import Store
from mnistpro_replay.traces.world import embedded

MOVES = ["right", "down", "left"]


def outputs(level: int, episodes: int) -> list[ModelOutput]:
    said = [f'{{"thought": "going", "action": "move", "direction": "{d}"}}' for d in MOVES]
    said.append(f'{{"thought": "it is", "action": "answer", "value": "{"0" * level}"}}')
    made = [ModelOutput.from_content("mockllm/model", text) for _ in range(episodes) for text in said]
    for output in made:
        # Without usage Inspect counts tokens with a table that it would download.
        output.usage = ModelUsage(input_tokens=100, output_tokens=20, total_tokens=120)
    return made


@pytest.mark.parametrize(
    ("level", "memory"), [(1, "textual_state"), (2, "image_only"), (1, "multi_turn"), (1, "online_canvas")]
)
def test_a_log_comes_back_as_the_same_episodes(tmp_path: Path, level: int, memory: str) -> None:
    task = {1: level1, 2: level2}[level](memory=memory, episodes=2)
    model = get_model("mockllm/model", custom_outputs=outputs(level, 2))
    (log,) = inspect_eval(
        task, model=model, log_dir=str(tmp_path / "logs"), display="none", max_samples=1, log_samples=True
    )
    assert log.status == "success", log.error
    store = Store(tmp_path / "store", create=True)
    report = ingest(store, [tmp_path / "logs"], embedded(), name="back")
    assert not [p for p in report.all_diagnostics() if p.code != "canvas_unknown"], report.all_diagnostics()
    run = store.run("back")
    wanted = "image_only" if memory == "multi_turn" else memory
    assert (run.memory, run.level or run.n_panels, run.window) == (wanted, level, 64)
    assert run.turn_mode == ("natural" if memory == "multi_turn" else "turn_based")
    episodes = store.episodes("back", texts=True)
    assert [e.source_episode_id for e in episodes] == ["0", "1"]
    for episode in episodes:
        assert [s.direction for s in episode.steps] == [*MOVES, None]
        assert (episode.answer, episode.n_actions, episode.n_glimpses) == ("0" * level, 4, 4)
        assert [s.tokens_output for s in episode.steps] == [20] * 4
        assert episode.label is not None and episode.success == (episode.answer == episode.label)
    verdicts = Counter(finding.verdict for finding in verify(store, "back"))
    assert verdicts == {"exact": 2 * 4, "not_checkable": 2}, "all pictures; there is none after an answer"
