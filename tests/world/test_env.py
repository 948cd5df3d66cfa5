"""The world as a Gymnasium environment."""

import warnings
from itertools import pairwise

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

from mnistpro_replay.schemas import DIRECTIONS, Geometry, walk
from mnistpro_replay.traces.world import build_canvas, embedded, observe, offline_canvas, sample, start_window
from mnistpro_replay.traces.world.env import INVALID, NOOP, GlimpseEnv
from mnistpro_replay.traces.world.registration import WORLDS, register_envs

UP, DOWN, LEFT, RIGHT = range(4)
SECRETS = {"label", "answer", "success", "episode_id", "digit_indices", "coverage"}


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("observation", ["masked_rgb", "glimpse+pos", "canvas"])
@pytest.mark.parametrize("reward", ["official", "sparse", "coverage_delta"])
def test_gymnasium_finds_nothing_wrong(name: str, observation: str, reward: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make(name, observation=observation, reward=reward, privileged=True)
        check_env(env.unwrapped)


@pytest.mark.parametrize(
    "kwargs", [{"n_panels": 4}, {"n_panels": 3, "window": 33, "stride": 17, "panel": 112}]
)
def test_gymnasium_finds_nothing_wrong_with_other_sizes(kwargs: dict[str, int]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make("mnistpro/Glimpse-v0", **kwargs).unwrapped)


def test_ids_can_be_registered_again_and_found_by_module() -> None:
    register_envs()
    env = gymnasium.make("mnistpro_replay.traces.world.registration:mnistpro/Glimpse-L2-v0")
    assert env.action_space == gymnasium.spaces.Discrete(104)
    assert gymnasium.spec("mnistpro/Glimpse-L1-v0").max_episode_steps is None


def test_spec_survives_json() -> None:
    env = gymnasium.make("mnistpro/Glimpse-v0", n_panels=3, observation="canvas", sampler_seed=7)
    again = EnvSpec.from_json(env.spec.to_json()).make()
    assert np.array_equal(env.reset(seed=5)[0], again.reset(seed=5)[0])


def test_published_episodes_and_starts() -> None:
    # Golden: start windows of the released runs (official runner, seed 42).
    one, two = GlimpseEnv(1), GlimpseEnv(2)
    _, info = one.reset()
    assert (one.digit_indices, info["window"]) == ((6841,), (130, 130))
    assert [one.step(UP)[4]["window"] for _ in range(2)] == [(130, 98), (130, 66)]
    assert one.reset(options={"episode_id": 7})[1]["window"] == (36, 110)
    assert two.reset()[1]["window"] == (78, 18)
    assert two.label == "10"
    assert two.reset(options={"episode_id": 4})[1]["window"] == (325, 69)
    assert (two.digit_indices, two.label) == ((6184, 401), "38")


def test_unseeded_resets_walk_through_the_episodes_and_seeded_ones_draw() -> None:
    env = GlimpseEnv()
    starts = []
    for episode in range(3):
        starts.append(env.reset()[1]["window"])
        assert env.episode_id == episode
    drawn = []
    for _ in range(2):
        env.reset(seed=1)
        drawn.append([(env.episode_id, env.reset()[1]["window"]) for _ in range(5)])
    assert drawn[0] == drawn[1]
    assert len(set(drawn[0])) > 1
    assert starts == [start_window(canvas_of(episode), Geometry()) for episode in range(3)]


def canvas_of(episode: int, n_panels: int = 1) -> np.ndarray:
    digits = embedded()
    return build_canvas([digits.image(index) for index in sample(digits, n_panels)[episode]])


def test_options_choose_episode_and_start() -> None:
    env = GlimpseEnv()
    _, info = env.reset(seed=3, options={"episode_id": "7", "start": (10, 20)})
    assert (env.episode_id, info["window"]) == (7, (10, 20))
    with pytest.raises(ValueError, match="episode 100 is not one of the 100"):
        env.reset(options={"episode_id": 100})
    for start in [(161, 0), (-1, 0), (0, 224)]:
        with pytest.raises(ValueError, match="lies outside"):
            env.reset(options={"start": start})


def test_same_seed_and_actions_give_the_same_run_whatever_the_global_generators_do() -> None:
    def run() -> list[object]:
        env = gymnasium.make("mnistpro/Glimpse-L2-v0", privileged=True)
        env.action_space.seed(0)
        observation, info = env.reset(seed=11)
        log: list[object] = [observation.tobytes(), info]
        for _ in range(5):
            np.random.random()
            observation, *rest = env.step(int(env.action_space.sample()) % 4)
            log += [observation.tobytes(), *rest]
        return log

    assert run() == run()


@pytest.mark.parametrize(
    ("n_panels", "window", "stride", "budget"),
    [(1, 64, 32, 36), (2, 64, 32, 78), (1, 32, 16, 169), (2, 128, 64, 18)],
)
def test_the_last_action_ends_the_episode(n_panels: int, window: int, stride: int, budget: int) -> None:
    env = GlimpseEnv(n_panels, window=window, stride=stride)
    for last, ends in [
        (UP, (False, True)),
        (4, (True, False)),
        (INVALID, (True, False)),
        (NOOP, (False, True)),
    ]:
        env.reset()
        for used in range(1, budget):
            _, _, terminated, truncated, info = env.step(UP)
            assert (terminated, truncated, info["steps_left"]) == (False, False, budget - used)
        _, _, terminated, truncated, info = env.step(last)
        assert (terminated, truncated, info["n_actions"]) == (*ends, budget)
        with pytest.raises(ResetNeeded):
            env.step(UP)


def test_nothing_about_the_answer_is_told_before_the_end() -> None:
    env = GlimpseEnv(2)
    infos = [env.reset()[1], *(env.step(UP)[4] for _ in range(76))]
    assert not [info.keys() & SECRETS for info in infos if info.keys() & SECRETS]
    assert len({frozenset(info) for info in infos}) == 1
    info = env.step({"action": "answer", "value": "10"})[4]
    assert {name: info[name] for name in SECRETS - {"coverage"}} == {
        "label": "10",
        "answer": "10",
        "success": True,
        "episode_id": 0,
        "digit_indices": (4931, 2777),
    }
    assert info["termination_reason"] == "answered"


def test_privileged_info_has_coverage() -> None:
    env = GlimpseEnv(privileged=True)
    shares = [env.reset()[1]["coverage"], *(env.step(d % 4)[4]["coverage"] for d in range(30))]
    assert 0 < shares[0] < 1
    assert all(a <= b for a, b in pairwise(shares))
    ink, seen = env.canvas == 0, env.geometry.seen(env.windows)
    assert shares[-1] == pytest.approx((ink & seen).sum() / ink.sum())


@pytest.mark.parametrize(
    ("n_panels", "value", "success"),
    [(1, 0, True), (1, "0", True), (1, "00", True), (1, 0.9, True), (1, False, True), (1, "0.0", False)]
    + [
        (1, None, False),
        (1, [0], False),
        (1, 1e400, False),
        (2, "10", True),
        (2, 10, True),
        (2, " 10 ", True),
    ]
    + [(2, "1 0", False), (2, 10.0, False)],
)
def test_answers_are_judged_as_by_the_official_runner(n_panels: int, value: object, success: bool) -> None:
    env = GlimpseEnv(n_panels)
    env.reset()
    _, reward, terminated, _, info = env.step({"action": "answer", "value": value})
    assert (info["success"], reward, terminated) == (success, 10.0 if success else -10.0, True)


@pytest.mark.parametrize(
    "action",
    [-1, 14, "up", None, 1.5, {}, {"action": "move"}, {"action": "move", "direction": "north"}]
    + [{"action": "move", "direction": ["up"]}, {"action": ["move"]}, {"action": "jump"}],
)
def test_an_action_that_the_world_does_not_know_ends_the_episode(action: object) -> None:
    env = GlimpseEnv()
    env.reset()
    _, reward, terminated, truncated, info = env.step(action)
    assert (reward, terminated, truncated) == (-10.0, True, False)
    assert (info["termination_reason"], info["n_actions"], info["n_moves"]) == ("invalid_action", 1, 0)


def test_a_noop_is_counted_and_does_nothing_else() -> None:
    env = GlimpseEnv()
    before, start = env.reset()
    after, reward, terminated, truncated, info = env.step(NOOP)
    assert np.array_equal(before, after)
    assert (reward, terminated, truncated, info["moved"]) == (-0.1, False, False, False)
    assert (info["window"], info["n_actions"], info["n_moves"]) == (start["window"], 1, 0)


def test_a_blocked_move_counts_and_shows_the_same_window() -> None:
    env = GlimpseEnv()
    before, _ = env.reset(options={"start": (0, 5)})
    after, _, _, _, info = env.step(LEFT)
    assert np.array_equal(before, after)
    assert (info["moved"], info["clipped"], info["n_moves"]) == (False, True, 1)
    info = env.step(UP)[4]
    assert (info["window"], info["moved"], info["clipped"]) == ((0, 0), True, True)


@pytest.mark.parametrize(
    ("mode", "move", "right", "wrong"),
    [("official", -0.1, 10, -10), ("sparse", 0, 1, 0), ("coverage_delta", None, 1, 0)],
)
def test_rewards(mode: str, move: float | None, right: float, wrong: float) -> None:
    env = GlimpseEnv(reward=mode)
    for answer, expected in [("0", right), ("1", wrong)]:
        env.reset(options={"episode_id": 0})
        first = env.coverage
        rewards = [env.step(UP)[1] for _ in range(3)]
        if move is None:
            assert sum(rewards) == pytest.approx(env.coverage - first)
            assert sum(rewards) > 0
        else:
            assert rewards == [move] * 3
        assert env.step({"action": "answer", "value": answer})[1] == expected


def test_what_was_handed_out_can_be_changed_without_harm() -> None:
    for mode in ("masked_rgb", "glimpse+pos", "canvas"):
        env = GlimpseEnv(observation=mode)
        expected = [env.reset()[0], env.step(NOOP)[0]]
        env.reset(options={"episode_id": 0})
        for array in [expected[0]] if mode != "glimpse+pos" else expected[0].values():
            array[...] = 7
        again = env.step(NOOP)[0]
        assert np.array_equal(*(o if mode != "glimpse+pos" else o["glimpse"] for o in (again, expected[1])))


@pytest.mark.parametrize(
    "kwargs", [{"observation": "rgb"}, {"reward": "dense"}, {"window": 0}, {"n_panels": 0}]
)
def test_unknown_settings_are_refused(kwargs: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="must be"):
        GlimpseEnv(**kwargs)


def test_train_digits() -> None:
    env = GlimpseEnv(split="train")
    assert len(env.episodes) == 100
    env.reset(seed=0)
    assert np.array_equal(env.canvas, build_canvas([embedded("train").image(env.digit_indices[0])]))


geometries = st.builds(
    Geometry, window=st.integers(32, 128), stride=st.integers(1, 130), n_panels=st.integers(1, 4)
)


@settings(max_examples=60, deadline=None)
@given(
    geometry=geometries,
    border=st.booleans(),
    directions=st.lists(st.sampled_from(sorted(DIRECTIONS)), max_size=12),
    seed=st.integers(0, 2**31),
)
def test_what_the_world_shows_is_what_replay_rebuilds(
    geometry: Geometry, border: bool, directions: list[str], seed: int
) -> None:
    size = {"window": geometry.window, "stride": geometry.stride, "draw_border": border}
    geometry = Geometry(geometry.window, geometry.stride, n_panels=geometry.n_panels, draw_border=border)
    directions = directions[: geometry.budget]
    shown: dict[str, list[object]] = {}
    for mode in ("masked_rgb", "canvas", "glimpse+pos"):
        env = GlimpseEnv(geometry.n_panels, observation=mode, **size)
        shown[mode] = [env.reset(seed=seed)[0]]
        start = env.window
        shown[mode] += [env.step({"action": "move", "direction": d})[0] for d in directions]
    windows = walk(geometry, start, directions)
    for t, (x, y) in enumerate(windows):
        assert np.array_equal(shown["masked_rgb"][t], observe(env.canvas, (x, y), geometry))
        assert np.array_equal(shown["canvas"][t], offline_canvas(env.canvas, windows[: t + 1], geometry))
        glimpse = shown["glimpse+pos"][t]
        assert tuple(glimpse["pos"]) == (x, y)
        w = geometry.window
        assert np.array_equal(glimpse["glimpse"], env.canvas[y : y + w, x : x + w])


def test_pictures_show_the_window_and_the_path_but_nothing_unseen() -> None:
    env = gymnasium.make("mnistpro/Glimpse-L1-v0", render_mode="rgb_array")
    env.reset(options={"start": (0, 0)})
    env.step(DOWN)
    picture = env.render()
    assert (picture.shape, picture.dtype) == ((224, 224, 3), np.uint8)
    assert np.all(picture[:, 70:] == 128)
    assert np.all(picture[100:] == 128)
    assert tuple(picture[32, 0]) == (0, 229, 255)
    assert np.ptp(picture[48, 32].astype(int)) > 50


def test_text_shows_ink_where_it_was_seen() -> None:
    env = gymnasium.make("mnistpro/Glimpse-L1-v0", render_mode="ansi")
    env.reset()
    head, *rows = env.render().splitlines()
    assert head == "window (130, 130), 0 moves, 36 actions left, running"
    assert (len(rows), {len(row) for row in rows}) == (14, {28})
    assert set("".join(rows)) == {"#", ".", " "}
    assert all(set(row) == {"."} for row in rows[:8])
    assert GlimpseEnv().render() is None


def test_closing_twice_is_allowed() -> None:
    env = gymnasium.make("mnistpro/Glimpse-L1-v0")
    env.close()
    env.close()
