"""What the scripted policies do, measured: coverage by number of moves, and moves until a reader is sure.

    python benchmarks/policies.py --episodes 500 --level 1 --reader bank

Every policy plays the same episodes from the same starts. Curves are held at their last value once a policy
stops. Intervals are 95 % percentile bootstrap intervals over episodes (2,000 resamples). A reader is sure
from the first glimpse at which the product over panels of its highest probabilities reaches the confidence;
episodes in which it never is count as one move more than the budget allows, and their number is printed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from scipy.stats import bootstrap

from mnistpro_replay.schemas import Geometry, Point, PredictorInput
from mnistpro_replay.traces.runner.policies import Hidden, follow, make
from mnistpro_replay.traces.runner.policies.infogain import bank, posterior
from mnistpro_replay.traces.runner.run import REPRESENTATION
from mnistpro_replay.traces.world import build_canvas, embedded, load, offline_canvas, sample, start_window

POLICIES = ("greedy", "infogain", "stroke", "sweep", "random", "early")
RACERS = ("infogain", "sweep", "random")

Trace = tuple[np.ndarray, list[Point]]
Reader = Callable[[list[np.ndarray], Geometry], np.ndarray]


def play(policy: str, worlds: list[Hidden], geometry: Geometry, **settings: float) -> list[Trace]:
    """Hidden canvas and windows of each episode."""
    player, traces = make(policy, **settings), []
    for number, world in enumerate(worlds):
        start, rng = start_window(world.canvas, geometry), np.random.default_rng([0, number])
        traces.append((world.canvas, follow(player, world, [start], geometry, rng)))
    return traces


def coverage(trace: Trace, geometry: Geometry) -> np.ndarray:
    """Share of the ink seen after 0, 1, ... moves, up to the budget; held after the end."""
    canvas, windows = trace
    ink, seen, shares = canvas == 0, np.zeros(canvas.shape, bool), []
    for x0, y0, x1, y1 in map(geometry.box, windows):
        seen[y0:y1, x0:x1] = True
        shares.append((ink & seen).sum() / ink.sum())
    return np.pad(np.array(shares), (0, geometry.budget - len(shares)), mode="edge")


def moves_until_sure(trace: Trace, geometry: Geometry, read: Reader, confidence: float) -> int:
    """Moves before the reader is sure; the budget where it never is."""
    canvas, windows = trace
    canvases = [offline_canvas(canvas, windows[: t + 1], geometry) for t in range(len(windows))]
    sure = read(canvases, geometry) >= confidence
    return int(sure.argmax()) if sure.any() else geometry.budget


def bank_reader(canvases: list[np.ndarray], geometry: Geometry) -> np.ndarray:
    """Confidence of the posterior over the bank of training digits."""
    classes = [posterior(canvas, geometry) @ bank()[1] for canvas in canvases]
    return np.array([panels.max(axis=1).prod() for panels in classes])


def reference_reader() -> Reader:
    """Confidence of the `reference` predictor."""
    from mnistpro_replay.replay import predictors

    predictor = predictors.load("reference")

    def read(canvases: list[np.ndarray], geometry: Geometry) -> np.ndarray:
        inputs = [PredictorInput(REPRESENTATION, (canvas,), geometry.n_panels) for canvas in canvases]
        return np.array([np.max(r.probabilities, axis=1).prod() for r in predictor.predict_batch(inputs)])

    return read


def interval(values: np.ndarray, statistic: Callable[..., np.ndarray] = np.mean) -> str:
    """A statistic with its interval; without one where all values are equal."""
    point = statistic(values)
    if np.ptp(values) == 0:
        return f"{point:6.3f} (all equal)     "
    found = bootstrap((values,), statistic, n_resamples=2000, method="percentile", rng=0).confidence_interval
    return f"{point:6.3f} [{found.low:6.3f}, {found.high:6.3f}]"


def print_coverage(traces: dict[str, list[Trace]], geometry: Geometry) -> None:
    """The coverage table, and at how many of the numbers of moves greedy's mean is the highest."""
    curves = {name: np.stack([coverage(t, geometry) for t in found]) for name, found in traces.items()}
    moves = [m for m in (1, 2, 3, 5, 8, 12, 20, 30, 50) if m < geometry.budget]
    print(
        f"\nMean stroke coverage after a number of moves\n{'moves':>5}  "
        + "".join(f"{n:<25}" for n in curves)
    )
    for m in moves:
        print(f"{m:>5}  " + "".join(f"{interval(c[:, m]):<25}" for c in curves.values()))
    means = {name: c.mean(axis=0) for name, c in curves.items()}
    best_other = np.max([m for name, m in means.items() if name != "greedy"], axis=0)
    behind = np.flatnonzero(means["greedy"] < best_other - 1e-12)
    n = geometry.budget
    print(f"greedy has the highest mean at {n - len(behind)} of {n} numbers of moves")
    for m in behind:
        others = ", ".join(f"{name} {c[m]:.4f}" for name, c in means.items() if c[m] > means["greedy"][m])
        print(f"  after {m} moves greedy has {means['greedy'][m]:.4f}, {others}")


