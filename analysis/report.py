"""One HTML page about some runs: it leads with the answer, and states n and definition under each figure."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from importlib.resources import files
from typing import Any

from .. import __version__
from ..replay.player import still
from ..schemas.tables import SCHEMA_VERSION
from ..traces.store import Store, StoreError
from .audit import Verdict, audit, audit_rows
from .cases import cases
from .database import Database
from .derive import VERSION
from .figures import themed
from .measures import Row, Value, measured
from .overview import gap_levels
from .paper_figures import FIGURES
from .tables import calibration

_PICTURED = 4
_HEIGHT = {"3b": 110, "gaps": 380}


def report(database: Database, title: str = "Trajectory report") -> str:
    """The page over the database's selected runs.

    Args:
        database: opened with `posterior="last"`, or `"each"`, without which the audit cannot tell anchored beliefs.
        title: heading of the page.
    """
    verdicts, episodes = _audit(database)
    levels = gap_levels(database, [run for run, _ in database.selected])
    results = measured(database.query("summary"))
    sections = [
        _section("In short", _answer(results, levels, verdicts, episodes)),
        _section(
            "Runs", _table(results, _RUN_COLUMNS) + _note("Means over scored episodes with 95 % intervals.")
        ),
        *(_figure(database, name) for name in ("gaps", "4a", "3c", "3b", "3a", "4b")),
        _section("Why episodes failed", _failures(verdicts, episodes)),
        _section("Failed episodes", _pictures(database.store, verdicts)),
        _section("How this was made", _method(database)),
    ]
    page = (files(__package__ or "") / "report.html").read_text(encoding="utf-8")
    parts = {"title": escape(title), "body": "\n".join(filter(None, sections)), "plotly": _plotly()}
    for name, text in parts.items():
        page = page.replace(f"{{{{{name}}}}}", text)
    return page


def _plotly() -> str:
    from plotly.offline import get_plotlyjs

    return get_plotlyjs()


def _section(heading: str, body: str) -> str:
    return f"<section><h2>{escape(heading)}</h2>{body}</section>" if body else ""


def _note(text: str) -> str:
    return f'<p class="note">{escape(text)}</p>'


def _audit(database: Database) -> tuple[list[Verdict], dict[str, int]]:
    verdicts: list[Verdict] = []
    episodes: dict[str, int] = {}
    for run, ids in database.selected:
        looked_at = list(cases(database.store, run, ids))
        episodes[run] = len(looked_at)
        verdicts += [verdict for case in looked_at if (verdict := audit(case))]
    return verdicts, episodes


def _answer(
    results: Sequence[Row], levels: Sequence[Row], verdicts: Sequence[Verdict], episodes: dict[str, int]
) -> str:
    """What a reader wants to know first: how much is lost, and where."""
    total, failed = sum(episodes.values()), len(verdicts)
    lines = [f"{failed} of {total} episodes in {len(results)} run{'s' if len(results) > 1 else ''} failed."]
    if levels:
        by_term = {level["term"].replace("<br>", " ").strip(): level for level in levels}
        agent, whole = by_term["agent"], by_term["reader on all ink"]
        lines.append(
            f"The agents were right in {_percent(agent)}; a calibrated reader of the whole canvas is right in "
            f"{_percent(whole)} (n = {agent['n']})."
        )
        losses = [level for level in levels if not level["total"]]
        worst = max(losses, key=lambda level: level["estimate"])
        told = {"did not look": "by not looking", "misread the seen": "by misreading what they had seen"}
        told["did not answer"] = "by not answering"
        term = worst["term"].replace("<br>", " ")
        if worst["estimate"] > 0:
            lines.append(
                f"Most of the difference is lost {told.get(term, term)}: {_percent(worst)} of the episodes."
            )
    leading = _most(verdict.leads for verdict in verdicts)
    if leading:
        lines.append(f"The commonest leading reason is “{leading[0]}” ({leading[1]} of {failed} failures).")
    first, *rest = lines
    return f'<p class="lead">{escape(first)}</p>' + "".join(f"<p>{escape(line)}</p>" for line in rest)


def _most(names: Iterable[str]) -> tuple[str, int] | None:
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return max(counts.items(), key=lambda item: item[1]) if counts else None


def _percent(level: Row) -> str:
    bounds = "" if level["low"] is None else f" [{100 * level['low']:.1f}, {100 * level['high']:.1f}]"
    return f"{100 * level['estimate']:.1f} %{bounds}"


_RUN_COLUMNS = {
    "run": "run",
    "level": "digits",
    "n": "episodes",
    "accuracy_scored": "accuracy",
    "moves": "moves",
    "coverage_window": "ink seen",
    "revisit_rate_macro": "revisits",
}


def _table(rows: Sequence[Row], columns: dict[str, str]) -> str:
    known = {
        key: heading for key, heading in columns.items() if any(row.get(key) is not None for row in rows)
    }
    head = "".join(f"<th>{escape(heading)}</th>" for heading in known.values())
    body = "".join("<tr>" + "".join(_cell(row.get(key)) for key in known) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(value: Any) -> str:
    if isinstance(value, Value):
        estimate, low, high, n, _ = value.interval
        if estimate is None:
            return '<td class="number">–</td>'
        scale, unit = (100, " %") if value.percent else (1, "")
        bounds = (
            "" if low is None else f"<small>[{scale * low:.1f}, {scale * (high or 0):.1f}], n = {n}</small>"
        )
        return f'<td class="number">{scale * estimate:.1f}{unit}{bounds}</td>'
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    text = "–" if value is None else escape(str(value))
    return f'<td class="number">{text}</td>' if number else f"<td>{text}</td>"


def _figure(database: Database, name: str) -> str:
    figure = FIGURES[name]
    rows = figure.rows(database)
    if not rows:
        return ""
    drawn = themed(figure.draw(rows))
    height = 140 + 34 * len(rows) if name == "3b" else _HEIGHT.get(name, 420)
    drawn.update_layout(height=height, margin={"t": 56})
    html = drawn.to_html(
        full_html=False, include_plotlyjs=False, config={"displaylogo": False, "responsive": True}
    )
    counts = sorted({row["n"] for row in rows})
    n = f"n = {counts[0]}" if len(counts) == 1 else f"n = {counts[0]} to {counts[-1]} a mark"
    return _section(figure.title, html + _note(f"{figure.definition} Whiskers: 95 % intervals. {n}."))


def _failures(verdicts: Sequence[Verdict], episodes: dict[str, int]) -> str:
    rows = [row for row in audit_rows(verdicts, episodes) if row["count"]]
    columns = {
        "run": "run",
        "category": "category",
        "count": "episodes",
        "leads": "leads",
        "share": "of failures",
    }
    note = (
        "An episode may have several categories; one leads. Shares of failed episodes with Wilson intervals."
    )
    return _table(rows, columns | {"definition": "definition"}) + _note(note) if rows else "<p>None did.</p>"


def _pictures(store: Store, verdicts: Sequence[Verdict]) -> str:
    """Stills of failed episodes, a different leading reason each as far as there are."""
    chosen: dict[str, Verdict] = {}
    for verdict in verdicts:
        chosen.setdefault(verdict.leads, verdict)
    made = []
    for verdict in list(chosen.values())[:_PICTURED]:
        run = store.run(verdict.run)
        (episode,) = store.episodes(verdict.run, [verdict.source_episode_id])[:1]
        try:
            png = still(store, run, episode)
        except StoreError:
            continue
        text = f"{verdict.run} #{verdict.source_episode_id}: {verdict.leads}"
        source = base64.b64encode(png).decode()
        picture = f'<img alt="Path over the canvas of {escape(text)}" src="data:image/png;base64,{source}">'
        made.append(f"<figure>{picture}<figcaption>{escape(text)}</figcaption></figure>")
    return f'<div class="stills">{"".join(made)}</div>' if made else ""


def _method(database: Database) -> str:
    read = calibration(database, "window")
    lines = (
        "Glimpses are those shown to the agent; evidence is the window's whole content (mode window).",
        "Proportions carry Wilson intervals, means cluster-bootstrap intervals over canvases.",
        "One run per episode says nothing about the sampling noise of a model itself.",
        f"mnistpro-replay {__version__}, trace schema {SCHEMA_VERSION}, metrics {VERSION}, "
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC.",
    )
    told = "".join(f"<li>{escape(line)}</li>" for line in lines)
    columns = {"run": "run", "statistic": "reference reader on these runs", "n": "panels", "value": "value"}
    return f"<ul>{told}</ul>" + _table(read, columns)
