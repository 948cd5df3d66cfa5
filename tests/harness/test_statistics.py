"""Harness statistics and loops, from hand-made calls, notes and thoughts."""

from __future__ import annotations

import pytest

from mnistpro_replay.analysis import harness, loops
from mnistpro_replay.schemas import Episode, Note, Step, StepText, ToolCall

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


def test_the_summary_counts_only_where_the_question_arises() -> None:
    episodes = [Episode(episode_id=str(n), source_episode_id=str(n)) for n in range(4)]
    episodes[0].tool_calls = calls(("Bash", {"command": STITCH}, ""), ("Read", {"path": "canvas.png"}, None))
    episodes[1].notes = [Note(position=0, kind="notes_before", text="run stitch.py")]
    rows = {row["statistic"]: row for row in harness.summary(episodes)}
    told = {name: (row["hits"], row["n"]) for name, row in rows.items()}
    assert told == {"canvas_built": (1, 4), "canvas_reopened": (1, 1), "procedure_executed": (0, 1)}
    assert rows["canvas_built"]["low"] < 0.25 < rows["canvas_built"]["high"]
    assert all(row["rule"] for row in rows.values())
    assert harness.summary([])[0]["share"] is None


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


def test_moves_that_led_back_are_judged_by_their_own_plans() -> None:
    where = [(0, 0), (32, 0), (0, 0), (32, 0), (0, 0), (0, 0)]
    said = ["I move right.", "I move left.", "I move left.", None, "I go up."]
    moved = ["right", "left", "right", "left", "up"]
    episode = Episode(episode_id="0", source_episode_id="0", start=(0, 0))
    for n, direction in enumerate(moved):
        step = Step(step=n, action_kind="move", direction=direction)
        step.window_before, step.window_after = where[n], where[n + 1]
        episode.steps.append(step)
        episode.step_texts.append(StepText(step=n, thought=said[n]))
    verdicts = [(move.step, move.verdict) for move in loops.loop_moves(episode)]
    assert verdicts == [(1, "followed"), (2, "against"), (3, "unstated"), (4, "followed")]
    rows = {row["verdict"]: (row["hits"], row["n"]) for row in loops.summary([episode])}
    assert rows == {"followed": (2, 4), "against": (1, 4), "unstated": (1, 4)}
