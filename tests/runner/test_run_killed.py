"""A run that is killed, again and again, and always started by the same command."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

KILLS = 10
EPISODES = 6

COMMAND = """
import sys, time
from pathlib import Path
import orjson
from mnistpro_replay.traces.journal import Journal
from mnistpro_replay.traces.runner.policies.random_walk import Random
from mnistpro_replay.traces.runner.run import Plan, run_episodes

def slow(self, view, act=Random.act):
    time.sleep(0.004)
    return act(self, view)

Random.act = slow
folder, episodes = Path(sys.argv[1]), []
with Journal(folder / "journal") as journal:
    print("begun", flush=True)
    for played in run_episodes(Plan(policy="random", episodes=int(sys.argv[2])), journal):
        episodes.append(played.episode)
(folder / "episodes").write_bytes(orjson.dumps(episodes))
"""


def start(folder: Path) -> subprocess.Popen:
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-c", COMMAND, str(folder), str(EPISODES)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=folder)
    assert process.stdout and process.stdout.readline() == b"begun\n"
    return process


def result(folder: Path) -> list[dict]:
    episodes = json.loads((folder / "episodes").read_text())
    for row in [*episodes, *(step for episode in episodes for step in episode["steps"])]:
        for name in ("started", "duration", "model_latency", "env_latency"):
            row.pop(name, None)
    return episodes


def written(folder: Path) -> int:
    journal = folder / "journal"
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


def test_no_step_is_lost_or_made_twice(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    rng = random.Random(0)
    for _ in range(KILLS):
        process, before = start(killed), written(killed)
        wanted = before + rng.randint(1, 15)
        while written(killed) < wanted:
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.01))
        assert process.poll() is None
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        assert written(killed) >= wanted
    assert not (killed / "episodes").exists()
    assert start(killed).wait() == start(whole).wait() == 0
    assert result(killed) == result(whole)
    lines = [json.loads(line) for line in (killed / "journal").read_text().splitlines()[1:]]
    # 35 moves, and the decision not to answer.
    expected = [(episode, step) for episode in range(EPISODES) for step in range(36)]
    assert [(line["episode"], line["step"]) for line in lines] == expected
