"""What is in the store: `runs`, `show`, `rename`, `tag`, `remove`, `schema`, `compact`, `doctor`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .context import (
    OPTIONS,
    NotHeld,
    UsageError,
    cell,
    emit,
    open_store,
    percent,
    say,
    select,
    show_diagnostics,
    show_table,
)

if TYPE_CHECKING:
    from ..schemas import Episode, Run
    from ..traces.store import Store


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for command in (runs, show, rename, tag, remove, schema, compact, doctor):
        app.command()(command)


def runs(
    pattern: Annotated[str, typer.Argument(help="Only runs whose name matches this glob")] = "*",
    tag: Annotated[list[str] | None, typer.Option(help="Only runs with this tag")] = None,
    level: Annotated[int | None, typer.Option(help="Only runs with this number of digits")] = None,
) -> None:
    """List the runs in the store."""
    import polars as pl

    store = open_store()
    frame = store.runs().filter(pl.col("run").is_in(store.find(pattern)))
    if level is not None:
        frame = frame.filter(pl.col("level") == level)
    for wanted in tag or ():
        frame = frame.filter(pl.col("tags").list.contains(wanted))
    scores = _scores(store)
    rows = [_run_row(row, scores.get(row["ingest_id"], {})) for row in frame.iter_rows(named=True)]
    if OPTIONS.json:
        emit(rows)
        return
    columns = {
        "run": "run",
        "model": "model or policy",
        "memory": "memory",
        "level": "digits",
        "geometry": "w/s",
        "episodes": "episodes",
        "accuracy_text": "accuracy % [95 %]",
        "errors": "errors",
        "tags": "tags",
    }
    show_table(rows, columns, right=("level", "episodes", "errors", "accuracy_text"))


def _scores(store: Store) -> dict[str, dict[str, Any]]:
    import polars as pl

    frame = (
        store.raw("episodes")
        .group_by("ingest_id")
        .agg(
            scored=(pl.col("correct").is_not_null() & (pl.col("stop_reason") != "error")).sum(),
            right=(pl.col("correct") & (pl.col("stop_reason") != "error")).sum(),
            errors=(pl.col("stop_reason") == "error").sum(),
        )
        .collect()
    )
    return {row["ingest_id"]: row for row in frame.iter_rows(named=True)}


def _run_row(row: dict[str, Any], score: dict[str, Any]) -> dict[str, Any]:
    from ..analysis.statistics import proportion

    n = score.get("scored", 0)
    accuracy = proportion(score.get("right", 0), n)
    interval = None if accuracy.low is None else (accuracy.low, accuracy.high)
    return {
        "run": row["run"],
        "episodes": row["n_episodes"],
        "steps": row["n_steps"],
        "model": row["model"],
        "agent": row["agent"],
        "memory": row["memory"],
        "level": row["level"],
        "harness": row["harness"],
        "geometry": f"{cell(row['window'])}/{cell(row['stride'])}",
        "t_max": row["t_max"],
        "source_format": row["source_format"],
        "accuracy_scored": accuracy.estimate,
        "accuracy_interval": interval,
        "accuracy_text": percent(accuracy.estimate, interval),
        "n_scored": n,
        "errors": score.get("errors", 0),
        "tags": row["tags"],
    }


def show(
    trace: Annotated[str, typer.Argument(help="RUN or RUN#EPISODE")],
    image: Annotated[
        Path | None, typer.Option(help="Also write the episode's path over the canvas as PNG")
    ] = None,
) -> None:
    """Show one run, or one episode step by step."""
    from ..traces.store import StoreError

    store = open_store()
    (chosen, *more) = select(store, [trace])
    if more:
        raise UsageError(f"{trace!r} names {1 + len(more)} runs; show takes one")
    run = store.run(chosen.run)
    if chosen.ids is None:
        if image:
            raise UsageError("--image needs an episode: RUN#EPISODE")
        _show_run(store, run)
        return
    episodes = store.episodes(run.run, chosen.ids, texts=True)
    if OPTIONS.json:
        from dataclasses import asdict

        emit([asdict(episode) for episode in episodes] if len(episodes) > 1 else asdict(episodes[0]))
    else:
        for episode in episodes:
            _show_episode(run, episode)
    if image:
        from ..replay.player import still

        try:
            image.write_bytes(still(store, run, episodes[0]))
        except StoreError as error:
            raise NotHeld(str(error)) from error
        say(f"wrote {image}")


def _show_run(store: Store, run: Run) -> None:
    from dataclasses import asdict

    import polars as pl

    ingest = store.run_row(run.run)["ingest_id"]
    rows = store.raw("diagnostics").filter(pl.col("ingest_id") == ingest).collect().to_dicts()
    if OPTIONS.json:
        emit({**asdict(run), "diagnostics": rows})
        return
    fields = [{"field": key, "value": value} for key, value in asdict(run).items() if value not in (None, [])]
    show_table(fields, {"field": "run", "value": run.run})
    episodes = [
        {
            "id": episode.source_episode_id,
            "label": episode.label,
            "answer": episode.answer,
            "correct": episode.correct,
            "stop": episode.stop_reason,
            "actions": episode.n_actions,
            "glimpses": episode.n_glimpses,
        }
        for episode in store.episodes(run.run)
    ]
    columns = {"id": "#", "label": "label", "answer": "answer", "correct": "correct", "stop": "ended"}
    columns |= {"actions": "actions", "glimpses": "glimpses"}
    show_table(episodes, columns, right=("id", "actions", "glimpses"))
    if rows:
        from ..schemas import Diagnostic

        names = Diagnostic.__dataclass_fields__
        show_diagnostics([Diagnostic(**{name: row[name] for name in names}) for row in rows])


def _show_episode(run: Run, episode: Episode) -> None:
    ended = episode.error or episode.stop_reason
    say(
        f"{run.run}#{episode.source_episode_id}  label {episode.label}, answer {cell(episode.answer)}, ended: {ended}"
    )
    texts = {text.step: text.thought or "" for text in episode.step_texts}
    rows = [{"step": "start", "after": episode.start, "shown": episode.start_shown}]
    rows += [
        {
            "step": step.step,
            "action": step.action_kind + (f" {step.direction}" if step.direction else ""),
            "after": step.window_after,
            "clipped": "clipped" if step.clipped else "" if step.valid else "rejected",
            "shown": step.shown if step.action_kind == "move" else None,
            "thought": texts.get(step.step, "")[:160],
        }
        for step in episode.steps
    ]
    columns = {
        "step": "step",
        "action": "action",
        "after": "window",
        "clipped": "",
        "shown": "shown",
        "thought": "thought",
    }
    show_table(rows, columns, right=("step",))


def rename(run: str, new: Annotated[str, typer.Argument(help="The new name")]) -> None:
    """Give a run another name."""
    open_store().rename(run, new)
    say(f"{run} is now {new}")


def tag(
    run: str, tags: Annotated[list[str], typer.Argument(help="The run's tags; they replace the old ones")]
) -> None:
    """Set a run's tags."""
    open_store().tag(run, tags)
    say(f"{run}: {', '.join(tags)}")


