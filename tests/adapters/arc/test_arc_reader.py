import pytest
from scripted import collect, jsonl

from mnistpro_replay.traces.adapters import MemoryBundle, adapter, detect
from mnistpro_replay.traces.world import embedded


def frame(action, number, state="NOT_FINISHED", **more):
    grid = [[(number + x) % 16 for x in range(8)] for _ in range(8)]
    data = {"game_id": "ls20", "frame": [grid], "state": state, "levels_completed": 0, "guid": "g"}
    return {
        "timestamp": "2026-01-01T00:00:00+00:00",
        "data": data | {"action_input": {"id": action, "data": more}},
    }


def read(*records):
    bundle = MemoryBundle("ls20.random.g.recording.jsonl", {"ls20.random.g.recording.jsonl": jsonl(*records)})
    assert detect(bundle).name == "arc"
    return collect(adapter("arc").read(bundle, embedded()))


def test_a_recording():
    """Frames are shown whole; windows, canvas and label are unknown with a reason."""
    scorecard = {"timestamp": "x", "data": {"card_id": "c", "won": 1}}
    result = read(frame(0, 0), frame(1, 1), frame(6, 2, x=3, y=4), frame("ACTION4", 3, "WIN"), scorecard)
    episode = result.episode()
    assert [(s.action_kind, s.direction) for s in episode.steps] == [
        ("move", "up"),
        ("unknown", None),
        ("move", "right"),
    ]
    assert (episode.n_glimpses, episode.n_actions, episode.success) == (3, 3, True)
    assert episode.windows() is None and episode.reasons["geometry"] == "geometry_unknown"
    assert len(result.images) == 4 and result.runs[0].agent == "random"


def test_lost_actions_are_loud():
    """Row 33: every action is RESET, so what the agent did is gone."""
    result = read(*(frame(0, number) for number in range(5)))
    assert any(p.code == "unknown_action" and "lost" in p.message for p in result.diagnostics)
    assert result.episode().n_moves == 0


def test_first_frame_missing():
    """Row 33: without frame 0 the start is unknown, not invented."""
    result = read(frame(1, 1), frame(2, 2))
    assert result.episode().start_image is None and "missing_field" in result.codes()


@pytest.mark.parametrize("n", [80, 81])
def test_number_of_actions_is_what_is_there(n):
    """Row 33: 81 actions for a limit of 80 are 81 actions."""
    assert read(frame(0, 0), *(frame(1, k) for k in range(n))).episode().n_actions == n
