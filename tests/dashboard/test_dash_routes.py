"""Addresses of the dashboard, without a browser."""

from __future__ import annotations

from typing import Any

import pytest

from mnistpro_replay.dashboard.source import Source


@pytest.fixture
def client(app: Any) -> Any:
    return app.server.test_client()


def test_an_episode_comes_as_one_object_with_its_tracks(client: Any) -> None:
    scene = client.get("/episode.json?run=believer-correcting&episode=2").json
    moments, steps = scene["moments"], scene["steps"]
    assert len(moments) == len(steps)  # it ends with an answer: no moment after it
    assert [m["glimpse"] for m in moments] == list(range(len(scene["glimpses"])))
    tracks = scene["tracks"]
    assert len(tracks["coverage"]) == len(tracks["posterior"]) == len(scene["glimpses"])
    assert tracks["coverage"] == sorted(tracks["coverage"]) and tracks["greedy"][0] == tracks["coverage"][0]
    assert len(tracks["beliefs"]) == len(steps)
    assert any("REVISE" in said["events"].values() for said in tracks["beliefs"])
    assert scene["neighbours"] == ["1", "3"]


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("/episode.json?run=none&episode=0", "no run 'none'"),
        ("/episode.json?run=l1&episode=999", "no episode '999'"),
        ("/compare.json?run=l1&episode=0&run=l2&episode=0", "differ"),
        ("/compare.json?run=l1&episode=0", "two to four"),
        ("/export/gif?run=odd+%3Cb%3E&episode=4", "canvas"),
    ],
)
def test_what_is_not_there_is_told_in_one_sentence(client: Any, address: str, told: str) -> None:
    answer = client.get(address)
    assert answer.status_code == 404
    assert told in answer.json["error"]


def test_pictures_are_cached_for_good_and_only_known_ones_are_given(client: Any) -> None:
    scene = client.get("/episode.json?run=l1&episode=0").json
    shown = [glimpse["image"] for glimpse in scene["glimpses"] if glimpse["image"]]
    for address in (scene["canvas"], shown[0]):
        answer = client.get(address)
        assert answer.data.startswith(b"\x89PNG")
        assert "immutable" in answer.headers["Cache-Control"]
        again = client.get(address, headers={"If-None-Match": answer.headers["ETag"]})
        assert again.status_code == 304
    for address in (
        "/picture/canvas/nothing.png",
        "/picture/other/x.png",
        "/player/x.js",
        "/player/player.html",
    ):
        assert client.get(address).status_code == 404


def test_long_thoughts_are_cut_and_come_whole_on_demand(client: Any) -> None:
    step = client.get("/episode.json?run=odd+%3Cb%3E&episode=1").json["steps"][0]
    assert len(step["thought"]) == 20_000 and step["thought_chars"] > 2_000_000
    whole = client.get("/thought.txt?run=odd+%3Cb%3E&episode=1&step=0")
    assert whole.mimetype == "text/plain" and len(whole.get_data(as_text=True)) == step["thought_chars"]


def test_exports_are_files_that_stand_alone(client: Any) -> None:
    gif = client.get("/export/gif?run=l1&episode=0")
    assert gif.data.startswith(b"GIF8") and "l1-0.gif" in gif.headers["Content-Disposition"]
    page = client.get("/export/html?run=odd+%3Cb%3E&episode=2").get_data(as_text=True)
    assert "<script>window.pwned" not in page and "src=x" not in page.split("<script", 1)[0]
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")


def test_the_overview_adds_up(source: Source) -> None:
    from mnistpro_replay.analysis.overview import OUTCOMES, matching, overview, with_intervals

    rows = with_intervals(overview(source.sums))
    assert [row["runs"] for row in rows] == [[row["name"]] for row in rows]
    for row in rows:
        assert sum(row[name] for name in OUTCOMES) == row["n"]
        assert row["accuracy"] is None or row["accuracy_low"] <= row["accuracy"] <= row["accuracy_high"]
    (both,) = overview(matching(source.sums, {"text": "L1"}), "level").to_dicts()
    assert both["runs"] == ["l1"] and both["n"] == 20
    assert matching(source.sums, {"level": 2, "text": "greedy"})["run"].to_list() == ["greedy"]


def test_pages_of_episodes_are_sorted_and_filtered_without_the_rest(source: Source) -> None:
    from mnistpro_replay.analysis.overview import episodes_page

    rows, total = episodes_page(source.episodes, ["l1", "l2"], {}, [("n_actions", True)], 0, 5)
    everything, _ = episodes_page(source.episodes, ["l1", "l2"], {}, [("n_actions", True)], 0, 1000)
    assert total == len(everything) == 40 and rows == everything[:5]
    assert [r["n_actions"] for r in everything] == sorted((r["n_actions"] for r in everything), reverse=True)
    wrong, n = episodes_page(source.episodes, ["l1"], {"outcome": "wrong"}, [], 0, 100)
    assert n == len(wrong) > 0 and not any(row["correct"] for row in wrong)
    with pytest.raises(ValueError, match="no column"):
        episodes_page(source.episodes, None, {}, [("label; DROP TABLE runs", True)], 0, 5)
