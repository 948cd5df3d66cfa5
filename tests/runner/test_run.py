"""Fresh runs: records, counting, journal, store."""

from collections.abc import Iterator
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mnistpro_replay.replay.verify import verify, verify_episode
from mnistpro_replay.schemas import Episode, Geometry
from mnistpro_replay.traces.journal import Journal
from mnistpro_replay.traces.runner import policies
from mnistpro_replay.traces.runner.policies import Decision, names
from mnistpro_replay.traces.runner.record import record
from mnistpro_replay.traces.runner.recorder import Played
from mnistpro_replay.traces.runner.run import Plan, run_episodes
from mnistpro_replay.traces.store import RunExists, Store
from mnistpro_replay.traces.world import Digits, embedded, from_png, offline_canvas, pixel_hash, world_key

TIMES = ("started", "duration", "model_latency", "env_latency")


def timeless(episode: Episode) -> dict[str, Any]:
    """An episode as plain data, times left out."""
    data = asdict(episode)
    for row in [data, *data["steps"]]:
        for name in TIMES:
            row.pop(name, None)
    return data


class Scripted:
    """Moves in fixed directions, then answers."""

    clairvoyant = False

    def __init__(self, moves: str, answer: str | None = None) -> None:
        self.moves, self.answer = moves.split(), answer

    def reset(self, rng: object, geometry: object, t_max: int) -> None:
        """Begin anew."""
        self.left: Iterator[str] = iter(self.moves)

    def act(self, view: object) -> Decision:
        """The next."""
        direction = next(self.left, None)
        return Decision(direction) if direction else Decision(answer=self.answer)


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A policy called `scripted`."""
    known = policies.load
    monkeypatch.setattr(policies, "load", lambda name: Scripted if name == "scripted" else known(name))


def one(moves: str, answer: str | None = None, **others: Any) -> Played:
    plan = Plan(policy="scripted", settings={"moves": moves, "answer": answer}, episodes=1, **others)
    return next(run_episodes(plan))


@pytest.mark.usefixtures("scripted")
def test_an_answered_episode() -> None:
    played = one("up up left", "0")
    episode = played.episode
    assert (episode.episode_id, episode.label, episode.digit_indices) == ("0", "0", [6841])
    assert episode.windows_source == [(130, 130), (130, 98), (130, 66), (98, 66)]
    assert [step.action_kind for step in episode.steps] == ["move"] * 3 + ["answer"]
    assert [step.reward for step in episode.steps] == [-0.1, -0.1, -0.1, 10.0]
    assert episode.reward == pytest.approx(9.7)
    assert (episode.n_actions, episode.n_moves, episode.n_glimpses) == (4, 3, 4)
    assert (episode.termination_raw, episode.stop_reason) == ("answered", "answered")
    assert (episode.answer_source, episode.answer_raw, episode.answer_raw_type) == ("0", '"0"', "string")
    assert (episode.answer, episode.answer_status, episode.success, episode.correct) == (
        "0",
        "ok",
        True,
        True,
    )
    assert episode.steps[0].action_raw == '{"action": "move", "direction": "up"}'
    assert (episode.steps[2].window_before, episode.steps[2].window_after) == ((130, 66), (98, 66))
    canvas = from_png(played.canvas.png)
    assert episode.canvas == played.canvas.canvas == pixel_hash(canvas)
    assert episode.world_key == world_key(episode.canvas, Geometry(), (130, 130))


@pytest.mark.usefixtures("scripted")
def test_a_blocked_move_counts_but_moves_nothing() -> None:
    episode = one("right right down", "1").episode
    assert [step.clipped for step in episode.steps[:3]] == [True, True, True]
    assert (episode.n_moves, episode.n_moves_effective, episode.n_glimpses) == (3, 2, 4)
    assert (episode.answer_status, episode.success, episode.correct) == ("ok", False, False)


@pytest.mark.usefixtures("scripted")
def test_the_picture_after_a_move_that_used_up_the_budget_was_not_shown() -> None:
    episode = one("up " * 40, "0").episode
    assert (episode.termination_raw, episode.stop_reason) == ("step_limit", "step_limit")
    assert (episode.n_actions, episode.n_moves, episode.n_glimpses, episode.n_glimpses_reached) == (
        36,
        36,
        36,
        37,
    )
    assert [step.shown for step in episode.steps] == [True] * 35 + [False]
    assert episode.steps[-1].image_status == "present"
    assert (episode.answer, episode.answer_status, episode.success, episode.correct) == (
        None,
        "missing",
        False,
        False,
    )


@pytest.mark.usefixtures("scripted")
def test_an_unknown_direction_ends_the_episode_and_shows_nothing() -> None:
    episode = one("up north", "0").episode
    assert (episode.termination_raw, episode.stop_reason) == ("invalid_action", "invalid_action")
    assert (episode.n_actions, episode.n_moves, episode.n_glimpses) == (2, 1, 2)
    assert (episode.steps[1].valid, episode.steps[1].shown, episode.steps[1].reward) == (False, False, -10.0)
    assert episode.windows_source == [(130, 130), (130, 98)]


@pytest.mark.usefixtures("scripted")
def test_without_anybody_to_answer_the_episode_ends_without_an_answer() -> None:
    episode = one("up").episode
    assert (episode.termination_raw, episode.stop_reason) == ("running", "no_answer")
    assert (episode.n_actions, episode.answer, episode.answer_status, episode.correct) == (
        1,
        None,
        "missing",
        False,
    )


@pytest.mark.usefixtures("scripted")
def test_a_predictor_answers_from_everything_shown(echo: type) -> None:
    predictor = echo("0")
    played = one("up left", predictor=predictor)
    (asked,), episode = predictor.asked, played.episode
    assert (asked.representation, asked.n_panels) == ("canvas@1", 1)
    windows = [(130, 130), (130, 98), (98, 98)]
    expected = offline_canvas(from_png(played.canvas.png), windows, Geometry(), "window")
    assert np.array_equal(asked.images[0], expected)
    assert (episode.answer, episode.correct) == ("0", True)
    assert (episode.step_texts[0].step, episode.step_texts[0].raw_reply) == (2, "I read 0")
    assert (episode.steps[2].tokens_input, episode.tokens_output, episode.cost) == (10, 2, 0.5)
    assert episode.steps[0].tokens_input is None


@pytest.mark.usefixtures("scripted")
def test_a_policy_with_an_answer_of_its_own_needs_no_predictor(echo: type) -> None:
    predictor = echo("7")
    assert one("up", "0", predictor=predictor).episode.answer == "0"
    assert predictor.asked == []


@pytest.mark.usefixtures("scripted")
@pytest.mark.parametrize(
    ("reply", "level", "status", "answer"),
    [("12", 1, "wrong_length", "12"), ("x", 1, "unparseable", None), ("1", 2, "wrong_length", "1")],
)
def test_odd_answers_are_kept_and_named(
    echo: type, reply: str, level: int, status: str, answer: str | None
) -> None:
    episode = one("up", predictor=echo(reply), level=level).episode
    assert (episode.answer_status, episode.answer, episode.stop_reason) == (status, answer, "answered")
    assert (episode.answer_raw, episode.correct, episode.success) == (f'"{reply}"', False, False)


@pytest.mark.usefixtures("scripted")
def test_a_predictor_that_has_no_answer_or_fails(echo: type) -> None:
    episode = one("up", predictor=echo(None)).episode
    assert (episode.stop_reason, episode.error, episode.n_actions) == ("no_answer", None, 1)
    episode = one("up", predictor=echo(fails=True)).episode
    assert (episode.stop_reason, episode.error) == ("error", "echo: no connection")
    assert (episode.n_glimpses, episode.correct) == (2, False)
    plan = Plan(policy="early", episodes=3, predictor=echo(fails=True))
    assert [played.episode.stop_reason for played in run_episodes(plan)] == ["error"] * 3


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("level", [1, 2])
def test_recorded_pictures_pass_verify(name: str, level: int, echo: type) -> None:
    plan = Plan(policy=name, level=level, episodes=1, predictor=echo("3" * level))
    for played in run_episodes(plan):
        canvas = from_png(played.canvas.png)
        findings = list(verify_episode("r", played.episode, plan.geometry, canvas, played.images))
        assert {finding.verdict for finding in findings} == {"exact"}
        assert len(findings) == played.episode.n_actions + 1
        assert all(sha256(data).hexdigest() == digest for digest, data in played.images.items())


@pytest.mark.parametrize("name", ["random", "infogain", "believer-flip-flopping"])
def test_the_same_plan_gives_the_same_trace(name: str, echo: type) -> None:
    plan = Plan(policy=name, episodes=2, predictor=echo(confidence=0.5))
    first, second = ([timeless(played.episode) for played in run_episodes(plan)] for _ in range(2))
    assert first == second


def test_seed_and_repeat_change_what_a_random_policy_does() -> None:
    plan = Plan(policy="random", episodes=2)
    walks = [
        [played.episode.windows_source for played in run_episodes(replace(plan, **change))]
        for change in ({}, {"repeat": 1})
    ]
    assert walks[0] != walks[1]
    assert [walk[0] for walk in walks[0]] == [walk[0] for walk in walks[1]]
    assert walks[0][0] != walks[0][1]


def test_run_records_say_what_was_run(echo: type) -> None:
    plan = Plan(policy="early", episodes=20, predictor=echo(), seed=42, level=2)
    run = plan.run()
    assert (run.run, run.agent, run.predictor, run.t_max, run.level) == ("early_L2", "early", "echo", 78, 2)
    assert (run.harness, run.turn_mode, run.memory) == ("turn_based", "turn_based", "none")
    assert run.geometry() == Geometry(n_panels=2)
    assert run.settings["policy"] == {"k": 4}
    assert run.settings["predictor"]["version"] == "1"
    assert run.settings["episodes"] == "as the official sampler draws them"
    other = replace(plan, seed=7).run()
    assert other.settings["episodes"] == "drawn among these digits only"
    assert other.settings["digits"] == "the embedded sample"


def test_run_ids_tell_conditions_apart_and_repeats_not(echo: type) -> None:
    plan = Plan(policy="early", predictor=echo())
    same = [replace(plan, repeat=3), replace(plan, name="x"), replace(plan, episodes=50)]
    assert {p.run().run_id for p in same} == {plan.run().run_id}
    changes = [{"policy": "random"}, {"settings": {"k": 5}}, {"level": 2}, {"seed": 1}, {"window": 32}]
    changes += [{"stride": 16}, {"predictor": None}, {"predictor": echo(version="2")}]
    ids = {replace(plan, **change).run().run_id for change in changes}
    assert len(ids | {plan.run().run_id}) == len(changes) + 1


@pytest.mark.parametrize("change", [{"policy": "nobody"}, {"settings": {"depth": 1}}, {"window": 0}])
def test_plans_that_cannot_be_run_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        next(run_episodes(replace(Plan(policy="early"), **change)))


@pytest.mark.parametrize("name", ["random", "stroke", "sweep", "infogain", "believer-correcting"])
@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_a_run_goes_on_where_its_journal_ends(name: str, share: float, tmp_path: Path, echo: type) -> None:
    plan = Plan(policy=name, episodes=2, predictor=echo(confidence=0.9))
    with Journal(tmp_path / "whole") as journal:
        whole = [timeless(played.episode) for played in run_episodes(plan, journal)]
        lines = journal.path.read_bytes().splitlines(keepends=True)
    kept = 1 + int(share * (len(lines) - 1))
    (tmp_path / "cut").write_bytes(b"".join(lines[:kept]) + b'{"episode": 0, "st')
    again = echo(confidence=0.9)
    with Journal(tmp_path / "cut") as journal:
        went_on = [timeless(p.episode) for p in run_episodes(replace(plan, predictor=again), journal)]
        steps = [(line["episode"], line["step"]) for line in list(journal.records())[1:]]
    assert went_on == whole
    assert steps == [(int(e["episode_id"]), step["step"]) for e in whole for step in e["steps"]]
    # No question that was answered is asked again.
    assert len(again.asked) <= len(plan.predictor.asked) - sum(b'"raw"' in line for line in lines[:kept])


def test_a_run_can_be_made_longer(tmp_path: Path) -> None:
    plan = Plan(policy="random", episodes=2)
    with Journal(tmp_path / "j") as journal:
        list(run_episodes(plan, journal))
        longer = [timeless(p.episode) for p in run_episodes(replace(plan, episodes=4), journal)]
    assert longer == [timeless(p.episode) for p in run_episodes(replace(plan, episodes=4))]


@pytest.mark.parametrize("change", [{"seed": 7}, {"settings": {"k": 9}}, {"repeat": 1}])
def test_a_journal_of_other_settings_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    plan = Plan(policy="early", episodes=2)
    with Journal(tmp_path / "j") as journal:
        list(run_episodes(plan, journal))
        with pytest.raises(ValueError, match="begun with other settings"):
            list(run_episodes(replace(plan, **change), journal))


def test_a_run_in_the_store_is_whole_and_verified(tmp_path: Path, echo: type) -> None:
    store, seen = Store(tmp_path, create=True), []
    plan = Plan(policy="believer-correcting", level=2, episodes=3, name="mine", predictor=echo())
    run = record(plan, store, seen.append)
    stored = store.episodes("mine", texts=True)
    assert [episode.source_episode_id for episode in stored] == ["0", "1", "2"]
    assert [timeless(episode) for episode in stored] == [timeless(episode) for episode in seen]
    assert {finding.verdict for finding in verify(store, "mine")} == {"exact"}
    assert (run.run_id, run.source_format) == (plan.run().run_id, "runner")
    assert not list((tmp_path / "journal").glob("*"))
    calls = len(seen)
    assert record(plan, store, seen.append).created == run.created
    assert len(seen) == calls
    with pytest.raises(RunExists, match="another run 'mine'"):
        record(replace(plan, seed=7), store)


def test_repeats_are_runs_of_their_own(tmp_path: Path) -> None:
    store = Store(tmp_path, create=True)
    runs = [record(Plan(policy="early", episodes=2, repeat=repeat), store) for repeat in range(2)]
    assert [(run.run, run.repeat) for run in runs] == [("early_L1", 0), ("early_L1_r1", 1)]
    assert runs[0].run_id == runs[1].run_id
    worlds = [[(e.world_key, e.repeat) for e in store.episodes(run.run)] for run in runs]
    assert [key for key, _ in worlds[0]] == [key for key, _ in worlds[1]]
    assert [repeat for _, repeat in worlds[1]] == [1, 1]


def test_the_full_set_is_named_by_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: str, split: str) -> Digits:
        labels = embedded().labels
        return Digits(np.arange(10_000), np.zeros((10_000, 28, 28), np.uint8), labels, path)

    monkeypatch.setattr("mnistpro_replay.traces.world.env.load", full)
    one, other = (Plan(policy="random", seed=7, digits_from=path).run() for path in ("here", "there"))
    assert one.settings["digits"] == "the MNIST test set"
    assert one.settings["episodes"] == "as the official sampler draws them"
    assert one.run_id == other.run_id