def remove(
    run: Annotated[str, typer.Argument(help="A run or a glob")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask")] = False,
) -> None:
    """Remove runs from the store."""
    store = open_store()
    names = store.find(run)
    if not names:
        raise UsageError(f"no run {run!r} in {store.path}; `mnistpro-replay runs` lists what is there")
    if not yes and not typer.confirm(f"remove {', '.join(names)}?"):
        raise NotHeld("nothing removed")
    for name in names:
        store.remove(name)
        say(f"removed {name}")


def schema() -> None:
    """Print the canonical trace as JSON Schema."""
    from ..schemas import json_schema

    emit(json_schema())


def compact() -> None:
    """Merge the store's small files."""
    removed = open_store().compact()
    if OPTIONS.json:
        emit(removed)
    say(f"merged {sum(removed.values())} files")


def doctor() -> None:
    """Check a store end to end, and sweep what a crash left."""
    store = open_store()
    orphans = store.orphans()
    for ingest in orphans:
        store.delete_ingest(ingest)
    problems = store.problems()
    if OPTIONS.json:
        emit({"runs": store.runs().height, "swept": len(orphans), "problems": problems})
    say(f"{store.runs().height} runs, {len(orphans)} unfinished ingests swept, {len(problems)} problems")
    for problem in problems:
        say(f"  {problem}")
    if problems:
        raise NotHeld("the store has problems")
