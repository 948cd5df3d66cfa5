"""Tables that no log can be compared with: swaps, gaps, leaderboard, claims, the paper beside ours, printing."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnistpro_replay.analysis import claims
from mnistpro_replay.analysis.cohorts import in_cohort
from mnistpro_replay.analysis.database import Database
from mnistpro_replay.analysis.measures import measured, with_averages
from mnistpro_replay.analysis.paper import model_of, published_results, read_csv
from mnistpro_replay.analysis.tables import TABLES, Options, plain
from mnistpro_replay.replay.plan import plan_for
from mnistpro_replay.replay.swap import Outcome, swap
from mnistpro_replay.schemas import PredictorInput, Reading
from mnistpro_replay.traces.store import Store

Rows = list[dict[str, Any]]


class Scripted:
    """A predictor whose answer depends on the pixels it sees and on its name."""

    version = "1"
    prompt_hash = ""
    settings: Mapping[str, Any] = {}
    representations: Sequence[str] = ("canvas", "glimpses", "full")
    concurrency = 1

    def __init__(self, name: str, salt: int) -> None:
        self.name, self.salt = name, salt

    def predict(self, item: PredictorInput) -> Reading:
        ink = sum(int((image == 0).sum()) for image in item.images)
        return Reading("".join(str((ink * self.salt + panel) % 10) for panel in range(item.n_panels)))


class Swapped:
    """The bundled runs as Claude-5-Opus, read by three predictors, and what each read."""

    def __init__(self, store: Store) -> None:
        self.store = store
        for name in ("l1", "l2"):
            run, row = store.run(name), store.run_row(name)
            run.model, run.horizon = "anthropic/claude-5-opus", 1
            store.write_run_row(run, row)
        self.outcomes: dict[tuple[str, str, str], Outcome] = {}
        for predictor in (Scripted("claude-5-opus", 3), Scripted("b", 7), Scripted("c", 1)):
            for form in ("canvas", "glimpses") if predictor.name != "c" else ("canvas",):
                for run in ("l1", "l2"):
                    plan = plan_for(store, [(run, None)], predictor, form=form)
                    self.outcomes[predictor.name, form, run] = swap(store, plan, predictor)

    def right(self, predictor: str, form: str, run: str) -> list[tuple[bool, bool]]:
        """(own answer right, predictor right) of scored episodes."""
        return [
            (bool(pair.task.episode.correct), bool(pair.correct))
            for pair in self.outcomes[predictor, form, run].pairs
            if pair.task.episode.stop_reason != "error" and pair.task.episode.correct is not None
        ]


@pytest.fixture(scope="module")
def swapped(sample_store: Store, tmp_path_factory: pytest.TempPathFactory) -> Swapped:
    return Swapped(Store(shutil.copytree(sample_store.path, tmp_path_factory.mktemp("swapped") / "s")))


@pytest.fixture(scope="module")
def database(swapped: Swapped) -> Database:
    return Database(swapped.store, posterior="last")


def rows_of(database: Database, name: str, **options: Any) -> Rows:
    return plain(TABLES[name].rows(database, Options(**options)))


def test_gaps_add_up_exactly(database: Database) -> None:
    for evidence in ("window", "visible_exact"):
        rows = rows_of(database, "gaps", evidence=evidence)
        for run in ("l1", "l2"):
            terms = {row["statistic"]: row for row in rows if row["run"] == run and "predictor" in row}
            parts = ("reference_error", "acquisition", "interpretation", "no_answer")
            assert sum(terms[part]["value"] for part in parts) == pytest.approx(
                terms["agent_error"]["value"], abs=1e-12
            )
            assert len({terms[part]["n"] for part in (*parts, "agent_error")}) == 1
            known = database.query(
                "SELECT avg(1 - correct::INT) AS error, avg(1 - coalesce(answer_full = label, false)::INT) AS whole "
                "FROM trials WHERE run = $run AND scored AND posterior_full IS NOT NULL",
                {"run": run},
            )
            assert terms["agent_error"]["value"] == pytest.approx(known["error"][0])
            assert terms["reference_error"]["value"] == pytest.approx(known["whole"][0])
            read = [row for row in rows if row["run"] == run and row["statistic"].startswith("reference: ")]
            assert len(read) == 2 and all(row["n"] > 0 for row in read), "calibration is told beside the gaps"


def test_canvas_terms_split_the_same_episodes(database: Database, swapped: Swapped) -> None:
    rows = {
        (row["run"], row["predictor"], row["statistic"]): row
        for row in rows_of(database, "gaps")
        if row.get("predictor")
    }
    assert not any(predictor != "claude-5-opus" and name == "construction" for _, predictor, name in rows)
    for run in ("l1", "l2"):
        answered = [
            (bool(a.correct), bool(g.correct), bool(a.task.episode.correct))
            for a, g in zip(
                swapped.outcomes["claude-5-opus", "canvas", run].pairs,
                swapped.outcomes["claude-5-opus", "glimpses", run].pairs,
                strict=True,
            )
            if a.task.episode.answer is not None and a.task.episode.stop_reason != "error"
        ]
        canvas, glimpses, own = np.array(answered, float).mean(axis=0)
        key = run, "claude-5-opus"
        assert rows[*key, "construction"]["value"] == pytest.approx(canvas - own)
        assert rows[*key, "construction"]["n"] == len(answered)
        assert rows[*key, "format"]["value"] == pytest.approx(glimpses - own)
        assert rows[*key, "organisation"]["value"] == pytest.approx(canvas - glimpses)
        f = rows[*key, "construction"]["value"] + rows[*key, "readout"]["value"] + own
        assert 0 <= f <= 1


def test_swap_matrix_and_table_3_count_what_was_read(database: Database, swapped: Swapped) -> None:
    matrix = {(r["predictor"], r["representation"], r["run"]): r for r in rows_of(database, "swap-matrix")}
    assert set(matrix) == set(swapped.outcomes)
    for key, row in matrix.items():
        pairs = swapped.right(*key)
        assert row["n"] == len(pairs)
        assert row["own"] == pytest.approx(np.mean([own for own, _ in pairs]))
        assert row["accuracy"] == pytest.approx(np.mean([read for _, read in pairs]))
        assert row["difference"] == pytest.approx(row["accuracy"] - row["own"])
    table = [row for row in rows_of(database, "3") if row["run"]]
    assert {(row["predictor"], row["run"], row["own_model"]) for row in table} == {
        (name, run, name == "claude-5-opus") for name in ("b", "c", "claude-5-opus") for run in ("l1", "l2")
    }
    for row in table:
        assert row["accuracy_with"] == matrix[row["predictor"], "canvas", row["run"]]["accuracy"]
        assert row["condition"].endswith("+offline_canvas")


def test_only_the_newest_reply_counts(swapped: Swapped, tmp_path: Path) -> None:
    store = Store(shutil.copytree(swapped.store.path, tmp_path / "s"))
    before = rows_of(Database(store), "swap-matrix")
    predictor = Scripted("b", 7)
    swap(store, plan_for(store, [("l1", None)], predictor, form="canvas"), predictor, fresh=True)
    assert rows_of(Database(store), "swap-matrix") == before


def test_leaderboard_over_the_same_canvases(database: Database, swapped: Swapped) -> None:
    rows = rows_of(database, "interpretation")
    everything = {row["predictor"]: row for row in rows if row["part"] == "all"}
    assert set(everything) == {"b", "c", "claude-5-opus"}
    assert len({row["n"] for row in everything.values()}) == 1
    labelled = {
        name: [p.correct for run in ("l1", "l2") for p in swapped.outcomes[name, "canvas", run].pairs]
        for name in everything
    }
    for name, row in everything.items():
        assert row["n"] == len(labelled[name])
        assert row["accuracy"] == pytest.approx(np.mean(labelled[name]))
    pairs = [row for row in rows if row["part"] == "pairs"]
    assert len(pairs) == 3
    assert all(row["difference_p"] <= row["p_holm"] for row in pairs)
    first = next(row for row in pairs if row["predictor"] == "b - c")
    assert first["difference"] == pytest.approx(everything["b"]["accuracy"] - everything["c"]["accuracy"])
    by_coverage = {row["part"]: row["n"] for row in rows if row["part"].startswith("least")}
    assert sum(by_coverage.values()) == everything["b"]["n"]


def test_power_of_a_pair_of_runs(sample_store: Store, tmp_path: Path) -> None:
    store = Store(shutil.copytree(sample_store.path, tmp_path / "s"))
    database = Database(store)
    assert rows_of(database, "power") == []
    assert rows_of(database, "agreement") == []


def test_published_claims_have_the_published_verdicts() -> None:
    rows = {row["id"]: row for row in claims.evaluate(claims.published())}
    told = read_csv("claims")
    assert len(told) == len(rows) == 24
    for claim in told:
        row = rows[claim["id"]]
        assert (str(row["n"]), str(row["n_true"])) == (claim["n"], claim["n_true"]), claim["id"]
        assert row["verdict"] == claim["published_verdict"], claim["id"]
        assert row["counterexamples"] == claim["counterexamples"], claim["id"]


@pytest.mark.parametrize(
    ("table", "metric", "value", "claim"),
    [
        (2, "average_steps", 90.0, "steps_are_moves_plus_one"),
        (2, "accuracy", 99.0, "no_model_above_30_on_level2"),
        (3, "accuracy", 99.0, "online_canvas_improves_gemini_over_image_only"),
        (8, "accuracy", 99.0, "larger_window_more_accurate"),
        (4, "accuracy", 0.0, "persistent_memory_adds_nothing"),
        (2, "accuracy", 42.0, "coverage_below_accuracy_gap"),
    ],
)
def test_a_changed_number_breaks_the_claim(table: int, metric: str, value: float, claim: str) -> None:
    chosen = {"image_only", "textual_state", "metric_grid_map", "agentic_mcp"}
    changed = {
        cell: value if (cell.table, cell.metric) == (table, metric) and cell.condition in chosen else number
        for cell, number in published_results().items()
    }
    row = next(row for row in claims.evaluate(claims.Results(changed)) if row["id"] == claim)
    assert row["verdict"] == "fails" and row["counterexamples"]


def test_claims_on_runs_say_what_they_cannot_test(database: Database) -> None:
    rows = rows_of(database, "claims")
    assert len(rows) == 24
    assert {row["verdict"] for row in rows} <= {"holds", "fails", "not_testable"}
    by_id = {row["id"]: row for row in rows}
    assert by_id["swap_l1_is_a_count_of_200"]["verdict"] == "not_testable"
    assert all((row["n"] == 0) == (row["verdict"] == "not_testable") for row in rows)


def test_the_paper_beside_ours(database: Database, swapped: Swapped) -> None:
    run = swapped.store.run("l1")
    rows = [row for row in rows_of(database, "2", compare_paper=True) if row["run"] == "l1"]
    cells = {
        c.metric: v
        for c, v in published_results().items()
        if (c.table, c.model, c.condition, c.level) == (2, "Claude-5-Opus", run.memory, 1)
    }
    accuracy = next(row for row in rows if row["metric"] == "accuracy_all")
    assert accuracy["paper"] == pytest.approx(cells["accuracy"] / 100)
    assert accuracy["paper_n"] == 100
    assert accuracy["paper_low"] < accuracy["paper"] < accuracy["paper_high"]
    assert accuracy["difference"] == pytest.approx(accuracy["ours"] - accuracy["paper"])
    assert accuracy["difference_low"] < accuracy["difference"] < accuracy["difference_high"]
    steps = next(row for row in rows if row["metric"] == "steps")
    assert steps["paper"] == cells["average_steps"] and steps["paper_low"] is None


def test_models_are_found_by_name_or_tag() -> None:
    assert model_of("anthropic/claude-5-opus") == "Claude-5-Opus"
    assert model_of("gpt-5.6-sol-xhigh") == "GPT-5.6-Sol (xhigh)"
    assert model_of("mine", ["x", "paper:Qwen-3.8-27B"]) == "Qwen-3.8-27B"
    assert model_of("mine") is None and model_of(None) is None


def test_cohorts(swapped: Swapped, tmp_path: Path) -> None:
    store = Store(shutil.copytree(swapped.store.path, tmp_path / "s"))
    everything = [("l1", None), ("l2", None)]
    assert in_cohort(store, everything, "all") == everything
    for name, _ in everything:
        run = store.run(name)
        fits = (run.window, run.stride, run.horizon) == (64, 32, -1 if run.memory == "image_only" else 1)
        assert ((name, None) in in_cohort(store, everything, "paper_fig3_cohort")) == fits
    store.tag("l2", ["pilot"])
    assert in_cohort(store, everything, "pilot") == [("l2", None)]
    with pytest.raises(KeyError, match="paper_fig3_cohort"):
        in_cohort(store, everything, "nobody")


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.sampled_from("abcd")), max_size=30))
def test_measures_of_a_column(outcomes: list[tuple[bool, bool, str]]) -> None:
    import duckdb

    from mnistpro_replay.analysis.database import sql_file

    macros = (sql_file("views") or "").split("CREATE VIEW")[0]
    connection = duckdb.connect()
    connection.execute(macros)
    frame = pl.DataFrame(outcomes, {"a": pl.Boolean, "b": pl.Boolean, "canvas": pl.String}, orient="row")
    connection.register("t", frame)
    query = (
        "SELECT share(a) AS share, average(a::INT, canvas) AS average, fraction(b::INT, canvas) AS fraction, "
        "middle(a::INT) AS middle, versus(a, b) AS versus, pooled(a::INT, b::INT, canvas) AS pooled FROM t"
    )
    (row,) = plain(measured(connection.sql(query).pl()))
    n, a, b = len(outcomes), sum(o[0] for o in outcomes), sum(o[1] for o in outcomes)
    assert row["share_n"] == n
    if n == 0:
        assert all(
            row[name] is None for name in ("share", "average", "fraction", "middle", "versus", "pooled")
        )
        return
    assert row["share"] == pytest.approx(a / n) and row["average"] == pytest.approx(a / n)
    assert row["fraction"] == pytest.approx(b / n)
    assert row["versus"] == pytest.approx((a - b) / n)
    assert row["pooled"] == (pytest.approx(a / b) if b else None)
    assert row["share_low"] < row["share_high"], "never a zero-width interval"


def test_averages_over_levels_need_one_run_of_each() -> None:
    frame = pl.DataFrame(
        {
            "model": ["m", "m", "k"],
            "level": [1, 2, 1],
            "n": [10, 20, 10],
            "accuracy": [{"k": 5, "n": 10}, {"k": 2, "n": 20}, {"k": 1, "n": 10}],
        }
    )
    rows = plain(with_averages(measured(frame), ["model"]))
    assert [(row["model"], row["level"]) for row in rows] == [("m", 1), ("m", 2), ("m", "avg"), ("k", 1)]
    average = rows[2]
    assert average["accuracy"] == pytest.approx((0.5 + 0.1) / 2)
    assert average["accuracy_low"] < 0.3 < average["accuracy_high"] and average["n"] == 30


Command = Callable[..., Any]


@pytest.mark.parametrize("name", sorted(TABLES))
def test_every_table_prints(command: Command, swapped: Swapped, name: str) -> None:
    result = command("--store", swapped.store.path, "table", name, "--json")
    assert result.status == 0, result.err
    rows = json.loads(result.out)["rows"]
    assert all("n" in row for row in rows)
    assert rows or name in ("1", "4", "agreement", "power", "stopping", "survival")


@pytest.mark.parametrize("form", ["text", "md", "csv", "json", "latex"])
def test_formats_hold_every_row(command: Command, swapped: Swapped, form: str) -> None:
    result = command("--store", swapped.store.path, "table", "swap-matrix", "--format", form)
    assert result.status == 0, result.err
    assert result.out.count("claude-5-opus") >= 4
    if form == "csv":
        assert len(list(csv.DictReader(io.StringIO(result.out)))) == len(swapped.outcomes)
    if form == "text":
        assert "…" not in result.out and result.out.count("[") >= 3 * len(swapped.outcomes)
    if form == "latex":
        assert "claude-5-opus" in result.out and r"\%" in result.out and result.out.count(r"\\") == 11


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (["table", "nonsense"], 2, "swap-matrix"),
        (["table", "2", "--format", "pdf"], 2, "latex"),
        (["table", "2", "--cohort", "nobody"], 2, "paper_fig3_cohort"),
        (["table", "2", "--evidence", "x"], 2, "visible_exact"),
        (["table", "usage", "--compare-paper"], 2, "--compare-paper"),
        (["table", "2", "--published"], 2, "claims"),
        (["table", "2", "--traces", "nobody"], 2, "nobody"),
        (["analyze", "--posterior", "some"], 2, "last"),
        (["sql", "DROP VIEW runs"], 2, "read-only"),
        (["sql", "SELECT nonsense FROM runs"], 2, "nonsense"),
        (["table", "1"], 0, "natural"),
    ],
)
def test_what_a_wrong_call_is_told(
    command: Command, swapped: Swapped, arguments: list[str], status: int, told: str
) -> None:
    result = command("--store", swapped.store.path, *arguments)
    assert result.status == status
    assert told in result.err and "Traceback" not in result.err


def test_analyze_and_sql(command: Command, swapped: Swapped) -> None:
    result = command("--store", swapped.store.path, "analyze", "--posterior", "none", "--json")
    rows = {row["run"]: row for row in json.loads(result.out)["rows"]}
    assert set(rows) == {"l1", "l2"}
    for row in rows.values():
        assert row["accuracy_all_n"] >= row["accuracy_scored_n"] > 0
        assert 0 < row["coverage_window"] <= 1 and row["coverage_window_low"] < row["coverage_window_high"]
    text = command("--store", swapped.store.path, "analyze")
    assert text.status == 0 and "l1" in text.out and "calibration error" in text.out
    query = "SELECT run, count(*) AS n FROM trials GROUP BY run ORDER BY run"
    rows = json.loads(command("--store", swapped.store.path, "sql", query, "--json").out)["rows"]
    assert [row["run"] for row in rows] == ["l1", "l2"] and all(row["n"] > 0 for row in rows)


def test_claims_published_need_no_store(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = command("table", "claims", "--published", "--json")
    assert result.status == 0
    verdicts = [row["verdict"] for row in json.loads(result.out)["rows"]]
    assert verdicts == [row["published_verdict"] for row in read_csv("claims")]
