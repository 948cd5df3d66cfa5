"""The report and the figures: self-contained, escaped, every number with its n."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mnistpro_replay.analysis.database import Database
from mnistpro_replay.analysis.paper_figures import FIGURES, plain
from mnistpro_replay.analysis.report import report
from mnistpro_replay.traces.ingest import ingest
from mnistpro_replay.traces.store import Store
from mnistpro_replay.traces.world import embedded


@pytest.fixture(scope="module")
def database(sample_folders: dict[int, Path], tmp_path_factory: pytest.TempPathFactory) -> Database:
    store = Store(tmp_path_factory.mktemp("report"), create=True)
    ingest(store, [sample_folders[1]], embedded(), name="<b>one</b>")
    ingest(store, [sample_folders[2]], embedded(), name="two")
    return Database(store, posterior="last")


@pytest.fixture(scope="module")
def page(database: Database) -> str:
    return report(database, "A & B")


def test_it_leads_with_the_answer(page: str) -> None:
    body = page[page.index("<body>") :]
    assert body.index("In short") < body.index("Runs") < body.index("Why episodes failed")
    assert re.search(r"\d+ of 40 episodes in 2 runs failed", body)


def test_it_needs_no_network(page: str) -> None:
    own = page[page.index("<body>") :]
    assert not re.search(r"(?:src|href)=[\"']https?:", own)
    assert "data:image/png;base64," in own


def test_run_names_are_escaped(page: str) -> None:
    own = page[page.index("<body>") :]
    assert "<b>one</b>" not in own
    assert "&lt;b&gt;one&lt;/b&gt;" in own
    assert "<title>A &amp; B</title>" in page


def test_every_figure_states_n_and_definition(page: str) -> None:
    own = page[page.index("<body>") :]
    for name in ("gaps", "4a", "3a", "3b", "3c"):
        figure = FIGURES[name]
        at = own.index(figure.title)
        end = own.index("</section>", at)
        assert figure.definition.split(":")[0].replace("'", "&#x27;") in own[at:end]
        assert re.search(r"n = \d+", own[at:end])


@pytest.mark.parametrize("name", FIGURES)
def test_figures_have_rows_with_n(database: Database, name: str) -> None:
    rows = FIGURES[name].rows(database)
    if name == "4b":
        assert rows == []
        return
    assert rows
    for row in plain(rows):
        assert row["n"] > 0
    assert FIGURES[name].draw(rows).data


def test_positions_add_up(database: Database) -> None:
    """2 * exact + one right = left right + right right, over valid answers (the paper's own arithmetic)."""
    kinds = {row["run"]: row for row in FIGURES["3b"].rows(database) if row["level"] == 2}
    places = {(row["run"], row["position"]): row for row in FIGURES["3a"].rows(database) if row["level"] == 2}
    k = lambda value: round(value.interval.estimate * value.interval.n)  # noqa: E731
    left, right = k(places["two", "digit 1"]["accuracy"]), k(places["two", "digit 2"]["accuracy"])
    assert 2 * k(kinds["two"]["exact"]) + k(kinds["two"]["some_right"]) == left + right
