"""The command line: exit status, JSON, one-line errors."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from mnistpro_replay.cli import context
from mnistpro_replay.cli.main import main


class Result(NamedTuple):
    status: int
    out: str
    err: str


Cli = Callable[..., Result]


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cli:
    """Run a command in this process, in a working folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MNISTPRO_REPLAY_STORE", raising=False)
    monkeypatch.setenv("COLUMNS", "140")

    def run(*arguments: object) -> Result:
        for name, value in vars(context.Globals()).items():
            setattr(context.OPTIONS, name, value)
        monkeypatch.setattr(sys, "argv", ["mnistpro-replay", *map(str, arguments)])
        try:
            main()
            status = 0
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else int(bool(stop.code))
        captured = capsys.readouterr()
        return Result(status, captured.out, captured.err)

    return run


@pytest.fixture
def store(sample_store, tmp_path: Path) -> Path:
    """A copy of the store with the bundled runs, free to be changed."""
    shutil.copytree(sample_store.path, tmp_path / "s")
    return tmp_path / "s"


def test_ingest_reports_and_is_idempotent(cli: Cli, sample_folders: dict[int, Path]) -> None:
    result = cli("ingest", sample_folders[1], "--name", "sol", "--json")
    assert result.status == 0
    report = json.loads(result.out)
    assert (report["runs"], report["episodes"]) == (["sol"], 20)
    assert report["steps"] > 100
    again = json.loads(cli("--json", "ingest", sample_folders[1], "--name", "sol").out)
    assert again["episodes"] == 20
    runs = json.loads(cli("runs", "--json").out)
    assert [(row["run"], row["episodes"]) for row in runs] == [("sol", 20)]
    low, high = runs[0]["accuracy_interval"]
    assert low < runs[0]["accuracy_scored"] < high and runs[0]["n_scored"] == 20


def test_globals_stand_before_and_after_the_command(cli: Cli, store: Path) -> None:
    before = cli("--store", store, "--json", "runs")
    after = cli("runs", f"--store={store}", "--json")
    assert before == after and json.loads(before.out)


def test_json_leaves_stdout_to_one_document(cli: Cli, store: Path) -> None:
    for command in (
        ("runs",),
        ("show", "l1"),
        ("show", "l1#3"),
        ("verify",),
        ("predictors",),
        ("schema",),
        ("doctor",),
    ):
        result = cli(*command, "--store", store, "--json")
        json.loads(result.out)
        assert result.status == 0


def test_verify_counts_and_fails_on_a_mismatch(
    cli: Cli, store: Path, sample_folders: dict, tmp_path: Path
) -> None:
    good = json.loads(cli("verify", "--traces", "l1", "--store", store, "--json").out)
    assert (
        good["exact"] > 30
        and good["mismatch"] == 0
        and good["not_checkable"] == good["reasons"]["not_recorded"]
    )
    from mnistpro_replay.traces.world import from_png, to_png

    folder = tmp_path / sample_folders[1].name
    shutil.copytree(sample_folders[1], folder)
    path = folder / "episode_2" / "step_1.png"
    picture = from_png(path.read_bytes(), "RGB").copy()
    picture[0, 0] ^= 255
    path.write_bytes(to_png(picture))
    result = cli("verify", "--traces", folder, "--store", tmp_path / "other", "--json")
    assert result.status == 1
    report = json.loads(result.out)
    assert report["mismatch"] == 1
    assert (report["mismatches"][0]["episode"], report["mismatches"][0]["step"]) == ("2", 0)


def test_verify_says_when_nothing_could_be_checked(cli: Cli, store: Path) -> None:
    result = cli("verify", "--traces", "l1#19", "--store", store)
    assert result.status == 1 and "no recorded picture" in result.err


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("swap", "--traces", "nope", "--predictor", "ocr"), "no run 'nope'"),
        (("swap", "--traces", "l1", "--predictor", "nope"), "no predictor 'nope'"),
        (("swap", "--traces", "l1", "--predictor", "ocr", "--representation", "nope"), "no representation"),
        (("swap", "--traces", "l1", "--predictor", "ocr", "--representation", "glimpses"), "reads canvas"),
        (("canvas", "--traces", "l1#99", "--out", "c"), "no episode 99"),
        (("canvas", "--traces", "l1", "--at", "-1", "--out", "c"), "--at takes"),
        (("canvas", "--traces", "l1", "--evidence", "all", "--out", "c"), "no evidence"),
        (("show", "l*"), "names 2 runs"),
        (("plot", "l1", "--out", "x.png"), "one episode"),
        (("plot", "l1#1", "--out", "x.bmp"), "ending"),
        (("ingest", "missing-folder"), "no file or folder"),
        (("ingest", ".", "--format", "nope"), "no format"),
        (("rename", "nope", "new"), "no run 'nope'"),
        (("remove", "nope", "--yes"), "no run 'nope'"),
        (("run", "--policy", "nope", "--predictor", "ocr"), "nope"),
        (("runs", "--config", "missing.toml", "--store"), "--store needs a value"),
    ],
)
def test_a_wrong_call_is_one_line_and_status_2(cli: Cli, store: Path, command: tuple, says: str) -> None:
    pytest.importorskip("rapidocr")
    arguments = command if command[-1] == "--store" else (*command, "--store", store)
    result = cli(*arguments)
    assert result.status == 2
    assert says in result.err.replace("\n", " ")
    assert "Traceback" not in result.err and result.out == ""


