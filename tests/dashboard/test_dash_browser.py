"""Every page in a real Chromium: what a user does, and that the console stays silent."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser
ODD = "/episode?run=odd+%3Cb%3E&episode="


def open_episode(tab: Any, address: str) -> None:
    tab.goto(address)
    tab.wait_for_selector("#player[data-ready]")


def state(tab: Any) -> tuple[int, int]:
    """The player's moment and glimpse."""
    moment, glimpse = tab.evaluate("[mnistproPlayer.moment, mnistproPlayer.glimpse]")
    return moment, glimpse


def ink(tab: Any, selector: str) -> int:
    """How many different colours a canvas shows."""
    return tab.evaluate(
        """selector => {
            const canvas = document.querySelector(selector);
            const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
            const seen = new Set();
            for (let i = 0; i < data.length; i += 4) seen.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
            return seen.size;
        }""",
        selector,
    )


def test_filters_group_and_choose_runs(tab: Any) -> None:
    tab.goto("/")
    tab.wait_for_selector(".ag-row >> text=l1")
    tab.fill("#runs-text", "believer")
    tab.wait_for_selector("#runs-count >> text=1 rows, 6 episodes")
    tab.wait_for_function("document.querySelectorAll('.ag-center-cols-container .ag-row').length === 1")
    assert tab.locator(".ag-center-cols-container .ag-row").count() == 1
    tab.fill("#runs-text", "nobody")
    tab.wait_for_selector("#runs-count >> text=0 rows, 0 episodes")
    tab.fill("#runs-text", "")
    tab.wait_for_selector("#runs-count >> text=5 rows")
    tab.click("#runs-by")
    tab.click("[role=option] >> text=level")
    tab.wait_for_selector("#runs-count >> text=2 rows")
    tab.wait_for_function("document.querySelectorAll('.ag-center-cols-container .ag-row').length === 2")
    tab.wait_for_selector("#runs-scatter .main-svg")
    tab.wait_for_selector("#runs-outcomes .main-svg")
    tab.locator(".ag-center-cols-container .ag-row").first.click()
    tab.click("#runs-choose")
    tab.wait_for_selector("#chosen-note >> text=2 runs chosen")


def test_the_list_is_paged_and_opens_an_episode(tab: Any) -> None:
    tab.goto("/episode")
    tab.wait_for_selector("#list-count >> text=58 episodes")
    tab.click("#list-outcome")
    tab.click("[role=option] >> text=wrong")
    tab.wait_for_function("!document.querySelector('#list-count').textContent.startsWith('58')")
    assert tab.locator("text=✓ right").count() == 0
    tab.locator(".ag-center-cols-container .ag-row").first.click()
    tab.wait_for_selector("#player[data-ready]")
    assert "run=" in tab.url and "episode=" in tab.url


def test_scrubbing_by_key_mouse_and_number_keeps_everything_in_step(tab: Any) -> None:
    open_episode(tab, "/episode?run=believer-correcting&episode=2&glimpse=3")
    assert state(tab) == (3, 3)  # the deep link
    tab.keyboard.press("ArrowRight")
    assert state(tab) == (4, 4)
    tab.keyboard.press("Home")
    assert state(tab) == (0, 0)
    before = ink(tab, "canvas.mp-path")
    tab.keyboard.press("End")
    last = tab.evaluate("mnistproPlayer.last")
    assert state(tab)[0] == last and ink(tab, "canvas.mp-path") > before
    tab.keyboard.press("ArrowLeft")
    assert state(tab)[0] == last - 1
    tab.locator(".mp-jump").fill("2")
    tab.keyboard.press("Enter")
    assert state(tab)[1] == 2
    tab.locator(".mp-time > svg").click(position={"x": 110, "y": 60})
    assert state(tab)[0] <= 1
    tab.locator(".mp-row[data-moment='5']").click()
    assert state(tab)[0] == 5
    assert "step 5" in tab.locator(".mp-where").inner_text()
    assert tab.locator(".mp-row-here").get_attribute("data-moment") == "5"
    assert tab.locator(".mp-thought mark").count() > 0
    assert tab.locator(".mp-pane-post svg rect.mp-bar").count() == 20
    tab.wait_for_function("location.search.includes('glimpse=5')")


