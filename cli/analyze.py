"""Numbers from traces: `analyze`, `table`, `tables`, `sql`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from .context import OPTIONS, UsageError, counting, emit, open_store, open_store_for, select, show_table, warn
from .replay import Traces, evidence_mode
from .tabulate import FORMATS, write

if TYPE_CHECKING:
    from ..analysis.database import Database, Selected
    from ..analysis.measures import Row
    from ..schemas.metrics import Posterior
    from ..traces.store import Store

Format = Annotated[str, typer.Option("--format", help=", ".join(FORMATS))]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for command in (analyze, table, tables, sql):
        app.command()(command)


def analyze(
    traces: Traces = None,
    posterior: Annotated[
        str, typer.Option(help="Let the reference reader read: none, after the last glimpse, or after each")
    ] = "last",
) -> None:
    """Compute and store the derived metrics; print a summary of each run."""
    if posterior not in ("none", "last", "each"):
        raise UsageError(f"--posterior takes none, last or each, not {posterior!r}")
    store = open_store_for(traces or [])
    database = open_database(store, _selected(store, traces), posterior)  # type: ignore[arg-type]
    from ..analysis.measures import measured
    from ..analysis.tables import calibration, plain

    rows = measured(database.query("summary"))
    read = calibration(database, "window") if posterior != "none" else []
    if OPTIONS.json:
        emit({"episodes": sum(row["n"] for row in rows), "rows": plain(rows), "calibration": plain(read)})
        return
    write(rows, "text", "Means over scored episodes, with 95 % intervals")
    if read:
        write(read, "text", "The reference reader on the evidence (window) of these runs")


def table(
    name: Annotated[str, typer.Argument(help="`tables` lists them")],
    traces: Traces = None,
    form: Format = "text",
    compare_paper: Annotated[
        bool, typer.Option("--compare-paper", help="The published values beside ours")
    ] = False,
    cohort: Annotated[
        str, typer.Option(help="all, paper_fig3_cohort, paper_audit_cohort, or a tag of runs")
    ] = "all",
    published: Annotated[
        bool, typer.Option("--published", help="Claims: on the paper's own numbers")
    ] = False,
    evidence: Annotated[
        str, typer.Option(help="window or visible_exact, where a predictor reads")
    ] = "window",
) -> None:
    """Print a table from traces."""
    from ..analysis.tables import TABLES, Options

    if name not in TABLES:
        raise UsageError(f"no table {name!r}; there are {', '.join(TABLES)}")
    chosen = TABLES[name]
    form = check_format(form)
    options = Options(evidence_mode(evidence), compare_paper, published)
    if compare_paper and not chosen.paper:
        raise UsageError(f"the paper prints nothing like table {name}; leave --compare-paper out")
    if published:
        if name != "claims":
            raise UsageError("--published goes with claims")
        from ..analysis.claims import evaluate
        from ..analysis.claims import published as numbers

        write(evaluate(numbers()), form, "The paper's claims on its own numbers")
        return
    store = open_store_for(traces or [])
    database = open_database(store, _cohort(store, _selected(store, traces), cohort), chosen.posterior)
    rows = chosen.rows(database, options)
    if not rows:
        warn(f"no row: {_why_empty(name, compare_paper)}")
    write(rows, form, chosen.title)


def _why_empty(name: str, compare_paper: bool) -> str:
    if compare_paper:
        return "no selected run is of a published model and condition; tag a run `paper:MODEL` to say which model it is"
    needs = {
        "1": "needs runs in natural turns with the whole history",
        "3": "needs `swap` with representation canvas first, or online_canvas runs",
        "4": "needs runs of the tool harness",
        "swap-matrix": "needs `swap` first",
        "interpretation": "needs `swap` with representation canvas first",
        "agreement": "needs two runs over the same worlds",
        "power": "needs two runs over the same worlds",
        "exploration": "needs runs with two or more digits",
    }
    return f"table {name} {needs.get(name, 'finds nothing in the selected runs')}"


def tables() -> None:
    """List the tables."""
    from ..analysis.cohorts import COHORTS
    from ..analysis.tables import TABLES

    rows = [{"table": name, "title": t.title, "paper": t.paper} for name, t in TABLES.items()]
    cohorts = [{"cohort": name, "runs": text} for name, (text, _) in COHORTS.items()]
    if OPTIONS.json:
        emit({"rows": rows, "cohorts": cohorts})
        return
    show_table(rows, {"table": "table", "title": "what it says", "paper": "in the paper"})
    show_table(cohorts, {"cohort": "cohort", "runs": "runs"})


def sql(
    query: Annotated[str, typer.Argument(help="One SELECT on the views; SHOW TABLES lists them")],
    form: Format = "text",
) -> None:
    """Query the store's views, read-only."""
    from ..analysis.database import QueryError

    form = check_format(form)
    store = open_store()
    derived = any(word in query for word in ("metrics", "trials", "results", "readings"))
    database = open_database(store, None, "none" if derived else None)
    try:
        rows: list[Row] = database.query(query).to_dicts()
    except QueryError as error:
        raise UsageError(str(error)) from error
    write(rows, form, "")


def check_format(form: str) -> str:
    """A format; json where that is asked for; UsageError for an unknown one."""
    if form not in FORMATS:
        raise UsageError(f"no format {form!r}; there are {', '.join(FORMATS)}")
    return "json" if OPTIONS.json else form


def open_database(store: Store, selected: Sequence[Selected] | None, posterior: Posterior | None) -> Database:
    """The views over the selected runs, with their metrics derived first, under a progress bar."""
    from ..analysis.database import Database

    with counting("metrics") as advance:
        return Database(store, selected, posterior=posterior, progress=advance)


def _selected(store: Store, traces: Sequence[str] | None) -> list[Selected]:
    return [(chosen.run, chosen.ids) for chosen in select(store, traces or [])]


def _cohort(store: Store, selected: list[Selected], cohort: str) -> list[Selected]:
    from ..analysis.cohorts import in_cohort

    try:
        found = in_cohort(store, selected, cohort)
    except KeyError as error:
        raise UsageError(error.args[0]) from error
    if not found:
        raise UsageError(f"no selected run belongs to cohort {cohort!r}")
    return found
