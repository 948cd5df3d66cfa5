import json

import numpy as np
import pytest
from scripted import canonical, collect, read

from mnistpro_replay.schemas import extras
from mnistpro_replay.traces.adapters.export import Export
from mnistpro_replay.traces.ingest import ingest
from mnistpro_replay.traces.store import Store
from mnistpro_replay.traces.world import embedded
from mnistpro_replay.traces.world.canvas import from_png

pytest.importorskip("minari")
pytest.importorskip("h5py")

# A dataset's world goes on until the answer: the answer is an action like any other, and nothing ends without one.
LOST = {"start_image", "image", "stop_reason"}


def dataset(ten, folder, data_format="hdf5", jpeg=False, positions=False):
    """Written by the real minari."""
    from gymnasium import spaces
    from minari.data_collector.episode_buffer import EpisodeBuffer
    from minari.dataset.minari_storage import MinariStorage

    image = spaces.Box(0, 255, (224, 224, 3), np.uint8)
    where = spaces.Box(0, 1000, (2,), np.int64)
    space = spaces.Dict({"image": image, "window": where}) if positions else image
    storage = MinariStorage.new(
        folder,
        observation_space=space,
        action_space=spaces.Text(200, charset='abcdefghijklmnopqrstuvwxyz0123456789{}":, '),
        data_format=data_format,
        jpeg_encoding=jpeg,
    )
    for script in ten:
        actions = [json.dumps({"action": "move", "direction": d}) for d in script.directions]
        shown = list(range(len(script.windows)))
        if script.answer is not None:
            actions.append(json.dumps({"action": "answer", "value": script.answer}))
            shown.append(shown[-1])
        frames = np.stack([from_png(script.png(g), "RGB") for g in shown])
        windows = np.array([script.windows[g] for g in shown])
        n = len(actions)
        storage.update_episodes(
            [
                EpisodeBuffer(
                    id=script.number,
                    options={"episode_id": script.id, "label": script.label, "eval_index": script.index},
                    observations={"image": frames, "window": windows} if positions else frames,
                    actions=actions,
                    rewards=[-0.1] * n,
                    terminations=[False] * (n - 1) + [script.answer is not None],
                    truncations=[False] * (n - 1) + [script.answer is None],
                )
            ]
        )
    return folder


def check(result, ten, without=frozenset()):
    assert [e.source_episode_id for e in result.episodes] == [s.id for s in ten]
    for episode, script in zip(result.episodes, ten, strict=True):
        assert canonical(episode, LOST | without) == canonical(script.episode, LOST | without)


@pytest.mark.parametrize("data_format", ["hdf5", "arrow", "parquet"])
@pytest.mark.parametrize("positions", [False, True])
def test_ten_episodes(ten, tmp_path, data_format, positions):
    """One observation more than actions, in all three storages."""
    result = read(dataset(ten, tmp_path / "data", data_format, positions=positions), "minari")
    check(result, ten)
    assert not any(episode.lossy for episode in result.episodes)


def test_truncation_is_no_answer(ten, tmp_path):
    """Row 31: truncated without an answer: how it ended is unknown, there is no answer."""
    episode = read(dataset(ten, tmp_path / "data"), "minari").episode("ep9")
    assert (episode.answer, episode.stop_reason, episode.answer_status) == (None, "unknown", "missing")


@pytest.mark.parametrize("data_format", ["hdf5", "parquet"])
def test_lossy_pictures(ten, tmp_path, data_format):
    """Row 30: JPEG pictures are flagged; the canvas comes from the digits, windows and evidence are exact."""
    result = read(dataset(ten, tmp_path / "data", data_format, jpeg=True), "minari")
    check(result, ten)
    assert all(episode.lossy for episode in result.episodes) and "lossy_image" in result.codes()
    assert result.episode("ep0").steps[0].image_status == "lossy"


def test_observations_that_are_no_pictures(tmp_path):
    """Row 30: (2, 64, 64) is no picture; the episode has its right length all the same."""
    from gymnasium import spaces
    from minari.data_collector.episode_buffer import EpisodeBuffer
    from minari.dataset.minari_storage import MinariStorage

    storage = MinariStorage.new(
        tmp_path / "data",
        observation_space=spaces.Box(0, 255, (2, 64, 64), np.uint8),
        action_space=spaces.Discrete(14),
        jpeg_encoding=False,
    )
    buffer = EpisodeBuffer(
        observations=np.zeros((4, 2, 64, 64), np.uint8),
        actions=np.array([0, 3, 11]),
        rewards=[0, 0, 1],
        terminations=[False, False, True],
        truncations=[False] * 3,
    )
    storage.update_episodes([buffer])
    result = read(tmp_path / "data", "minari")
    episode = result.episode("0")
    assert [(s.action_kind, s.direction) for s in episode.steps] == [
        ("move", "up"),
        ("move", "right"),
        ("answer", None),
    ]
    assert episode.answer == "7" and {"image_unexpected", "canvas_unknown"} <= result.codes()


def test_round_trip_without_loss(sample_store, tmp_path):
    """Export keeps pictures exactly; what a dataset cannot hold is words, tokens and calls."""
    from mnistpro_replay.traces.adapters.minari.write import write

    every = sample_store.episodes("l1")
    assert write(Export(sample_store, sample_store.run("l1")), tmp_path / "out") == len(every)
    store = Store(tmp_path / "store", create=True)
    (run,) = ingest(store, [tmp_path / "out"], embedded()).runs
    after = {episode.source_episode_id: episode for episode in store.episodes(run.run)}
    without = {"start_image", "image"}
    for episode in every:
        assert canonical(after[episode.source_episode_id], without) == canonical(episode, without)
    metadata = json.loads((tmp_path / "out" / "l1-v0" / "data" / "metadata.json").read_text())
    assert metadata["jpeg_encoding"] is False and metadata["total_episodes"] == len(every)


def test_our_dataset_loads_in_minari(sample_store, tmp_path, monkeypatch):
    import minari

    from mnistpro_replay.traces.adapters.minari.write import write

    write(Export(sample_store, sample_store.run("l1"), ids=["0"]), tmp_path)
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    loaded = minari.load_dataset("l1-v0")
    (episode,) = list(loaded.iterate_episodes())
    assert len(episode.observations["image"]) == len(episode.actions) + 1


def test_without_h5py(ten, tmp_path, monkeypatch):
    def missing(module):
        raise ModuleNotFoundError(module, name=module)

    folder = dataset(ten[:1], tmp_path / "data")
    monkeypatch.setattr(extras, "import_module", missing)
    from mnistpro_replay.traces.adapters import FolderBundle, minari

    result = collect(minari.ADAPTER.read(FolderBundle(folder), embedded()))
    assert result.codes() == {"not_supported"} and "[minari]" in result.diagnostics[0].message
