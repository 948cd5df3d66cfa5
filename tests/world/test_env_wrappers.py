"""Factored actions, JSON text, and a prediction at every step."""

import json
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env

from mnistpro_replay.traces.world.env import GlimpseEnv
from mnistpro_replay.traces.world.registration import register_envs
from mnistpro_replay.traces.world.wrappers import DictAction, JSONTextAction, PredictEachStep, parse_action

register_envs()
WRAPPERS = [DictAction, JSONTextAction, PredictEachStep]
MOVE = '{"action": "move", "direction": "up"}'


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("name", ["mnistpro/Glimpse-L1-v0", "mnistpro/Glimpse-L2-v0"])
def test_gymnasium_finds_nothing_wrong(wrapper: type[gymnasium.Wrapper], name: str) -> None:
    env = wrapper(gymnasium.make(name))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Logits have no bounds, and a wrapped environment is what is checked here.
        warnings.filterwarnings("ignore", message=".*(infinity|normalized space|unwrapped version).*")
        check_env(env)


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_spec_survives_json(wrapper: type[gymnasium.Wrapper]) -> None:
    env = wrapper(gymnasium.make("mnistpro/Glimpse-L2-v0"))
    again = EnvSpec.from_json(env.spec.to_json()).make()
    assert again.action_space == env.action_space


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_only_this_world_can_be_wrapped(wrapper: type[gymnasium.Wrapper]) -> None:
    with pytest.raises(TypeError, match="is not a GlimpseEnv"):
        wrapper(gymnasium.make("CartPole-v1"))


def test_factored_actions_move_and_answer() -> None:
    env = DictAction(GlimpseEnv(2))
    env.reset(options={"start": (100, 100)})
    places = {"up": (100, 68), "down": (100, 100), "left": (68, 100), "right": (100, 100)}
    for direction, window in enumerate(places.values()):
        action = {"action": 0, "direction": direction, "value": np.array([9, 9])}
        assert env.step(action)[4]["window"] == window
    info = env.step({"action": 1, "direction": 0, "value": np.array([0, 7])})[4]
    assert (info["answer"], info["termination_reason"]) == ("07", "answered")


@pytest.mark.parametrize(
    "text", [MOVE, f"Up I go.\n```json\n{MOVE}\n```", '{"thought": "{", "action": "move", "direction": "up"}']
)
def test_text_with_one_object_is_an_action(text: str) -> None:
    env = JSONTextAction(GlimpseEnv())
    env.reset()
    info = env.step(text)[4]
    assert (info["window"], info["n_moves"]) == ((130, 98), 1)
    assert (info["malformed"], info["action_text"]) == (None, text)


MALFORMED = {
    "words": "up",
    "nothing": "",
    "torn": "{",
    "list": "[1]",
    "number": "7",
    "two objects": f"{MOVE} or {MOVE}",
    "unknown direction": '{"action": "move", "direction": "north"}',
    "too deep": "[" * 100_000,
}


@pytest.mark.parametrize("text", MALFORMED.values(), ids=MALFORMED)
def test_malformed_text_terminates(text: str) -> None:
    env = JSONTextAction(GlimpseEnv())
    env.reset()
    _, reward, terminated, _, info = env.step(text)
    assert (reward, terminated, info["termination_reason"]) == (-10.0, True, "invalid_action")
    assert info["malformed"]
    assert info["action_text"] == text


@pytest.mark.parametrize("text", MALFORMED.values(), ids=MALFORMED)
def test_malformed_text_is_a_counted_noop(text: str) -> None:
    env = JSONTextAction(GlimpseEnv(), malformed="noop")
    shown, before = env.reset()
    again, reward, terminated, _, info = env.step(text)
    assert np.array_equal(shown, again)
    assert (reward, terminated, info["window"], info["n_actions"]) == (-0.1, False, before["window"], 1)
    assert info["malformed"]


def test_malformed_text_is_retried_uncounted_until_the_last_attempt() -> None:
    env = JSONTextAction(GlimpseEnv(), malformed="retry", attempts=3)
    shown, _ = env.reset()
    for _ in range(2):
        again, reward, terminated, truncated, info = env.step("hm")
        assert np.array_equal(shown, again)
        assert (reward, terminated, truncated, info["n_actions"]) == (0.0, False, False, 0)
        assert info["malformed"].startswith("not JSON")
        again[:] = 0
    shown, _, _, _, info = env.step(MOVE)
    assert (info["n_actions"], info["malformed"]) == (1, None)
    for _ in range(2):
        again, *_ = env.step("hm")
        assert np.array_equal(shown, again)
    _, reward, terminated, _, info = env.step("hm")
    assert (reward, terminated, info["n_actions"]) == (-10.0, True, 2)


def test_a_new_episode_has_all_its_attempts() -> None:
    env = JSONTextAction(GlimpseEnv(), malformed="retry", attempts=2)
    env.reset()
    env.step("hm")
    env.reset()
    assert env.step("hm")[2] is False
    assert env.step("hm")[2] is True


def test_unknown_malformed_policy_is_refused() -> None:
    with pytest.raises(ValueError, match="malformed must be one of"):
        JSONTextAction(GlimpseEnv(), malformed="ignore")


def test_answers_keep_their_json_type() -> None:
    env = JSONTextAction(GlimpseEnv(2))
    env.reset()
    info = env.step(json.dumps({"action": "answer", "value": 5}))[4]
    assert info["answer"] == 5
    with pytest.raises(ValueError, match="no object"):
        parse_action("[]")


@pytest.mark.parametrize("n_panels", [1, 2])
def test_predictions_are_paid_by_their_cross_entropy(n_panels: int) -> None:
    env = PredictEachStep(GlimpseEnv(n_panels, reward="sparse"))
    env.reset()
    shape = (10,) if n_panels == 1 else (n_panels, 10)
    assert env.action_space["prediction"].shape == shape
    _, reward, _, _, info = env.step({"action": 0, "prediction": np.zeros(shape)})
    assert reward == pytest.approx(-np.log(10))
    sure = np.zeros((n_panels, 10))
    sure[range(n_panels), [int(digit) for digit in env.unwrapped.label]] = 1000
    _, reward, _, _, info = env.step({"action": 0, "prediction": sure.reshape(shape)})
    assert (reward, info["loss"], info["base_reward"]) == (0, 0, 0)
    assert "label" not in info


def test_the_last_action_of_the_budget_answers_with_its_prediction() -> None:
    env = PredictEachStep(GlimpseEnv(reward="sparse"))
    env.reset()
    logits = np.eye(10, dtype=np.float32)[0] * 5
    for _ in range(35):
        _, _, terminated, truncated, _ = env.step({"action": 1, "prediction": logits})
        assert not terminated and not truncated
    _, reward, terminated, truncated, info = env.step({"action": 1, "prediction": logits})
    assert (terminated, truncated) == (True, False)
    assert (info["answer"], info["success"], info["n_moves"]) == ("0", True, 35)
    assert reward == pytest.approx(1 - info["loss"])