def test_stepping_asks_the_server_nothing_and_is_fast(tab: Any) -> None:
    open_episode(tab, "/episode?run=believer-correcting&episode=2")
    tab.wait_for_load_state("networkidle")
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.keyboard.press("Home")
    for _ in range(20):
        tab.keyboard.press("ArrowRight")
    rate = tab.evaluate("""() => { const p = mnistproPlayer, n = 200, t = performance.now();
        for (let i = 0; i < n; i++) p.seek(i % (p.last + 1)); return n / ((performance.now() - t) / 1000); }""")
    time.sleep(0.5)
    assert asked == []
    assert rate > 20


def test_playing_moves_on_and_stops_at_the_end(tab: Any) -> None:
    open_episode(tab, "/episode?run=greedy&episode=1")
    tab.select_option("select[aria-label='Speed']", "20")
    tab.keyboard.press("Home")
    tab.click(".mp-play")
    tab.wait_for_function("mnistproPlayer.moment === mnistproPlayer.last && !mnistproPlayer.timer")


def test_the_truth_shows_only_when_asked_for(tab: Any) -> None:
    open_episode(tab, "/episode?run=l1&episode=0&glimpse=0")
    hidden = tab.evaluate("mnistproPlayer.parts.path.toDataURL()")
    tab.keyboard.press("t")
    assert tab.evaluate("mnistproPlayer.parts.path.toDataURL()") != hidden
    tab.keyboard.press("t")
    assert tab.evaluate("mnistproPlayer.parts.path.toDataURL()") == hidden


def test_exports_are_downloaded_and_the_file_plays_alone(tab: Any, browser: Any, tmp_path: Path) -> None:
    open_episode(tab, "/episode?run=l2&episode=1")
    for name, head in (("PNG", b"\x89PNG"), ("GIF", b"GIF8"), ("HTML", b"<!doctype")):
        with tab.expect_download() as download:
            tab.get_by_text(name, exact=True).click()
        path = tmp_path / f"replay.{name.lower()}"
        download.value.save_as(path)
        assert path.read_bytes().startswith(head)
    alone = browser.new_context(offline=True).new_page()
    wrong: list[str] = []
    alone.on("pageerror", lambda error: wrong.append(str(error)))
    alone.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    alone.goto((tmp_path / "replay.html").as_uri() + "#glimpse=1")
    alone.wait_for_selector("#player[data-ready]")
    alone.keyboard.press("End")
    assert ink(alone, "canvas.mp-path") > 4 and wrong == []
    alone.context.close()


def test_an_episode_of_6700_steps(tab: Any) -> None:
    open_episode(tab, f"{ODD}0")
    assert tab.evaluate("mnistproPlayer.last") == 6700
    assert tab.locator(".mp-row").count() < 80  # only the rows in sight exist
    rate = tab.evaluate("""() => { const p = mnistproPlayer, n = 60, t = performance.now();
        for (let i = 0; i < n; i++) p.seek(3000 + i); return n / ((performance.now() - t) / 1000); }""")
    assert rate > 20
    tab.locator(".mp-jump").fill("6000")
    tab.keyboard.press("Enter")
    assert state(tab)[1] == 6000


def test_a_thought_of_two_megabytes_is_cut_and_opens(tab: Any) -> None:
    open_episode(tab, f"{ODD}1")
    tab.keyboard.press("Home")
    assert "First 20,000 of 2,000,01" in tab.locator(".mp-thought").inner_text()[-200:]
    tab.get_by_text("Show all").click()
    tab.wait_for_function("document.querySelector('.mp-words').textContent.length > 2000000")


def test_markup_in_thoughts_and_names_is_only_text(tab: Any) -> None:
    open_episode(tab, f"{ODD}2&glimpse=1")
    assert "<script>window.pwned" in tab.locator(".mp-words").inner_text()
    assert "odd <b>" in tab.locator(".player-title").inner_text()
    tab.goto("/")
    tab.wait_for_selector(".ag-row >> text=odd <b>")
    tab.wait_for_selector("#runs-outcomes .main-svg >> text=odd")
    assert tab.evaluate("window.pwned") is None


@pytest.mark.parametrize(
    ("episode", "told"),
    [
        (3, ["? {\"zoom\": 3}", "unknown action", "1 retries"]),
        (4, ["the hidden canvas is not known", "No coverage", "no picture"]),
        (5, ["■ answer 7", "no picture"]),
    ],
)  # fmt: skip
def test_what_is_missing_or_strange_is_said(tab: Any, episode: int, told: list[str]) -> None:
    open_episode(tab, f"{ODD}{episode}")
    text = re.sub(r"\s+", " ", tab.locator("#player").evaluate("element => element.textContent"))
    for part in told:
        assert part in text