def test_no_store_is_one_line(cli: Cli) -> None:
    result = cli("runs")
    assert (result.status, result.out) == (2, "")
    assert "no store" in result.err and "ingest" in result.err


def test_strict_turns_diagnostics_into_status_1(cli: Cli, sample_folders: dict[int, Path]) -> None:
    assert cli("ingest", sample_folders[1], "--name", "a", "--strict").status == 1
    assert json.loads(cli("runs", "--json").out)[0]["run"] == "a"


def test_nothing_readable_is_an_error_that_says_so(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "readme.txt").write_text("nothing")
    result = cli("ingest", tmp_path / "x")
    assert result.status == 2 and "known format" in result.err


def test_canvas_writes_one_file_an_episode(cli: Cli, store: Path, tmp_path: Path) -> None:
    assert cli("canvas", "--traces", "l2#1,3", "--out", tmp_path / "c", "--store", store).status == 0
    assert sorted(p.name for p in (tmp_path / "c").rglob("*.png")) == ["1.png", "3.png"]


def test_swap_dry_run_asks_nothing(cli: Cli, store: Path) -> None:
    pytest.importorskip("rapidocr")
    planned = json.loads(
        cli("swap", "--traces", "l*", "--predictor", "ocr", "--dry-run", "--store", store, "--json").out
    )
    assert planned["predictor_calls"] > 0 and planned["table"] == []
    made = json.loads(cli("swap", "--traces", "l*", "--predictor", "ocr", "--store", store, "--json").out)
    assert made["predictor_calls"] == planned["predictor_calls"]
    again = json.loads(cli("swap", "--traces", "l*", "--predictor", "ocr", "--store", store, "--json").out)
    assert (again["predictor_calls"], again["cached"]) == (0, made["predictor_calls"])
    assert again["table"] == made["table"]
    assert {"n", "original", "swapped", "p"} <= set(again["table"][0])


def test_alias_and_path_name_traces(cli: Cli, sample_folders: dict[int, Path], tmp_path: Path) -> None:
    (tmp_path / "mnistpro-replay.toml").write_text(f'[traces.mine]\npath = "{sample_folders[1]}"\n')
    result = cli("canvas", "--traces", "mine#0", "--out", tmp_path / "c", "--store", tmp_path / "new")
    assert result.status in (0, 2)
    cli("ingest", sample_folders[2], "--name", "other", "--store", tmp_path / "new")
    assert (
        cli("canvas", "--traces", "mine#0", "--out", tmp_path / "c", "--store", tmp_path / "new").status == 0
    )


def test_rename_tag_and_remove(cli: Cli, store: Path) -> None:
    assert cli("rename", "l1", "first", "--store", store).status == 0
    assert cli("tag", "first", "a", "b", "--store", store).status == 0
    tagged = json.loads(cli("runs", "--tag", "a", "--store", store, "--json").out)
    assert [row["run"] for row in tagged] == ["first"]
    assert cli("remove", "first", "--yes", "--store", store).status == 0
    assert [row["run"] for row in json.loads(cli("runs", "--store", store, "--json").out)] == ["l2"]


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv=['mnistpro-replay','--help']\n"
        "from mnistpro_replay.cli.main import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "heavy = {'polars','dash','plotly','duckdb','numpy','scipy','statsmodels','pyarrow','deltalake','numba',"
        "'PIL','skimage','onnxruntime','gymnasium','pydantic_ai','rich'}\n"
        "print('heavy:', sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/")
    assert done.stdout.splitlines()[-1] == "heavy: []"
    assert "swap" in done.stdout


def test_missing_extra_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from mnistpro_replay.schemas.extras import MissingExtra, require

    with pytest.raises(MissingExtra, match=r"pip install 'mnistpro-replay\[ocr\]'"):
        require("a_module_that_is_not_there", "ocr")
