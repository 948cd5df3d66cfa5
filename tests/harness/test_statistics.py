"""Harness statistics and loops, from hand-made calls, notes and thoughts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mnistpro_replay.analysis import harness, loops
from mnistpro_replay.analysis.kernels.path import glimpse_kinds, revisits
from mnistpro_replay.schemas import Episode, Note, Run, Step, StepText, ToolCall
from mnistpro_replay.traces.store import Store

A, B = "0123456789abcdef.png", "fedcba9876543210.png"
STITCH = f"import PIL\nfor n in ['{A}', '{B}']:\n    canvas.paste(Image.open(n))\ncanvas.save('canvas.png')"
WRITTEN = ("Write", {"file_path": "s.py", "content": STITCH}, "")
GRID = "\n".join(["..##......"] * 9)


def calls(*made: tuple[str, dict, str | None]) -> list[ToolCall]:
    return [
        ToolCall(position=n, tool=tool, arguments=arguments, result=result)
        for n, (tool, arguments, result) in enumerate(made)
    ]


@pytest.mark.parametrize(
    ("made", "built", "reopened"),
    [
        ([("Bash", {"command": STITCH}, "")], True, False),
        ([("Bash", {"command": STITCH}, ""), ("Read", {"file_path": "/w/canvas.png"}, None)], True, True),
        ([("Read", {"file_path": "canvas.png"}, None), ("Bash", {"command": STITCH}, "")], True, False),
        ([WRITTEN, ("Bash", {"command": "python s.py"}, "")], True, False),
        ([WRITTEN], False, None),
        ([("Bash", {"command": "show(glob('observations/*.png'))"}, GRID)], True, None),
        ([("Bash", {"command": "show(glob('observations/*.png'))"}, "done\n7")], False, None),
        ([("Bash", {"command": f"open('{A}').save('x.png')"}, "")], False, None),
        ([("mcp__glimpse__view_image", {"name": A}, "Picture")], False, None),
        ([], False, None),
    ],
)  # fmt: skip
def test_a_canvas_is_built_and_reopened(made: list, built: bool, reopened: bool | None) -> None:
    found = harness.process(calls(*made))
    assert (found.canvas_built, found.canvas_reopened) == (built, reopened)
    if built:
        assert made[found.positions["canvas_built"]][0] == "Bash"


@pytest.mark.parametrize(
    ("notes", "command", "executed"),
    [
        ("Use stitch.py to paste all.", "python stitch.py", True),
        ("Use stitch.py to paste all.", "ls", False),
        ("Run `canvas.paste(img, (x, y))` for each.", "canvas.paste(img, (x, y))\n", True),
        ("```python\nfor p in pictures: paste(p)\n```", "x = 1; for p in pictures: paste(p)", True),
        ("Sweep in rows.", "python stitch.py", None),
        ("", "python stitch.py", None),
    ],
)
def test_a_stored_procedure_is_executed(notes: str, command: str, executed: bool | None) -> None:
    kept = [Note(position=0, kind="notes_before", text=notes), Note(position=1, text="stitch.py again")]
    assert harness.process(calls(("Bash", {"command": command}, "")), kept).procedure_executed is executed


BUILT = ("Bash", {"command": STITCH}, "")
REOPENED = ("Read", {"path": "canvas.png"}, None)
ONE_FILE = ("Bash", {"command": f"Image.open('{A}').save('canvas.png')"}, "")
STORED, RUN_IT = "run stitch.py", ("Bash", {"command": "python stitch.py"}, "")


def episode(number: int, *made: tuple, before: str | None = None, after: str | None = None) -> Episode:
    texts = [("notes_before", before), ("notes_after", after)]
    found = Episode(episode_id=str(number), source_episode_id=str(number), execution_position=number)
    found.tool_calls = calls(*made)
    found.notes = [Note(position=n, kind=k, text=t) for n, (k, t) in enumerate(texts) if t is not None]
    return found


def counted(rows: list, part: str = "all") -> dict[str, tuple]:
    return {
        row["statistic"]: (round((row["share"].interval.estimate or 0) * row["n"]), row["n"], row["reason"])
        for row in rows
        if row["part"] == part
    }


def test_episodes_count_only_where_the_question_arises() -> None:
    episodes = [episode(0, BUILT, REOPENED), episode(1, ONE_FILE, before=STORED), episode(2), episode(3)]
    rows = harness.run_rows(Run(run="r", arm="A0"), episodes)
    assert counted(rows) == {
        "canvas built": (1, 4, None),
        "canvas reopened": (1, 1, None),
        "procedure executed": (0, 1, None),
    }
    built = rows[0]["share"].interval
    assert built.low < 0.25 < built.high and all(row["rule"] for row in rows)
    assert rows[0]["shown_by"] == [{"episode": "0", "execution_position": 0, "call": 0}]
    alone = harness.run_rows(Run(run="r"), episodes, {"2", "3"})
    assert counted(alone) == {
        "canvas built": (0, 2, None),
        "canvas reopened": (0, 0, "no_picture"),
        "procedure executed": (0, 0, "no_procedure"),
    }
    assert alone[1]["share"].interval.estimate is None


@pytest.mark.parametrize(
    ("run", "episodes", "reason"),
    [
        (Run(run="r"), [episode(0), episode(1)], "no_tool_calls"),
        (Run(run="r", arm="A1"), [episode(0), episode(1)], "no_tool_calls"),
        (
            Run(run="r", source_format="runner"),
            [episode(0, ("move", {"direction": "up"}, ""))],
            "not_recorded",
        ),
        (Run(run="r", source_format="slots"), [episode(0, ("move", {"direction": "up"}, ""))], None),
    ],
)
def test_runs_that_record_no_programs_have_a_reason_and_no_share(run: Run, episodes: list, reason) -> None:
    for row in harness.run_rows(run, episodes):
        if reason is None:
            assert row["reason"] != "not_recorded"
        else:
            assert (row["reason"], row["n"], row["share"].interval.estimate) == (reason, 0, None)


def test_notes_are_those_that_the_episode_before_left() -> None:
    # Listed out of order: position 0 learns, 1 runs it, 2 does not, 4 follows a gap and is not known.
    episodes = [
        episode(4, RUN_IT),
        episode(1, RUN_IT, after=STORED),
        episode(0, RUN_IT, after=STORED),
        episode(2, ("Bash", {"command": "ls"}, "")),
    ]
    rows = harness.run_rows(Run(run="r", arm="A1"), episodes)
    row = next(row for row in rows if row["statistic"] == "procedure executed" and row["part"] == "all")
    assert (row["n"], row["share"].interval.estimate, row["first_at"]) == (2, 0.5, 1)
    assert counted(rows, "first half")["procedure executed"] == (1, 1, None)
    assert counted(rows, "second half")["procedure executed"] == (0, 1, None)
    assert counted(harness.run_rows(Run(run="r", arm="A1"), episodes, {"2"}))["procedure executed"] == (
        0,
        1,
        None,
    )
    nothing_carried = harness.run_rows(Run(run="r", arm="A0"), episodes)
    assert counted(nothing_carried)["procedure executed"] == (0, 0, "no_procedure")
    assert {row["part"] for row in nothing_carried} == {"all"}


def test_halves_need_an_order_and_the_middle_belongs_to_the_second() -> None:
    episodes = [episode(n, BUILT) if n < 2 else episode(n, ONE_FILE) for n in (3, 0, 4, 2, 1)]
    rows = harness.run_rows(Run(run="r", arm="A2"), episodes)
    assert counted(rows, "first half")["canvas built"][:2] == (2, 2)
    assert counted(rows, "second half")["canvas built"][:2] == (0, 3)
    episodes[0].execution_position = None
    assert {row["part"] for row in harness.run_rows(Run(run="r", arm="A2"), episodes)} == {"all"}


@pytest.mark.parametrize(
    ("thought", "direction"),
    [
        ("I see a stroke at the left. I will move down.", "down"),
        ("First I go right, then I continue to move up.", "up"),
        ("The digit goes on upwards; heading back left now.", "left"),
        ("I will not move right.", None),
        ("A loop on the left side.", None),
        ("Moving the window further downward to trace the tail.", "down"),
        ("", None),
        (None, None),
    ],
)
def test_a_plan_is_the_last_stated_direction(thought: str | None, direction: str | None) -> None:
    assert loops.planned_direction(thought) == direction


def walk(number: int, *moves: tuple[str, tuple[int, int], str | None]) -> Episode:
    """An episode from (0, 0): direction, where it led, the thought before it."""
    found = Episode(episode_id=str(number), source_episode_id=str(number), start=(0, 0), canvas=f"c{number}")
    for n, (direction, where, said) in enumerate(moves):
        found.steps.append(
            Step(step=n, action_kind="move", direction=direction, window_after=where, shown=True)
        )
        found.step_texts.append(StepText(step=n, thought=said))
    return found


LOOPS = walk(
    0,
    ("right", (32, 0), "I move right."),
    ("left", (0, 0), "I move left."),
    ("right", (32, 0), "I move left."),
    ("left", (0, 0), None),
    ("up", (0, 0), "I go up."),
)
GOES_ON = walk(
    1, ("right", (32, 0), "I move left."), ("down", (32, 32), "I go down."), ("down", (32, 64), None)
)

ONCE = walk(2, ("right", (32, 0), "right"), ("left", (0, 0), "I go left"), ("down", (0, 32), "x"))


def test_moves_that_led_back_are_judged_by_their_own_plans() -> None:
    verdicts = [(move.step, move.verdict) for move in loops.loop_moves(LOOPS)]
    assert verdicts == [(1, "followed"), (2, "against"), (3, "unstated"), (4, "followed")]
    assert loops.loop_moves(GOES_ON) == []
    LOOPS.steps[-1].shown = False
    assert len(loops.loop_moves(LOOPS)) == 3, "a glimpse that was not shown is no revisit"
    LOOPS.steps[-1].shown = True


def test_an_episode_loops_where_half_of_its_moves_went_back() -> None:
    assert loops.looping(LOOPS) and not loops.looping(GOES_ON)
    short = walk(2, ("right", (32, 0), None), ("left", (0, 0), None))
    assert not loops.looping(short)
    against_the_wall = walk(3, *[("up", (0, 0), None)] * 5)
    assert not loops.looping(against_the_wall)


def test_loops_by_run() -> None:
    rows = loops.run_rows(Run(run="r"), [LOOPS, GOES_ON, ONCE])
    assert [(row["part"], *counted_loop(row)) for row in rows] == [
        ("all", "followed", 3, 5),
        ("all", "against", 1, 5),
        ("all", "unstated", 1, 5),
        ("looping", "followed", 2, 4),
        ("looping", "against", 1, 4),
        ("looping", "unstated", 1, 4),
    ]
    assert [row["means"] for row in rows[:3]] == ["planning error", "instruction following", "no plan stated"]
    assert rows[1]["shown_by"] == [{"episode": "0", "step": 2, "direction": "right", "planned": "left"}]
    assert rows[0]["share"].interval.low < 0.6 < rows[0]["share"].interval.high


def counted_loop(row: dict) -> tuple[str, int, int]:
    return row["statistic"], round(row["share"].interval.estimate * row["n"]), row["n"]


@pytest.mark.parametrize(
    ("episodes", "reason"),
    [
        ([], "not_recorded"),
        ([GOES_ON], "no_revisits"),
        ([walk(3, *[("up", (0, 0), None)] * 5)], "no_thoughts"),
    ],
)
def test_without_thoughts_or_revisits_there_is_no_share(episodes: list, reason: str) -> None:
    for row in loops.run_rows(Run(run="r"), episodes):
        assert (row["reason"], row["n"], row["share"].interval.estimate) == (reason, 0, None)


@pytest.mark.parametrize("name", ["l1", "l2"])
def test_moves_that_led_back_are_the_revisits_of_a1(sample_store: Store, name: str) -> None:
    found = 0
    for each in sample_store.episodes(name, texts=True):
        if windows := each.windows():
            kinds = glimpse_kinds(np.array(windows), 32, np.ones(len(windows)))
            assert len(loops.loop_moves(each)) == revisits(kinds).n_revisits
            found += len(loops.loop_moves(each))
    assert found


@pytest.fixture
def tool_store(tmp_path: Path) -> Path:
    """Runs `A1` (tools, notes), `plain` (a run without tools that loops)."""
    store = Store(tmp_path / "store", create=True)
    learned = [episode(n, BUILT, REOPENED, before="" if n < 2 else STORED) for n in range(4)]
    learned[2].tool_calls += calls(RUN_IT)
    for name, arm, played in (("tools", "A1", learned), ("plain", None, [LOOPS, GOES_ON, ONCE])):
        with store.writer(
            Run(run=name, arm=arm, harness="mcp" if arm else "turn_based", model="m"), name
        ) as out:
            for each in played:
                out.add(each)
    return tmp_path / "store"


@pytest.mark.parametrize("form", ["text", "md", "csv", "json", "latex"])
@pytest.mark.parametrize(
    ("name", "rules", "words"),
    [
        ("harness", harness.RULES, ["second half", "no_tool_calls", "100.0"]),
        (
            "loops",
            {k: rule for k, (_, rule) in loops.VERDICTS.items()},
            ["planning error", "not_recorded", "60.0"],
        ),
    ],
)
def test_each_table_is_printed_with_its_rules(
    command, tool_store: Path, name: str, rules: dict[str, str], words: list[str], form: str
) -> None:
    result = command("--store", tool_store, "table", name, "--format", form)
    assert result.status == 0, result.err
    said = " ".join(result.out.split()).replace("\\", "")
    assert all(rule in said for rule in rules.values())
    machine = form in ("csv", "json")
    assert all(word in said for word in (words[:-1] if machine else words)), said
    if form == "json":
        rows = json.loads(result.out)["rows"]
        assert all("n" in row for row in rows)
        assert all(row["share"] is None for row in rows if row["reason"]) and any(r["shown_by"] for r in rows)
    else:
        assert "shown_by" not in result.out and "'episode'" not in result.out


def test_selected_episodes_keep_the_order_of_the_run(command, tool_store: Path) -> None:
    result = command("--store", tool_store, "table", "harness", "--traces", "tools#2", "--json")
    rows = {(r["statistic"], r["part"]): r for r in json.loads(result.out)["rows"]}
    executed = rows["procedure executed", "second half"]
    assert (executed["n"], executed["share"], executed["first_at"]) == (1, 1.0, 2)
    assert rows["procedure executed", "first half"]["n"] == 0
