"""How long the dashboard takes on a large store, in a real Chromium.

    python benchmarks/synthetic_store.py STORE
    python benchmarks/dashboard.py STORE

Measured in one run, medians of repeated loads, an empty app of the same shell and the dashboard taking turns: time from
navigation until the shell (empty app) or the first row of the table (dashboard) is there; time that each filter
takes from the input to the answer on the page; requests while stepping; steps a second of the frame pane.
"""

from __future__ import annotations

import argparse
import logging
import os
import shutil
import statistics
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dash import html
from playwright.sync_api import Page, sync_playwright
from werkzeug.serving import make_server

from mnistpro_replay.analysis.overview import episodes_page
from mnistpro_replay.dashboard.app import create_app
from mnistpro_replay.dashboard.source import Source
from mnistpro_replay.traces.store import Store

BUDGET_S = 1.0
STEPS_A_SECOND = 20


class Empty:
    """A page with nothing on it."""

    PATH, TITLE = "/", "Empty"

    @staticmethod
    def layout(source: Source, query: dict[str, str]) -> Any:
        """Nothing."""
        return html.Div("nothing", className="nothing")

    @staticmethod
    def register(app: Any, source: Source) -> None:
        """No callbacks."""


def serve(app: Any) -> str:
    """Serve an app in the background; its address."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server("127.0.0.1", 0, app.server, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def timed(act: Callable[[], Any]) -> float:
    """Seconds that a call takes."""
    begun = time.perf_counter()
    act()
    return time.perf_counter() - begun


def load(page: Page, address: str, until: str) -> float:
    """Seconds from navigation until something is there."""
    page.goto("about:blank")
    return timed(lambda: (page.goto(address, wait_until="commit"), page.wait_for_selector(until)))


def changed(page: Page, selector: str, act: Callable[[], Any]) -> float:
    """Seconds from an input until a text of the page has changed."""
    page.wait_for_load_state("networkidle")
    before = page.locator(selector).inner_text()
    ask = "([s, before]) => document.querySelector(s).innerText !== before"
    return timed(lambda: (act(), page.wait_for_function(ask, arg=[selector, before])))


def choose(page: Page, field: str, option: str) -> Callable[[], None]:
    """Open a select beforehand; the call that picks an option."""
    page.wait_for_load_state("networkidle")
    page.click(f"#{field}")
    item = page.locator("[role=option]:visible", has_text=option).first
    item.wait_for()
    return item.click


def filters(page: Page, address: str) -> dict[str, float]:
    """Seconds of each filter of the overview and of the list of episodes."""
    load(page, address, ".ag-row [col-id=name]")
    page.wait_for_load_state("networkidle")
    count, found = "#runs-count", {}
    found["runs: digits"] = changed(page, count, choose(page, "runs-level", "2"))
    found["runs: condition"] = changed(page, count, choose(page, "runs-condition", "textual_state"))
    found["runs: search"] = changed(page, count, lambda: page.fill("#runs-text", "aurora"))
    found["runs: grouped"] = changed(page, count, choose(page, "runs-by", "level"))
    load(page, f"{address}/episode", ".ag-row [col-id=run]")
    page.wait_for_load_state("networkidle")
    count = "#list-count"
    found["episodes: verdict"] = changed(page, count, choose(page, "list-outcome", "wrong"))
    found["episodes: ended"] = changed(page, count, choose(page, "list-stop", "step_limit"))
    found["episodes: label"] = changed(page, count, lambda: page.fill("#list-label", "38"))
    return found


def stepping(page: Page, address: str, run: str, episode: str) -> tuple[int, float, int]:
    """Requests while stepping, steps a second, and moments of the episode."""
    page.goto(f"{address}/episode?run={run}&episode={episode}")
    page.wait_for_selector("#player[data-ready]")
    page.wait_for_load_state("networkidle")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    rate = page.evaluate(
        """() => new Promise((done) => {
            const player = mnistproPlayer, begun = performance.now(); let n = 0;
            const step = () => {
                player.seek(n % (player.last + 1)); n += 1;
                if (performance.now() - begun < 3000) requestAnimationFrame(step);
                else done(n / ((performance.now() - begun) / 1000));
            };
            requestAnimationFrame(step);
        })"""
    )
    page.wait_for_timeout(400)
    return len(asked), rate, page.evaluate("mnistproPlayer.last + 1")


def measure(page: Page, source: Source, repeats: int) -> None:
    """Measure and print."""
    address, empty = serve(create_app(source)), serve(create_app(source, (Empty,)))
    load(page, empty, ".nothing")
    load(page, address, ".ag-row [col-id=name]")
    plain, full = [], []
    for _ in range(repeats):
        plain.append(load(page, empty, ".nothing"))
        full.append(load(page, address, ".ag-row [col-id=name]"))
        page.wait_for_load_state("networkidle")  # or its figures would slow the next load down
    extra = statistics.median(full) - statistics.median(plain)
    print(
        f"empty shell {statistics.median(plain):.2f} s, first page {statistics.median(full):.2f} s: {told(extra)}"
    )
    for name, seconds in filters(page, address).items():
        print(f"{name}: {told(seconds)}")
    (row,), _ = episodes_page(source.episodes, None, {}, [("n_actions", True)], 0, 1)
    requests, rate, moments = stepping(page, address, row["run"], row["source_episode_id"])
    verdict = "met" if requests == 0 and rate >= STEPS_A_SECOND else "NOT met"
    print(f"stepping through {moments} moments: {requests} requests, {rate:.0f} steps/s: {verdict}")


def told(seconds: float) -> str:
    """A time with its verdict."""
    return f"{seconds:.2f} s ({'met' if seconds <= BUDGET_S else 'NOT met'}: within {BUDGET_S:.0f} s)"


def main() -> None:
    """Open the store and measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("store", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    source = Source(Store(options.store))
    print(f"opening the store and its views: {timed(lambda: source.database):.2f} s")
    print(f"warming up (sums over all runs, first episode): {timed(source.warm):.2f} s")
    print(f"{source.sums.height:,} runs, {source.sums['n'].sum():,} episodes; load {os.getloadavg()[0]:.1f}")
    with sync_playwright() as running:
        path = os.environ.get("CHROMIUM") or shutil.which("chromium")
        browser = running.chromium.launch(executable_path=path, args=["--no-sandbox"])
        measure(browser.new_page(viewport={"width": 1280, "height": 720}), source, options.repeats)
        browser.close()


if __name__ == "__main__":
    main()
