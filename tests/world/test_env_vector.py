"""Many worlds at once."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from mnistpro_replay.traces.world.env import GlimpseEnv
from mnistpro_replay.traces.world.registration import WORLDS, register_envs
from mnistpro_replay.traces.world.vector import GlimpseVectorEnv

register_envs()


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("observation", ["masked_rgb", "canvas"])
def test_each_part_is_the_single_world_of_its_seed(name: str, observation: str) -> None:
    many = gymnasium.make_vec(name, num_envs=3, observation=observation)
    ones = [gymnasium.make(name, observation=observation) for _ in range(3)]
    shown, _ = many.reset(seed=20)
    singles = [env.reset(seed=20 + i)[0] for i, env in enumerate(ones)]
    assert many.observation_space.contains(shown)
    many.action_space.seed(0)
    for _ in range(6):
        assert np.array_equal(shown, np.stack(singles))
        actions = many.action_space.sample() % 4
        shown, rewards, terminated, truncated, infos = many.step(actions)
        results = [env.step(int(action)) for env, action in zip(ones, actions, strict=True)]
        singles = [result[0] for result in results]
        assert rewards.tolist() == [result[1] for result in results]
        assert terminated.tolist() == truncated.tolist() == [False] * 3
        assert list(infos["window"]) == [result[4]["window"] for result in results]


def test_the_spec_is_json_and_makes_the_same_worlds() -> None:
    many = gymnasium.make_vec("mnistpro/Glimpse-v0", num_envs=2, n_panels=3, autoreset_mode="SameStep")
    again = gymnasium.make_vec(type(many.spec).from_json(many.spec.to_json()))
    assert again.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert np.array_equal(many.reset(seed=1)[0], again.reset(seed=1)[0])


def test_unseeded_parts_share_the_walk_through_the_episodes() -> None:
    many = GlimpseVectorEnv(3)
    many.reset()
    assert many.get_attr("episode_id") == (0, 1, 2)
    many.reset()
    assert many.get_attr("episode_id") == (3, 4, 5)


def end_one(many: GlimpseVectorEnv) -> tuple:
    """Step two worlds: the first answers, the second moves."""
    many.reset(seed=0)
    return many.step(np.array([4 + 3, 0]))


def test_next_step_autoreset_ignores_the_action_after_the_end() -> None:
    many = GlimpseVectorEnv(2)
    _, rewards, terminated, _, infos = end_one(many)
    assert terminated.tolist() == [True, False]
    assert infos["_label"].tolist() == infos["_success"].tolist() == [True, False]
    assert abs(rewards[0]) == 10
    _, rewards, terminated, _, infos = many.step(np.array([4, 0]))
    assert (rewards[0], terminated[0]) == (0, False)
    assert infos["n_actions"].tolist() == [0, 2]
    assert "label" not in infos


def test_same_step_autoreset_keeps_the_end_apart() -> None:
    many = GlimpseVectorEnv(2, autoreset_mode=AutoresetMode.SAME_STEP)
    shown, _, terminated, _, infos = end_one(many)
    assert terminated.tolist() == [True, False]
    assert infos["n_actions"].tolist() == [0, 1]
    assert infos["final_info"]["answer"][0] == "3"
    assert infos["final_obs"][0].shape == shown[0].shape
    assert "label" not in infos


def test_without_autoreset_a_mask_resets_some() -> None:
    many = GlimpseVectorEnv(2, autoreset_mode="Disabled")
    before, *_ = end_one(many)
    after, infos = many.reset(options={"reset_mask": np.array([True, False])})
    assert infos["_n_actions"].tolist() == [True, False]
    assert np.array_equal(before[1], after[1])
    assert many.get_attr("n_actions") == (0, 1)


def test_what_was_handed_out_stays_as_it_was() -> None:
    many = GlimpseVectorEnv(2)
    first, _ = many.reset(seed=0)
    kept = first.copy()
    second, *_ = many.step(np.array([0, 1]))
    assert not np.shares_memory(first, second)
    assert np.array_equal(first, kept)


def test_pictures_of_all() -> None:
    many = GlimpseVectorEnv(2, render_mode="rgb_array")
    many.reset(seed=0)
    assert [picture.shape for picture in many.render()] == [(224, 224, 3)] * 2
    many.close()
    assert isinstance(many.envs[0], GlimpseEnv)
