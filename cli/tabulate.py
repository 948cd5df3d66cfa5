"""Rows of a table as text, Markdown, CSV, JSON or LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .context import cell, console, emit, percent

if TYPE_CHECKING:
    from ..analysis.measures import Row, Value

FORMATS = ("text", "md", "csv", "json", "latex")
_HIDDEN = ("tags", "rule", "shown_by")
_TEXT_WIDTH = 40
_WIDEST = 10_000
_LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"} | {
    char: f"\\{char}" for char in "&%$#_{}"
}


def write(rows: Sequence[Row], form: str, title: str) -> None:
    """Print rows in one of `FORMATS`; fractions as percent with their 95 % interval, except for machines.

    Where rows have a `rule`, the rule of each statistic stands below the table; what shows it (`shown_by`) is
    in JSON only.
    """
    from ..analysis.tables import plain

    if form == "json":
        emit({"rows": plain(rows)})
    elif form == "csv":
        print(_csv(plain(rows)), end="")
    elif form == "text":
        _show(rows, title)
    else:
        print(_markdown(rows) if form == "md" else _latex(rows))


def _show(rows: Sequence[Row], title: str) -> None:
    """An aligned table, intervals below their estimates; long run names are numbered and told below it."""
    from rich import box
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    rows, names = _numbered_runs(rows)
    table = Table(
        title=title or None, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", pad_edge=False
    )
    columns = _columns(rows)
    headings, body = _table(rows)
    for name, heading in zip(columns, headings, strict=True):
        number = any(_is_number(row.get(name)) for row in rows)
        table.add_column(
            heading,
            justify="right" if number else "left",
            overflow="fold",
            no_wrap=number,
            max_width=None if number else _TEXT_WIDTH,
        )
    for line in body:
        table.add_row(*(Text((text or "–").replace(" [", "\n[").replace("] p", "]\np")) for text in line))
    out = console()
    if not out.is_terminal:
        wide = out.options.update(max_width=_WIDEST)
        out.width = max(out.width, Measurement.get(out, wide, table).maximum)
    out.print(table)
    for number, name in names.items():
        out.print(Text(f"{number}  {name}"), soft_wrap=True)
    for name, rule in _rules(rows).items():
        out.print(Text(f"{name}: {rule}"))


def _rules(rows: Sequence[Row]) -> dict[str, str]:
    """The rule of each statistic, where rows have one."""
    return {row["statistic"]: row["rule"] for row in rows if row.get("rule") and "statistic" in row}


def _numbered_runs(rows: Sequence[Row]) -> tuple[list[Row], dict[str, str]]:
    """Rows with run names too long for a column as numbers, and the names by number."""
    columns = [name for name in ("run", "run_a", "run_b") if any(name in row for row in rows)]
    names = sorted({row[name] for row in rows for name in columns if row.get(name)})
    if not any(len(name) > _TEXT_WIDTH for name in names):
        return list(rows), {}
    number = {name: f"run {i}" for i, name in enumerate(names, 1)}
    short = [
        {**row, **{name: number.get(row[name], row[name]) for name in columns if name in row}} for row in rows
    ]
    return short, {i: name for name, i in number.items()}


def _columns(rows: Sequence[Row]) -> list[str]:
    """Columns in order of appearance, without those that are empty."""
    names = dict.fromkeys(name for row in rows for name in row if name not in _HIDDEN)
    return [name for name in names if any(row.get(name) is not None for row in rows)]


def _is_number(value: Any) -> bool:
    return isinstance(value, (tuple, int, float)) and not isinstance(value, bool)


def _heading(name: str, rows: Sequence[Row]) -> str:
    values = [row[name] for row in rows if isinstance(row.get(name), tuple)]
    unit = " %" if values and all(value.percent for value in values) else ""
    return name.replace("_", " ") + unit


def _text(value: Any, heading: str) -> str | None:
    if isinstance(value, tuple):
        unit = " %" if value.percent and not heading.endswith("%") else ""  # type: ignore[attr-defined]
        return _measure(value, unit)  # type: ignore[arg-type]
    return None if value is None else cell(value)


def _measure(value: Value, unit: str) -> str:
    estimate, low, high, n, _ = value.interval
    if estimate is None:
        return f"– (n={n})"
    bounds = None if low is None or high is None else (low, high)
    if value.percent:
        text = percent(estimate) + unit + percent(estimate, bounds).removeprefix(percent(estimate))
    else:
        text = f"{estimate:.2f}" + (f" [{bounds[0]:.2f}, {bounds[1]:.2f}]" if bounds else "")
    return text if value.p is None else f"{text} p={value.p:.3g}"


def _table(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    headings = {name: _heading(name, rows) for name in _columns(rows)}
    body = [[_text(row.get(name), heading) or "" for name, heading in headings.items()] for row in rows]
    return list(headings.values()), body


def _markdown(rows: Sequence[Row]) -> str:
    head, body = _table(rows)
    lines = [head, ["---"] * len(head), *body]
    table = ["| " + " | ".join(text.replace("|", "\\|") for text in line) + " |" for line in lines]
    rules = [f"- {name}: {rule}" for name, rule in _rules(rows).items()]
    return "\n".join([*table, *([""] if rules else []), *rules])


def _latex(rows: Sequence[Row]) -> str:
    head, body = (
        [[_escape(text) for text in line] for line in part] for part in ([_table(rows)[0]], _table(rows)[1])
    )
    lines = [" & ".join(line) + r" \\" for line in (*head, *body)]
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{'l' * len(head[0])}}}",
            r"\toprule",
            lines[0],
            r"\midrule",
            *lines[1:],
            r"\bottomrule",
            r"\end{tabular}",
            *(rf"\par {_escape(f'{name}: {rule}')}" for name, rule in _rules(rows).items()),
        ]
    )


def _escape(text: str) -> str:
    return "".join(_LATEX.get(char, char) for char in text).replace("–", "--")


def _csv(rows: Sequence[dict[str, Any]]) -> str:
    names = [name for name in dict.fromkeys(name for row in rows for name in row) if name != "shown_by"]
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, names, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()
