"""What each memory condition carries, read off the transcript that the server received (docs/models.md)."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from fake_server import KEY, FakeServer, Received, spec

from mnistpro_replay.traces.models import Prompts
from mnistpro_replay.traces.models.client import Client
from mnistpro_replay.traces.runner.agents.memory import condition, instruction
from mnistpro_replay.traces.runner.agents.play import AgentPlan, run_agents
from mnistpro_replay.traces.runner.recorder import Played
from mnistpro_replay.traces.world.canvas import from_png, offline_canvas

WALK = ["right", "down", "left", "left"]
PROMPTS = Prompts()


def say(direction: str | None, memory: str = "image_only", value: str = "7") -> str:
    fields = ""
    if memory in ("textual_state", "metric_grid_map"):
        fields += '"thought": "a stroke", '
    if memory == "metric_grid_map":
        fields += '"spatial_map": [{"coords": [0, 0], "features": "ink"}], '
    action = f'"move", "direction": "{direction}"' if direction else f'"answer", "value": "{value}"'
    return f'{{{fields}"action": {action}}}'


def walk(memory: str, horizon: int | None = None, mode: str | None = None, *, directions=tuple(WALK), **more):
    """One episode of a scripted model: it walks, then answers. Gives the requests, the replies and the
    episode."""
    replies = [*(say(d, memory) for d in directions), say(None, memory)]

    def reply(request: Received) -> str:
        return replies[server.replies]

    with FakeServer(reply) as server:
        chosen = condition(memory, horizon, mode, **more)
        client = Client(spec(server))
        plan = AgentPlan(client=client, condition=chosen, prompts=PROMPTS, episodes=1, level=1)
        (played,) = run_agents(plan)
    return server.received, replies, played, plan


def pictures(played: Played) -> list[str]:
    """sha256 of every picture of the trace, in order of glimpses."""
    return [glimpse.image for glimpse in played.episode.reached()]


def hashes(parts: list[str | bytes]) -> list[str]:
    return [hashlib.sha256(part).hexdigest() for part in parts if isinstance(part, bytes)]


@pytest.mark.parametrize("horizon", [1, 2, 4, -1])
@pytest.mark.parametrize("memory", ["image_only", "textual_state", "metric_grid_map"])
def test_turn_based_one_message_with_all_replies_and_the_last_pictures(memory: str, horizon: int) -> None:
    received, replies, played, plan = walk(memory, horizon)
    assert len(received) == len(WALK) + 1
    shown = pictures(played)
    for turn, request in enumerate(received):
        ((role, parts),) = request.messages
        assert role == "user"
        kept = shown[: turn + 1] if horizon == -1 else shown[max(0, turn + 1 - horizon) : turn + 1]
        assert hashes(parts) == kept, "the pictures kept, oldest first, the current one last"
        texts = [part for part in parts if isinstance(part, str)]
        assert parts == [*texts, *(p for p in parts if isinstance(p, bytes))], "texts come before pictures"
        assert texts[0] == instruction(PROMPTS, plan.condition, plan.geometry)
        if turn == 0:
            assert texts[1:] == [PROMPTS.text("agent_first_turn")]
        else:
            history = "\n".join(f"Turn {n}: {reply}" for n, reply in enumerate(replies[:turn], 1))
            assert texts[1:] == [PROMPTS.text("agent_history", history=history)]


@pytest.mark.parametrize("memory", ["image_only", "textual_state"])
def test_natural_one_conversation_with_the_instruction_once(memory: str) -> None:
    received, replies, played, plan = walk(memory, None, "natural")
    shown = pictures(played)
    for turn, request in enumerate(received):
        roles = [role for role, _ in request.messages]
        assert roles == ["user", *["assistant", "user"] * turn]
        head, *rest = request.messages
        assert head[1][0] == instruction(PROMPTS, plan.condition, plan.geometry) and len(head[1]) == 2
        assert [parts for role, parts in rest if role == "assistant"] == [[r] for r in replies[:turn]]
        users = [parts for role, parts in request.messages if role == "user"]
        assert [hashes(parts) for parts in users] == [[name] for name in shown[: turn + 1]]
        assert all(len(parts) == 1 for parts in users[1:]), "later turns are a picture and nothing else"


@pytest.mark.parametrize(("mode", "horizon"), [("turn_based", 1), ("turn_based", -1), ("natural", -1)])
def test_the_last_turn_is_announced_in_turn_based_runs_only(mode: str, horizon: int) -> None:
    warning = PROMPTS.text("agent_last_turn")
    back_and_forth = ["right", "left"] * 17 + ["right", "down"]
    received, _, played, plan = walk("image_only", horizon, mode, directions=back_and_forth)
    assert len(received) == plan.geometry.budget == played.episode.n_actions
    warned = [number for number, request in enumerate(received) if warning in str(request.messages)]
    assert warned == ([plan.geometry.budget - 1] if mode == "turn_based" else [])
    if mode == "turn_based":
        assert received[-1].texts[-1] == warning, "after the history, before the pictures"
    episode = played.episode
    assert (episode.stop_reason, episode.answer_status) == ("step_limit", "missing")
    assert episode.n_glimpses == episode.n_glimpses_reached - 1, "the last picture was never sent"
    assert episode.steps[-1].image not in {name for r in received for name in hashes(r.images)}


def test_online_canvas_two_pictures_canvas_first() -> None:
    received, _, played, plan = walk("online_canvas")
    env = plan.world()
    env.reset(options={"episode_id": 0})
    for turn, request in enumerate(received):
        canvas, glimpse = request.images
        assert hashes([glimpse]) == [pictures(played)[turn]]
        seen = played.episode.windows()[: turn + 1]
        assert (from_png(canvas) == offline_canvas(env.canvas, seen, plan.geometry)).all()


@pytest.mark.parametrize(
    ("when", "counts"),
    [("every", [2, 2, 2, 2, 2]), ("2", [2, 1, 2, 1, 2]), ("coverage:0", [2] * 5), ("coverage:1", [1] * 5)],
)
def test_schedules_decide_when_the_canvas_is_shown(when: str, counts: list[int]) -> None:
    received, *_ = walk("online_canvas", canvas_when=when)
    assert [len(request.images) for request in received] == counts


def test_above_a_coverage_the_canvas_stays() -> None:
    received, _, played, plan = walk("online_canvas", canvas_when="coverage:0.3", directions=WALK * 3)
    env = plan.world()
    env.reset(options={"episode_id": 0})
    covered = [env.coverage]
    for direction in WALK * 3:
        env.step({"action": "move", "direction": direction})
        covered.append(env.coverage)
    assert covered[0] < 0.3 <= covered[-1], "the walk must cross the threshold to test it"
    assert [len(request.images) for request in received] == [2 if c >= 0.3 else 1 for c in covered]


def test_at_the_end_the_canvas_is_shown_once_and_the_second_answer_counts() -> None:
    replies = [say("right"), say(None, value="3"), say(None, value="7")]
    with FakeServer(lambda request: replies[server.replies]) as server:
        chosen = condition("online_canvas", canvas_when="end")
        plan = AgentPlan(client=Client(spec(server)), condition=chosen, prompts=PROMPTS, episodes=1)
        (played,) = run_agents(plan)
    assert [len(request.images) for request in server.received] == [1, 1, 2]
    episode = played.episode
    assert (episode.answer, episode.n_actions) == ("7", 2)
    (unused,) = episode.attempts
    assert (unused.step, unused.raw_reply, unused.tokens_input) == (1, replies[1], 100)


@pytest.mark.parametrize(
    ("memory", "more", "says"),
    [
        ("nothing", {}, "no memory 'nothing'"),
        ("image_only", {"horizon": 0}, "horizon"),
        ("image_only", {"turn_mode": "natural", "horizon": 1}, "keeps all pictures"),
        ("online_canvas", {"turn_mode": "natural"}, "no canvas"),
        ("online_canvas", {"canvas_when": "coverage:2"}, "--canvas-when takes"),
        ("online_canvas", {"canvas_when": "0"}, "--canvas-when takes"),
        ("image_only", {"canvas_when": "end"}, "belongs to"),
        ("multi_turn", {"horizon": 2}, "all pictures"),
    ],
)
def test_conditions_that_are_none_are_refused(memory: str, more: dict, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        condition(memory, **more)


def test_nothing_of_the_trace_tells_the_key() -> None:
    *_, played, plan = walk("image_only")
    assert KEY not in str(played) + str(plan.run())


def test_prompt_files_are_read_from_the_users_folder(tmp_path: Path) -> None:
    (tmp_path / "agent_first_turn.txt").write_text("Off you go.")
    with FakeServer(lambda request: say(None)) as server:
        for prompts in (PROMPTS, Prompts(tmp_path)):
            plan = AgentPlan(
                client=Client(spec(server)), condition=condition("image_only"), prompts=prompts, episodes=1
            )
            list(run_agents(plan))
            assert plan.run().prompts_hash == prompts.hash(
                *plan.condition.prompt_names, "predictor", "predictor_full"
            )
    assert "Off you go." in server.received[1].texts and "Off you go." not in server.received[0].texts
