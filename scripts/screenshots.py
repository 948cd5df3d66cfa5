"""Pictures of every page of the dashboard, at two sizes, light and dark: what `make screenshots` runs.

    python scripts/screenshots.py --out docs/screenshots

A store of the bundled runs, fresh runs and a swap is made in a scratch folder. A page that shows a notice where
there is data, that is wider than the window, or that logs an error ends the script with status 1.
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import tempfile
import threading
import zipfile
from importlib.resources import files
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright
from werkzeug.serving import make_server

from mnistpro_replay.analysis.metrics import ensure
from mnistpro_replay.dashboard.app import create_app
from mnistpro_replay.dashboard.source import Source
from mnistpro_replay.replay.plan import plan_for
from mnistpro_replay.replay.predictors import load
from mnistpro_replay.replay.swap import swap
from mnistpro_replay.traces.ingest import ingest
from mnistpro_replay.traces.runner.record import record
from mnistpro_replay.traces.runner.run import Plan
from mnistpro_replay.traces.store import Store
from mnistpro_replay.traces.world import embedded

SIZES = ((1440, 900), (1280, 720))
BELIEVER = "fresh/believer-correcting"
FRESH = ("believer-correcting", "believer-anchored", "greedy", "random", "stroke")
PAGES = {
    "runs": ("/", "#runs-gaps .main-svg"),
    "episodes": ("/episode", ".ag-row [col-id=run]"),
    "episode": (f"/episode?run={BELIEVER}&episode=7&glimpse=6", "#player[data-ready]"),
    "compare": (f"/compare?run={BELIEVER}&run2=fresh/stroke", "#compare[data-ready]"),
    "compare-over": (f"/compare?run={BELIEVER}&run2=fresh/stroke&view=over", "#compare[data-ready]"),
    "swap": ("/swap", ".pictures img"),
    "stopping": ("/stopping?run=fresh/stroke", "#stopping-worth .main-svg"),
    "beliefs": (f"/beliefs?run={BELIEVER}", "#beliefs-events .main-svg"),
    "audit": ("/audit?run=official-l2", ".episode-list a"),
    "heatmaps": ("/heatmaps", "#heat-difference .main-svg"),
}


def make_store(folder: Path, episodes: int) -> Store:
    """The bundled official runs, fresh ones of scripted policies, their metrics and a swap."""
    store, reader = Store(folder / "store", create=True), load("reference")
    archive = files("mnistpro_replay.traces.adapters.mnistpro") / "sample.zip"
    with zipfile.ZipFile(io.BytesIO(archive.read_bytes())) as zipped:
        zipped.extractall(folder / "raw")
    for raw in sorted((folder / "raw").iterdir()):
        level = 2 if raw.name.startswith("multidigit_2") else 1
        ingest(store, [raw], embedded(), name=f"official-l{level}")
    for policy in FRESH:
        record(
            Plan(policy=policy, level=2, episodes=episodes, predictor=reader, name=f"fresh/{policy}"), store
        )
    runs = store.runs()["run"].to_list()
    ensure(store, runs, "each")
    swap(store, plan_for(store, [(run, None) for run in runs], reader), reader)
    return store


def shoot(browser: Browser, address: str, out: Path) -> list[str]:
    """Write `PAGE-WIDTH-THEME.png` for every page; what was wrong with them."""
    wrong = []
    for (width, height), theme in ((size, theme) for size in SIZES for theme in ("light", "dark")):
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme)
        page = context.new_page()
        for name, (path, ready) in PAGES.items():
            said: list[str] = []
            page.on(
                "console",
                lambda message, said=said: said.append(message.text) if message.type == "error" else None,
            )
            page.goto(address + path)
            page.wait_for_selector(ready, state="attached", timeout=180_000)
            page.wait_for_load_state("networkidle")
            page.wait_for_timeout(700)
            page.screenshot(path=out / f"{name}-{width}-{theme}.png")
            problems = [*said, *_look(page)]
            wrong += [f"{name} {width} {theme}: {problem}" for problem in problems]
        context.close()
    return wrong


def _look(page: Any) -> list[str]:
    """What can be told of a page without eyes: notices, and what sticks out to the right."""
    found = page.evaluate(
        """() => {
            const said = [...document.querySelectorAll(".notice")].map((e) => "notice: " + e.innerText);
            const wide = document.documentElement.scrollWidth > window.innerWidth ? ["wider than the window"] : [];
            return [...said, ...wide];
        }"""
    )
    return list(found)


def main() -> None:
    """Make the store, serve it, and take the pictures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("docs/screenshots"))
    parser.add_argument("--episodes", type=int, default=40, help="of each fresh run")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as running:
        source = Source(make_store(Path(scratch), options.episodes))
        source.warm()
        server = make_server("127.0.0.1", 0, create_app(source).server, threaded=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        path = os.environ.get("CHROMIUM") or shutil.which("chromium")
        browser = running.chromium.launch(executable_path=path, args=["--no-sandbox"])
        wrong = shoot(browser, f"http://127.0.0.1:{server.server_port}", options.out)
        browser.close()
    print(f"{len(SIZES) * 2 * len(PAGES)} pictures in {options.out}")
    if wrong:
        raise SystemExit("\n".join(wrong))


if __name__ == "__main__":
    main()
