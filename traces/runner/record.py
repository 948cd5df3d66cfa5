"""Fresh runs into the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from ...schemas import Episode, Image, Run
from ..journal import Journal
from ..store import RunExists, Store
from .recorder import Forced, Played
from .run import Plan, run_episodes

P = TypeVar("P", bound=Plan)


def record(
    plan: P,
    store: Store,
    on_episode: Callable[[Episode], object] = lambda episode: None,
    play: Callable[[P, Journal], Iterator[Played]] = run_episodes,
) -> Run:
    """Make a run and write it to the store; after a crash the same call goes on where that one stopped.

    A run that this plan made before is left as it is.

    Args:
        plan: the run to make.
        store: where it goes.
        on_episode: called with every episode.
        play: plays the episodes of such a plan; the journal keeps what must not be lost.

    Raises:
        StopAsking: where a model must not be asked any more; the journal keeps what was received.
        RunExists: where another run has the name.
        BlockingIOError: where another process is making this run.
        ValueError: for a plan that cannot be run, or that differs from the unfinished one of that name.
    """
    run = plan.run()
    digest = f"{run.run_id} repeat {run.repeat} episodes {plan.episodes}"
    with store.journal(f"run {run.run}") as journal:
        if run.run not in store.runs()["run"]:
            forced: list[Forced] = []
            with store.writer(run, digest) as writer:
                for played in play(plan, journal):
                    writer.add(played.canvas)
                    for name, data in played.images.items():
                        writer.add(Image(image=name, data=data))
                    writer.add(played.episode)
                    forced += played.forced
                    on_episode(played.episode)
                store.append("predictions", [prediction for prediction, _ in forced])
                store.append("inputs", [item for _, item in forced], ingest_id=writer.ingest_id)
        elif store.run_row(run.run)["source_digest"] != digest:
            raise RunExists(f"there is another run {run.run!r} already; give this one another name")
        journal.clear()
    return store.run(run.run)
