import csv
import io
import json

import pytest
from scripted import assert_same, collect, jsonl

from mnistpro_replay.traces.adapters import file_bundle
from mnistpro_replay.traces.adapters.mapped import mapped_adapter
from mnistpro_replay.traces.adapters.mapped.explain import explain
from mnistpro_replay.traces.adapters.mapped.mapping import MappingError
from mnistpro_replay.traces.adapters.mapped.paths import find, parse
from mnistpro_replay.traces.ingest import NothingFound, ingest
from mnistpro_replay.traces.store import Store
from mnistpro_replay.traces.world import embedded

MAPPING = """
[source]
kind = "jsonl"
rows = "episode"
steps = "$.moves[*]"
[run]
model = "$.who.model"
stride = 32
[episode]
source_episode_id = "$.key"
label = "$.truth"
digit_indices = "$.idx"
start_image = "$.first"
[step]
direction = "$.go"
answer = "$.say"
image = "$.png"
thought = "$.why"
[values.direction]
U = "up"
D = "down"
L = "left"
R = "right"
"""


def row(script):
    moves = [
        {"go": d[0].upper(), "png": script.uri(n), "why": f"w{n}"} for n, d in enumerate(script.directions, 1)
    ]
    if script.answer is not None:
        moves.append({"say": script.answer})
    facts = {"key": script.id, "truth": script.label, "idx": [script.index], "who": {"model": "m"}}
    return {**facts, "first": script.uri(0), "moves": moves}


def read(path, mapping, tmp_path):
    (tmp_path / "map.toml").write_text(mapping)
    return collect(mapped_adapter(tmp_path / "map.toml").read(file_bundle(path), embedded()))


def test_ten_rows(ten, tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(jsonl(*map(row, ten)))
    result = read(path, MAPPING, tmp_path)
    assert_same(result, ten)
    assert (result.runs[0].model, result.runs[0].stride) == ("m", 32)
    assert result.episode("ep0").step_texts[0].thought == "w1"


def step_rows(script):
    for number, direction in enumerate(script.directions):
        x, y = script.windows[number + 1]
        yield {
            "episode": script.id,
            "label": script.label,
            "idx": script.index,
            "dir": direction,
            "x": x,
            "y": y,
        }
    if script.answer is not None:
        yield {"episode": script.id, "label": script.label, "idx": script.index, "guess": script.answer}


STEPS = """
[source]
kind = "{kind}"
rows = "step"
[run]
window = 64
stride = 32
panel = 224
[episode]
source_episode_id = "$.episode"
label = "$.label"
digit_indices = "$.idx"
[step]
direction = "$.dir"
answer = "$.guess"
window = ["$.x", "$.y"]
"""


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_row_a_step(ten, tmp_path, kind):
    """Rows of steps without pictures: windows from the columns, the start from the canvas."""
    rows = [line for script in ten for line in step_rows(script)]
    path = tmp_path / f"rows.{kind}"
    if kind == "csv":
        text = io.StringIO()
        writer = csv.DictWriter(text, ["episode", "label", "idx", "dir", "x", "y", "guess"])
        writer.writeheader()
        writer.writerows(rows)
        path.write_text(text.getvalue())
    else:
        import polars as pl

        pl.DataFrame(
            [{**line, "guess": None if "guess" not in line else str(line["guess"])} for line in rows]
        ).write_parquet(path)
    result = read(path, STEPS.format(kind=kind), tmp_path)
    assert_same(result, ten, {"image", "start_image"})


def test_a_drafted_mapping_reads_the_file(ten, tmp_path):
    """`--explain` on an unknown file drafts a mapping that already works."""
    path = tmp_path / "runs.jsonl"

    def plain(script):
        steps = [
            {"direction": d, "observation": script.uri(n), "note": "x"}
            for n, d in enumerate(script.directions, 1)
        ]
        steps += [] if script.answer is None else [{"answer": script.answer}]
        return {
            "id": script.id,
            "target": script.label,
            "indices": [script.index],
            "steps": steps,
            "colour": "red",
        }

    path.write_bytes(jsonl(*map(plain, ten)))
    told = explain(path)
    assert told.adapter is None and told.kind == "jsonl"
    assert told.fields["step.answer"] == "$.answer"
    assert told.fields["episode.label"] == "$.target" and told.fields["step.image"] == "$.observation"
    assert "$.colour" in told.unused and "step.window" in told.missed and "step.action" not in told.missed
    result = read(path, told.mapping, tmp_path)
    assert_same(result, ten, {"start_image"})


def test_explain_names_the_adapter(sample_folders):
    told = explain(sample_folders[1])
    assert told.adapter is not None and told.adapter.name == "mnistpro" and told.mapping is None
    assert len(told.episodes) > 0 and told.runs[0].window == 64


@pytest.mark.parametrize("data", [b"", b"\x00\x01\x02binary", b"just words"])
def test_explain_what_is_no_table(tmp_path, data):
    (tmp_path / "x.dat").write_bytes(data)
    told = explain(tmp_path / "x.dat")
    assert told.adapter is None and told.mapping is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[source]\nkind = 'xml'", "kind"),
        ("[source]\nkind = 'csv'\nrows = 'step'", "source_episode_id"),
        ("[source]\nkind = 'csv'\n[episode]\ncolour = '$.c'", "no field 'colour'"),
        ("[source]\nkind = 'csv'\n[episode]\nlabel = '$..c'", "no path"),
        ("[source", "map.toml"),
    ],
)
def test_wrong_mappings(tmp_path, text, says):
    (tmp_path / "map.toml").write_text(text)
    with pytest.raises(MappingError, match=says):
        mapped_adapter(tmp_path / "map.toml")


def test_ingest_with_a_mapping(ten, tmp_path):
    (tmp_path / "map.toml").write_text(MAPPING)
    (tmp_path / "rows.jsonl").write_bytes(b"{broken\n" + jsonl(row(ten[0])))
    adapter = mapped_adapter(tmp_path / "map.toml")
    report = ingest(Store(tmp_path / "s", create=True), [tmp_path / "rows.jsonl"], embedded(), format=adapter)
    assert report.runs[0].episodes == 1
    assert "invalid_json" in {problem.code for problem in report.all_diagnostics()}


def test_pickles_are_never_opened(tmp_path):
    """Row 34."""
    (tmp_path / "step_0.pkl.gz").write_bytes(b"x")
    with pytest.raises(NothingFound, match="pickle"):
        ingest(Store(tmp_path / "s", create=True), [tmp_path], embedded())


def test_paths():
    value = {"a": [{"b c": 1}, {"b c": 2}], "d": {"e": [5, 6]}}
    assert find(value, parse("$.a[*]['b c']")) == [1, 2]
    assert find(value, parse("$.d.e[1]")) == 6 and find(value, parse("$.d.e[7]")) is None
    assert json.dumps(find(value, parse("$"))) == json.dumps(value)
