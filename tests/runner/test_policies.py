"""Policies are what they say."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from mnistpro_replay.schemas import DIRECTIONS, Geometry, Point, walk
from mnistpro_replay.traces.runner.policies import load, make, names
from mnistpro_replay.traces.runner.policies.base import Decision, Hidden, View, follow
from mnistpro_replay.traces.runner.policies.believer import Believer
from mnistpro_replay.traces.runner.policies.greedy import greedy_move
from mnistpro_replay.traces.runner.policies.infogain import SIGMA, bank, expected_change, in_cells, posterior
from mnistpro_replay.traces.runner.policies.routes import route, window_sums
from mnistpro_replay.traces.runner.policies.stroke import loose_ends
from mnistpro_replay.traces.runner.policies.sweep import boustrophedon
from mnistpro_replay.traces.runner.run import Plan, run_episodes
from mnistpro_replay.traces.world import (
    build_canvas,
    embedded,
    from_png,
    offline_canvas,
    reveal,
    sample,
    start_window,
)

EPISODES = 60
GEOMETRY = Geometry()
Walk = tuple[np.ndarray, list[Point]]
CLAIMED = ["greedy", "stroke", "sweep", "random", "early", "infogain"]
BELIEVERS = ["believer-anchored", "believer-correcting", "believer-flip-flopping"]


def canvas_of(episode: int, n_panels: int = 1) -> np.ndarray:
    digits = embedded()
    return build_canvas([digits.image(index) for index in sample(digits, n_panels)[episode]])


@pytest.fixture(scope="module")
def walks() -> dict[str, list[Walk]]:
    """Hidden canvas and windows of the published episodes, for each policy."""
    worlds = [Hidden(canvas_of(number), "?") for number in range(EPISODES)]
    starts = [start_window(world.canvas, GEOMETRY) for world in worlds]
    return {
        name: [
            (world.canvas, follow(make(name), world, [start], GEOMETRY, np.random.default_rng(number)))
            for number, (world, start) in enumerate(zip(worlds, starts, strict=True))
        ]
        for name in CLAIMED
    }


@pytest.fixture(scope="module")
def curves(walks: dict[str, list[Walk]]) -> dict[str, np.ndarray]:
    """Stroke coverage of each policy by episode and number of moves, held after the end."""
    return {name: np.stack([coverage(*walk) for walk in found]) for name, found in walks.items()}


def coverage(canvas: np.ndarray, windows: list[Point]) -> np.ndarray:
    ink, seen, shares = canvas == 0, np.zeros(canvas.shape, dtype=bool), []
    for x0, y0, x1, y1 in map(GEOMETRY.box, windows):
        seen[y0:y1, x0:x1] = True
        shares.append((ink & seen).sum() / ink.sum())
    return np.pad(shares, (0, GEOMETRY.budget - len(shares)), mode="edge")


def beliefs(canvas: np.ndarray, windows: list[Point]) -> np.ndarray:
    """Class posterior of the bank after each glimpse, (n, 10)."""
    canvases = [offline_canvas(canvas, windows[: t + 1], GEOMETRY) for t in range(len(windows))]
    return np.stack([(posterior(seen, GEOMETRY) @ bank()[1])[0] for seen in canvases])


def test_greedy_has_seen_most_after_every_number_of_moves(curves: dict[str, np.ndarray]) -> None:
    means = {name: curve.mean(axis=0) for name, curve in curves.items()}
    for name in set(CLAIMED) - {"greedy"}:
        assert np.all(means["greedy"] >= means[name] - 1e-12), name
    assert means["greedy"][5] > means["random"][5] + 0.2


def test_greedy_stroke_and_sweep_see_all_ink(curves: dict[str, np.ndarray]) -> None:
    assert np.all(curves["greedy"][:, -1] == 1)
    assert np.all(curves["sweep"][:, -1] == 1)
    assert curves["stroke"][:, -1].mean() > 0.99
    assert curves["random"][:, -1].mean() < 0.9


@pytest.mark.parametrize(
    ("n_panels", "window", "stride", "longest"),
    [(1, 64, 32, 31), (2, 64, 32, 56), (1, 32, 16, None), (3, 63, 31, None)],
)
def test_the_sweep_covers_every_pixel_within_the_budget(
    n_panels: int, window: int, stride: int, longest: int | None
) -> None:
    geometry = Geometry(window, stride, n_panels=n_panels)
    rng = np.random.default_rng(0)
    lengths = []
    for start in [
        (0, 0),
        geometry.limits,
        *(map(int, rng.integers(0, np.array(geometry.limits) + 1)) for _ in range(200)),
    ]:
        start = tuple(start)
        moves = boustrophedon(geometry, start)
        assert geometry.seen(walk(geometry, start, moves)).all()
        assert len(moves) <= geometry.budget - 1
        lengths.append(len(moves))
    assert longest is None or max(lengths) <= longest


@pytest.mark.parametrize("k", [1, 2, 7])
def test_early_answers_after_k_glimpses(k: int, echo: type) -> None:
    plan = Plan(policy="early", settings={"k": k}, episodes=10, predictor=echo())
    for played in run_episodes(plan):
        assert (played.episode.n_glimpses, played.episode.stop_reason) == (k, "answered")


def test_random_walks_use_the_budget_and_never_run_into_a_wall(walks: dict[str, list[Walk]]) -> None:
    for _, windows in walks["random"]:
        assert len(windows) == 36
        assert all(a != b for a, b in pairwise(windows))


@pytest.mark.parametrize("name", [name for name in CLAIMED if not load(name).clairvoyant])
def test_policies_that_claim_not_to_be_clairvoyant_act_on_what_was_shown_alone(name: str) -> None:
    geometry, windows = Geometry(), [(100, 60)]
    one, two = canvas_of(0), canvas_of(33)
    # The same glimpse cut out of two different worlds: whatever lies outside must not matter.
    two[60:124, 100:164] = one[60:124, 100:164]
    decisions = []
    for canvas in (one, two):
        policy = make(name)
        policy.reset(np.random.default_rng(5), geometry, geometry.budget)
        decisions.append(policy.act(View.of(Hidden(canvas, ""), windows, geometry, False)))
    assert decisions[0] == decisions[1]


def test_greedy_takes_most_new_ink_and_breaks_ties_by_the_way_on() -> None:
    geometry = Geometry(window=64, stride=32)
    unseen = np.zeros((224, 224), dtype=bool)
    unseen[100, 10:20] = True
    assert greedy_move(geometry, (64, 80), unseen) == "left"
    unseen[200, 80:120] = True
    assert greedy_move(geometry, (64, 110), unseen) == "down"
    # Nothing near: the nearer ink decides.
    unseen[:] = False
    unseen[10, 10] = unseen[120, 215] = True
    assert greedy_move(geometry, (96, 96), unseen) == "right"


def test_routes_are_shortest_and_end_at_wanted_pixels() -> None:
    geometry = Geometry(n_panels=2)
    wanted = np.zeros((224, 448), dtype=bool)
    wanted[223, 447] = True
    moves = route(geometry, (0, 0), wanted)
    assert (moves.count("down"), moves.count("right"), len(moves)) == (5, 12, 17)
    assert window_sums(geometry, wanted)(walk(geometry, (0, 0), moves)[-1]) == 1
    assert route(geometry, geometry.limits, wanted) == []
    assert route(geometry, (0, 0), np.zeros_like(wanted)) is None


def test_loose_ends_are_unseen_neighbours_of_seen_ink() -> None:
    ink, seen = np.zeros((5, 5), dtype=bool), np.zeros((5, 5), dtype=bool)
    ink[2, 1] = True
    seen[1:4, 0:2] = True
    assert np.argwhere(loose_ends(ink, seen)).tolist() == [[2, 2]]


def test_stroke_looks_into_panels_that_have_shown_no_ink() -> None:
    geometry = Geometry(n_panels=2)
    canvas = np.full((224, 448), 255, np.uint8)
    canvas[100:110, 100:110] = canvas[100:110, 300:310] = 0
    policy = make("stroke")
    hidden = Hidden(canvas, "11")
    assert policy.act(View.of(hidden, [(80, 80)], geometry, False)).direction == "right"
    assert policy.act(View.of(hidden, [(80, 80), (280, 80)], geometry, False)) == Decision()


def test_posterior_weighs_the_bank_by_its_distance() -> None:
    geometry, (ink, classes) = Geometry(), bank()
    assert (ink.shape, classes.sum(axis=0).tolist()) == ((1000, 784), [100.0] * 10)
    canvas = canvas_of(7)
    cells = in_cells(canvas, geometry)
    assert cells.shape == (1, 784)
    weights = posterior(canvas, geometry)
    distance = (ink != (cells == 0)).sum(axis=1)
    expected = np.exp(-(distance - distance.min()) / SIGMA)
    assert np.allclose(weights[0], expected / expected.sum())
    nothing = posterior(np.full_like(canvas, 128), geometry)
    assert np.allclose(nothing, 1 / 1000)


def test_expected_change_is_that_of_bayes_rule() -> None:
    rng = np.random.default_rng(0)
    ink, classes = bank()
    weights = np.zeros(1000)
    chosen = rng.choice(1000, 30, replace=False)
    weights[chosen] = rng.dirichlet(np.ones(30))
    cells = rng.random(784) < 0.1
    now, total = weights @ classes, 0.0
    for truth in chosen:
        likelihood = np.exp(-(ink[:, cells] != ink[truth, cells]).sum(axis=1) / SIGMA)
        then = (weights * likelihood) @ classes
        then /= then.sum()
        total += weights[truth] * (then * np.log(np.maximum(then, 1e-9) / np.maximum(now, 1e-9))).sum()
    assert expected_change(weights, cells) == pytest.approx(total, rel=1e-3)
    assert expected_change(weights, np.zeros(784, dtype=bool)) == 0
    sure = np.eye(1000)[0]
    assert expected_change(sure, cells) == pytest.approx(0, abs=1e-6)


def test_infogain_stops_when_sure(walks: dict[str, list[Walk]]) -> None:
    for trace in walks["infogain"]:
        sure = beliefs(*trace).max(axis=1)
        assert np.all(sure[:-1] < 0.95)
        assert sure[-1] >= 0.95 or len(sure) == GEOMETRY.budget


def test_infogain_answers_what_it_believes() -> None:
    correct = []
    for played in run_episodes(Plan(policy="infogain", episodes=20)):
        last = beliefs(from_png(played.canvas.png), played.episode.windows())[-1]
        assert (played.episode.answer, played.episode.stop_reason) == (str(last.argmax()), "answered")
        correct.append(played.episode.correct)
    assert np.mean(correct) >= 0.75


def test_infogain_is_sure_in_fewer_moves_than_sweep_and_random(walks: dict[str, list[Walk]]) -> None:
    until = {}
    for name in ("infogain", "sweep", "random"):
        sure = [beliefs(*walk).max(axis=1) >= 0.95 for walk in walks[name][:40]]
        until[name] = np.array([found.argmax() if found.any() else GEOMETRY.budget for found in sure])
    for other in ("sweep", "random"):
        assert np.mean(until["infogain"] < until[other]) > 0.6
        assert until["infogain"].mean() < until[other].mean() - 3


def test_infogain_lets_a_predictor_with_probabilities_decide(echo: type) -> None:
    predictor = echo(confidence=0.96)
    episodes = [p.episode for p in run_episodes(Plan(policy="infogain", episodes=3, predictor=predictor))]
    assert [(e.n_glimpses, e.answer) for e in episodes] == [(1, "3")] * 3
    predictor = echo(confidence=0.94)
    episode = next(run_episodes(Plan(policy="infogain", episodes=1, predictor=predictor))).episode
    assert (episode.n_glimpses, len(predictor.asked)) == (36, 36)


def test_infogain_asks_a_predictor_without_probabilities_only_twice(echo: type) -> None:
    predictor = echo()
    episode = next(run_episodes(Plan(policy="infogain", episodes=1, predictor=predictor))).episode
    assert episode.n_glimpses > 2
    assert (len(predictor.asked), episode.answer) == (2, "3")


@pytest.mark.parametrize("name", BELIEVERS)
@pytest.mark.parametrize("level", [1, 2, 3])
def test_believers_say_what_their_script_says(name: str, level: int) -> None:
    for number, played in enumerate(run_episodes(Plan(policy=name, level=level, episodes=4, seed=42))):
        episode, policy = played.episode, load(name)()
        assert isinstance(policy, Believer)
        assert len(episode.step_texts) == episode.n_actions == episode.n_glimpses
        truth = policy.script(episode.label, np.random.default_rng([42, number, 0]), len(episode.step_texts))
        assert truth[0] is None
        assert truth[-1] == episode.answer
        for belief, text in zip(truth, episode.step_texts, strict=True):
            said = [word.strip(".;:") for word in text.thought.split() if word.strip(".;:").isdigit()]
            assert all(digit in said for digit in belief or "")
            assert bool(said) == bool(belief)


def script(name: str, label: str, n: int = 8) -> list[str | None]:
    return load(name)().script(label, np.random.default_rng(3), n)


@pytest.mark.parametrize("label", ["4", "17", "008"])
def test_what_believers_hold_revise_and_flip(label: str) -> None:
    anchored, correcting, flipping = (script(name, label) for name in BELIEVERS)
    wrong = anchored[1]
    assert sum(a != b for a, b in zip(wrong, label, strict=True)) == 1
    assert anchored == [None, *[wrong] * 7]
    assert correcting == [None, *[wrong] * 3, *[label] * 4]
    assert flipping == [None, *[wrong, label] * 3, wrong]
    assert script("believer-correcting", label, 3) == [None, wrong, label]


def test_policies_see_no_more_than_they_may() -> None:
    hidden, windows = Hidden(canvas_of(0), "0"), [(130, 130)]
    shown = View.of(hidden, windows, GEOMETRY, clairvoyant=False)
    assert (shown.hidden, shown.steps_left, shown.position) == (None, 36, (130, 130))
    assert np.array_equal(shown.canvas, reveal(hidden.canvas, GEOMETRY.seen(windows)))
    with pytest.raises(AssertionError):
        make("greedy").act(shown)
    assert make("greedy").act(View.of(hidden, windows, GEOMETRY, clairvoyant=True)).direction in DIRECTIONS


def test_a_policy_can_take_over_in_the_middle() -> None:
    hidden, windows = Hidden(canvas_of(0), "0"), [(130, 130), (130, 98), (130, 66)]
    for name in CLAIMED[:4]:
        went = follow(make(name), hidden, windows, GEOMETRY, np.random.default_rng(0), moves=4)
        assert (went[:3], len(went)) == (windows, 7)
    whole = follow(make("sweep"), hidden, windows, GEOMETRY, np.random.default_rng(0))
    assert GEOMETRY.seen(whole).all()
    assert len(follow(make("random"), hidden, windows * 20, GEOMETRY, np.random.default_rng(0))) == 60


def test_unknown_policies_and_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="no policy is called 'oracle'; there are sweep, random"):
        make("oracle")
    with pytest.raises(ValueError, match="policy early: .*glimpses"):
        make("early", glimpses=3)


def test_other_packages_offer_policies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "still.py").write_text(
        "from mnistpro_replay.traces.runner.policies import Decision\n"
        "class Still:\n"
        "    clairvoyant = False\n"
        "    def reset(self, rng, geometry, t_max): pass\n"
        "    def act(self, view): return Decision(answer='1')\n"
    )
    info = tmp_path / "still-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: still\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[mnistpro_replay.policies]\nstill = still:Still\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert "still" in names()
    answers = [p.episode.answer for p in run_episodes(Plan(policy="still", episodes=3))]
    assert answers == ["1"] * 3


@pytest.mark.parametrize("name", names())
def test_every_policy_says_what_it_does(name: str) -> None:
    policy: Callable = load(name)
    assert policy.__doc__ and isinstance(policy.clairvoyant, bool)
