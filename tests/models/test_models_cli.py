"""Models on the command line: `swap`, `run --model`, `run --harness`, `predictors`; limits, errors, exit
statuses."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from fake_server import FakeServer

from mnistpro_replay.traces.store import Store


def scripted(request) -> str:
    return '{"action": "answer", "value": "7"}'


def test_run_and_swap_with_a_model_of_the_configuration(called, tmp_path: Path) -> None:
    with FakeServer(scripted) as server:
        status, out, _ = called("run", "--model", "local", "--episodes", "3", "--json", server=server)
        assert (status, json.loads(out)[0]["run"]) == (0, "local_image_only_L1")
        words = ("swap", "--traces", "local_image_only_L1", "--predictor", "local", "--json")
        status, out, _ = called(*words, "--dry-run", server=server)
        planned = json.loads(out)
        assert status == 0 and planned["predictor_calls"] == 3 and planned["cost"] > 0
        assert server.replies == 3, "a dry run asks nothing"
        status, out, _ = called(*words, server=server)
        done = json.loads(out)
        assert (status, done["predictor_calls"], done["failed"]) == (0, 3, 0)
        assert done["cost"] == pytest.approx(3 * 0.00054)
        again = json.loads(called(*words, server=server)[1])
        assert (again["predictor_calls"], again["cached"]) == (0, 3)


def test_a_cap_is_status_1_and_the_same_command_goes_on(called) -> None:
    words = ("run", "--model", "local", "--episodes", "5", "--name", "capped")
    with FakeServer(scripted) as server:
        status, _, err = called(*words, "--max-calls", "2", server=server)
        assert status == 1 and "--max-calls 2 reached" in err and len(err.strip().splitlines()) == 1
        assert called(*words, server=server)[0] == 0
        assert server.replies == 5
        status, _, err = called(
            "swap", "--traces", "capped", "--predictor", "local", "--max-cost", "0.0012", server=server
        )
        assert status == 1 and "--max-cost" in err
        assert server.replies == 7


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--model", "nonsense"), "no model 'nonsense'"),
        (("--model", "nobody/x"), "no provider 'nobody'"),
        (("--model", "openai/x"), "OPENAI_API_KEY"),
        (("--model", "local", "--memory", "none"), "no memory 'none'"),
        (("--model", "local", "--turn-mode", "natural", "--horizon", "2"), "keeps all pictures"),
        (("--model", "local", "--probe-at", "x"), "--probe-at"),
        (("--model", "local", "--prompts", "nowhere"), "no prompt folder"),
        (("--model", "local", "--policy", "sweep"), "run takes"),
        ((), "run takes"),
        (("--harness", "mcp"), "needs a program"),
        (("--harness", "other", "--", "x"), "no harness 'other'"),
        (("--harness", "mcp", "--arm", "A9", "--", "x"), "no arm 'A9'"),
        (("--harness", "mcp", "--rpm", "5", "--", "x"), "limits"),
    ],
)
def test_calls_that_are_wrong_are_one_line_and_status_2(called, words, says, monkeypatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    status, _, err = called("run", *words)
    assert status == 2 and says in err and len(err.strip().splitlines()) <= 2, err


@pytest.mark.parametrize("fault", ["401", "404", "400"])
def test_a_refused_key_model_or_request_is_status_2(called, fault: str) -> None:
    with FakeServer(faults=[fault] * 99) as server:
        status, _, err = called(
            "run", "--model", "local", "--episodes", "9", "--concurrency", "1", server=server
        )
        assert status == 2 and len(err.strip().splitlines()) <= 4 and "Traceback" not in err
        assert server.requests == 1, "and it is not tried for every episode"


def test_predictors_tells_what_an_alias_means(called) -> None:
    status, out, _ = called("predictors", "--json")
    rows = {row["predictor"]: row for row in json.loads(out)}
    assert status == 0 and rows["local"]["model"] == "openai-compatible/m"
    for alias in ("gemini", "claude", "gpt", "qwen", "glm"):
        assert "/" in rows[alias]["model"]


def test_a_program_plays_through_the_tools(called) -> None:
    script = (
        "import json, pathlib; from mnistpro_replay.traces.runner.harness.mailbox import call;"
        "a = json.loads(pathlib.Path('.mcp.json').read_text())['mcpServers']['glimpse']['env'];"
        "call(a['GLIMPSE_MAILBOX'], 'move', {'direction': 'up'});"
        "call(a['GLIMPSE_MAILBOX'], 'submit', {'answer': '7'})"
    )
    words = (
        "run",
        "--harness",
        "mcp",
        "--episodes",
        "2",
        "--name",
        "tools",
        "--",
        sys.executable,
        "-c",
        script,
    )
    status, _, err = called(*words)
    assert status == 0, err
    assert [e.answer for e in Store("mnistpro-store").episodes("tools")] == ["7", "7"]


def walks(request) -> str:
    """Walks twice, then answers, whatever the condition."""
    said = str(request.messages)
    turns = sum(role == "assistant" for role, _ in request.messages) or said.count("Turn ")
    if "shown a whole canvas" in said or "was explored" in said or turns > 1:
        return '{"thought": "a 7", "action": "answer", "value": "%s"}' % ("77" if "2 digits" in said else "7")
    return '{"thought": "on", "action": "move", "direction": "down"}'


def test_the_papers_tables_come_out_of_fresh_runs(called) -> None:
    conditions = [
        ("--memory", "multi_turn"),
        ("--memory", "image_only"),
        ("--memory", "image_only", "--horizon", "2"),
        ("--memory", "textual_state"),
        ("--memory", "metric_grid_map"),
        ("--memory", "online_canvas"),
    ]
    script = (
        "import json, pathlib; from mnistpro_replay.traces.runner.harness.mailbox import call;"
        "a = json.loads(pathlib.Path('.mcp.json').read_text())['mcpServers']['glimpse']['env'];"
        "call(a['GLIMPSE_MAILBOX'], 'submit', {'answer': '7'})"
    )
    with FakeServer(walks) as server:
        for condition in conditions:
            for level in ("1", "2"):
                words = ("run", "--model", "local", "--episodes", "2", "--level", level, "--control", "-q")
                status, _, err = called(*words, *condition, server=server)
                assert status == 0, err
        words = (
            "run",
            "--harness",
            "mcp",
            "--model",
            "local",
            "--episodes",
            "2",
            "--",
            sys.executable,
            "-c",
            script,
        )
        assert called(*words, server=server)[0] == 0
        assert called("swap", "--predictor", "local", "--json", server=server)[0] in (0, 1)
        rows = {}
        for table in ("1", "2", "3", "4", "7"):
            status, out, err = called("table", table, "--json", server=server)
            assert status == 0, err
            rows[table] = json.loads(out)["rows"]
    found = {table: {row.get("condition") for row in made} for table, made in rows.items()}
    assert found["1"] == {"native_multi_turn"}
    assert {"image_only", "textual_state", "metric_grid_map", "online_canvas"} <= found["2"]
    assert {"image_only+offline_canvas", "online_canvas"} <= found["3"]
    assert any(name.startswith("agentic_mcp") for name in found["4"])
    assert {2, -1} <= {row["horizon"] for row in rows["7"]}
    controls = [row["control"] for row in rows["1"] if row.get("level") in (1, 2)]
    assert controls and None not in controls