def test_an_unknown_episode_says_so(tab: Any, address: str) -> None:
    context = tab.context.browser.new_context(base_url=address)
    other = context.new_page()  # the browser itself logs the 404
    other.goto("/episode?run=nobody&episode=1")
    other.wait_for_selector("text=This episode cannot be shown: no run 'nobody'")
    context.close()


def test_compare_links_two_runs_on_one_canvas(tab: Any) -> None:
    tab.goto("/compare?run=believer-correcting&run2=greedy")
    tab.wait_for_selector("#compare[data-ready]")
    tab.wait_for_selector("#compare-note >> text=6 of 6 worlds shared")
    assert tab.locator(".compare-cell canvas").count() == 2
    tab.keyboard.press("Home")
    assert tab.locator(".compare-cell .mp-note").all_inner_texts()[0].startswith("glimpse 0 ")
    tab.get_by_text("over one canvas").click()
    tab.wait_for_function("document.querySelectorAll('.compare-cell canvas').length === 1")
    tab.wait_for_selector("#compare[data-ready]")
    assert ink(tab, ".compare-cell canvas") > 4
    assert "area in common" in tab.locator(".compare-figures").inner_text()


def test_swap_lists_flips_with_what_was_read(tab: Any) -> None:
    tab.goto("/swap")
    tab.wait_for_selector("#swap-matrix .main-svg >> text=reference")
    tab.wait_for_selector(".pictures img")
    loaded = "[...document.querySelectorAll('.pictures img')].every(i => i.complete && i.naturalWidth > 0)"
    tab.wait_for_function(loaded)
    assert "reference" in tab.locator(".replies").inner_text()
    rows = tab.locator("#flips .ag-center-cols-container .ag-row")
    before = tab.locator("#swap-detail").inner_text()
    rows.nth(1).click()
    tab.wait_for_function("before => document.querySelector('#swap-detail').innerText !== before", arg=before)


def test_audit_leads_to_the_step_that_shows_it(tab: Any) -> None:
    tab.goto("/audit?run=l2")
    tab.wait_for_selector("#audit-bars .main-svg")
    tab.click("#audit-category")
    tab.click("[role=option] >> text=looped")
    tab.wait_for_selector(".episode-list >> text=looped")
    link = tab.locator(".episode-list a").first
    step = int(re.search(r"step (\d+)", link.inner_text())[1])  # type: ignore[index]
    link.click()
    tab.wait_for_selector("#player[data-ready]")
    assert state(tab)[0] == step


def test_stopping_beliefs_and_heatmaps_draw_and_lead_on(tab: Any) -> None:
    tab.goto("/stopping?run=l1")
    tab.wait_for_selector("#stopping-note >> text=episodes of l1")
    tab.wait_for_selector("#stopping-worth .main-svg")
    points = tab.locator("#stopping-sufficiency .points path")
    points.first.click(force=True)
    tab.wait_for_selector("#stopping-list a")
    tab.goto("/beliefs?run=believer-correcting")
    tab.wait_for_selector("#beliefs-events .main-svg >> text=revise, to right")
    tab.goto("/heatmaps")
    tab.wait_for_selector("#heat-difference .hm image", state="attached")
    tab.wait_for_selector("#heat-a-note >> text=mean over")


@pytest.mark.parametrize(
    "page", ["/", "/episode", "/compare", "/swap", "/stopping", "/beliefs", "/audit", "/heatmaps"]
)
def test_pages_can_be_reached_by_keyboard_and_turn_dark(tab: Any, page: str) -> None:
    tab.goto("/")
    tab.wait_for_selector("#page .toolbar")
    link = tab.locator(f".nav-link[href='{page}']")
    link.focus()
    tab.keyboard.press("Enter")
    tab.wait_for_selector(f".nav-link[href='{page}'][aria-current=page]")
    tab.wait_for_selector("#page .toolbar")
    tab.click("[aria-label='Light or dark']")
    tab.wait_for_function("['light', 'dark'].includes(document.body.dataset.agThemeMode)")
    assert tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    tab.wait_for_load_state("networkidle")