def print_ends(traces: dict[str, list[Trace]], geometry: Geometry) -> None:
    """Where each policy stopped."""
    print("\nWhere the policies stopped")
    print(f"{'policy':<10}{'glimpses':<26}{'range':<10}{'coverage':<26}area all seen")
    for name, found in traces.items():
        glimpses = np.array([len(windows) for _, windows in found])
        shares = np.array([coverage(t, geometry)[-1] for t in found])
        whole = sum(bool(geometry.seen(windows).all()) for _, windows in found)
        spread = f"{glimpses.min()}-{glimpses.max()}"
        print(f"{name:<10}{interval(glimpses):<26}{spread:<10}{interval(shares):<26}{whole} of {len(found)}")


def print_race(traces: dict[str, list[Trace]], geometry: Geometry, read: Reader, confidence: float) -> None:
    """Moves until the reader is sure, and the paired differences."""
    until = {
        n: np.array([moves_until_sure(t, geometry, read, confidence) for t in traces[n]]) for n in RACERS
    }
    print(f"\nMoves until the reader is {confidence:.0%} sure")
    print(f"{'policy':<10}{'mean':<26}{'median':<26}never sure")
    for name, moves in until.items():
        never = int((moves == geometry.budget).sum())
        print(f"{name:<10}{interval(moves):<26}{interval(moves, np.median):<26}{never} of {len(moves)}")
    for other in RACERS[1:]:
        print(f"infogain - {other:<8}{interval(until['infogain'] - until[other])}  (paired)")


def main() -> None:
    """Play and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--episodes", type=int, default=500)
    parser.add_argument("--level", type=int, default=1)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--confidence", type=float, default=0.95)
    parser.add_argument("--reader", choices=("reference", "bank"), default="reference")
    parser.add_argument("--digits-from")
    options = parser.parse_args()
    geometry = Geometry(n_panels=options.level)
    digits = load(options.digits_from) if options.digits_from else embedded()
    drawn = sample(digits, options.level, options.seed, -(-options.episodes // 10))[: options.episodes]
    worlds = [Hidden(build_canvas([digits.image(i) for i in indices]), "") for indices in drawn]
    traces = {}
    for name in POLICIES:
        began = time.perf_counter()
        traces[name] = play(name, worlds, geometry)
        print(f"{name:<10}{len(worlds)} episodes in {time.perf_counter() - began:6.1f} s")
    print_coverage(traces, geometry)
    print_ends(traces, geometry)
    racing = traces | {"infogain": play("infogain", worlds, geometry, confidence=2.0)}
    read = bank_reader if options.reader == "bank" else reference_reader()
    print_race(racing, geometry, read, options.confidence)


if __name__ == "__main__":
    main()
