"""A dashboard over a small store, and a Chromium that looks at it."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from werkzeug.serving import make_server

from mnistpro_replay.analysis.metrics import ensure
from mnistpro_replay.dashboard.app import create_app
from mnistpro_replay.dashboard.source import Source
from mnistpro_replay.replay.plan import plan_for
from mnistpro_replay.replay.predictors import load
from mnistpro_replay.replay.swap import swap
from mnistpro_replay.schemas import Attempt, Canvas, Episode, Run, Step, StepText
from mnistpro_replay.traces.episodes import finish
from mnistpro_replay.traces.ingest import ingest
from mnistpro_replay.traces.runner.record import record
from mnistpro_replay.traces.runner.run import Plan
from mnistpro_replay.traces.store import Store
from mnistpro_replay.traces.world import build_canvas, embedded, pixel_hash, to_png

SCRIPT = "<script>window.pwned = true</script><img src=x onerror='window.pwned = true'>"
LONG = 6700


def walk_there_and_back(n: int) -> list[Step]:
    """Moves right and left again, n of them."""
    places = [(32 * (i % 5), 64) for i in range(5)]
    route = [*range(5), *range(3, 0, -1)]
    steps = []
    for i in range(n):
        a, b = places[route[i % 8]], places[route[(i + 1) % 8]]
        steps.append(
            Step(step=i, action_kind="move", action_raw="move", direction="right" if b > a else "left",
                 window_before=a, window_after=b, clipped=False, shown=True)
        )  # fmt: skip
    return steps


def odd_episodes(canvas: str) -> list[Episode]:
    """Episodes that have made other viewers fail: one each for length, text, markup, actions and missing pictures."""
    start = (0, 64)
    answer = Step(
        step=4, action_kind="answer", action_raw="7", window_before=(128, 64), window_after=(128, 64)
    )
    common = {"label": "7", "answer": "7", "answer_status": "ok", "correct": True, "stop_reason": "answered"}
    few = [*walk_there_and_back(4), answer]
    zoom = Step(step=4, action_kind="unknown", action_raw='{"zoom": 3}', valid=False)
    entry = [{"coords": [0, 1], "features": SCRIPT}]
    told = {
        "long": Episode(episode_id="0", source_episode_id="0", canvas=canvas, start=start,
                        steps=walk_there_and_back(LONG), label="7", stop_reason="step_limit", correct=False),
        "talk": Episode(episode_id="1", source_episode_id="1", canvas=canvas, start=start, steps=few, **common,
                        step_texts=[StepText(step=0, thought="This is a 7. " + "word " * 400_000)]),
        "script": Episode(episode_id="2", source_episode_id="2", canvas=canvas, start=start, steps=few, **common,
                          step_texts=[StepText(step=i, thought=SCRIPT, spatial_map=entry) for i in range(5)]),
        "zoom": Episode(episode_id="3", source_episode_id="3", canvas=canvas, start=start,
                        steps=[*walk_there_and_back(4), zoom], label="7", stop_reason="invalid_action", correct=False,
                        attempts=[Attempt(step=1, attempt=0, error="timeout")]),
        "blind": Episode(episode_id="4", source_episode_id="4", start=start, steps=few, **common),
        "nowhere": Episode(episode_id="5", source_episode_id="5", start_shown=False, steps=[answer], **common),
    }  # fmt: skip
    return list(told.values())


def add_odd(store: Store) -> None:
    """Write the odd episodes as run `odd <b>`."""
    run = Run(run="odd <b>", level=1, window=64, stride=32, panel=224, n_panels=1, draw_border=True, t_max=36)
    pixels = build_canvas([embedded().images[0]])
    name = pixel_hash(pixels)
    with store.writer(run, "odd") as writer:
        writer.add(Canvas(canvas=name, png=to_png(pixels), width=224, height=224))
        for episode in odd_episodes(name):
            writer.add(finish(episode, run.geometry()))


@pytest.fixture(scope="session")
def dash_store(sample_folders: dict[int, Path], tmp_path_factory: pytest.TempPathFactory) -> Store:
    """The bundled runs, a believer, its twin and odd episodes, with metrics and a swap."""
    store = Store(tmp_path_factory.mktemp("dash"), create=True)
    for level, folder in sample_folders.items():
        ingest(store, [folder], embedded(), name=f"l{level}")
    reader = load("reference")
    for policy in ("believer-correcting", "greedy"):
        record(Plan(policy=policy, level=2, episodes=6, predictor=reader, name=policy), store)
    add_odd(store)
    ensure(store, store.runs()["run"].to_list(), "last")
    swap(store, plan_for(store, [("l1", None), ("l2", None)], reader), reader)
    return store


@pytest.fixture(scope="session")
def source(dash_store: Store) -> Source:
    """What the pages draw from."""
    return Source(dash_store)


@pytest.fixture(scope="session")
def app(source: Source) -> Any:
    """The dashboard."""
    return create_app(source)


@pytest.fixture(scope="session")
def address(app: Any) -> Iterator[str]:
    """Where the dashboard is served."""
    server = make_server("127.0.0.1", 0, app.server, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A Chromium; tests that need it skip without one."""
    playwright = pytest.importorskip("playwright.sync_api")
    path = os.environ.get("CHROMIUM", shutil.which("chromium") or shutil.which("chromium-browser"))
    if path is None:
        pytest.skip("no Chromium (`apt-get install chromium`, or its path in CHROMIUM)")
    with playwright.sync_playwright() as running:
        started = running.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def tab(browser: Any, address: str) -> Iterator[Any]:
    """A fresh tab at the dashboard's address; console errors, page errors and foreign requests fail the test."""
    context = browser.new_context(
        viewport={"width": 1280, "height": 720}, base_url=address, accept_downloads=True
    )
    tab = context.new_page()
    wrong: list[str] = []
    tab.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    own = (address, "data:", "blob:")
    tab.on("request", lambda asked: None if asked.url.startswith(own) else wrong.append(asked.url))
    tab.set_default_timeout(60_000)
    yield tab
    context.close()
    assert wrong == []
