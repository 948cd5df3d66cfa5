"""Fresh runs into the store."""

from __future__ import annotations

from collections.abc import Callable

from ...schemas import Episode, Image, Run
from ..store import RunExists, Store
from .run import Plan, run_episodes


def record(plan: Plan, store: Store, on_episode: Callable[[Episode], object] = lambda episode: None) -> Run:
    """Make a run and write it to the store; after a crash the same call goes on where that one stopped.

    A run that this plan made before is left as it is. `on_episode` is called with every episode.

    Raises:
        RunExists: where another run has the name.
        BlockingIOError: where another process is making this run.
        ValueError: for a plan that cannot be run, or that differs from the unfinished one of that name.
    """
    run = plan.run()
    digest = f"{run.run_id} repeat {run.repeat} episodes {plan.episodes}"
    with store.journal(f"run {run.run}") as journal:
        if run.run not in store.runs()["run"]:
            with store.writer(run, digest) as writer:
                for played in run_episodes(plan, journal):
                    writer.add(played.canvas)
                    for name, data in played.images.items():
                        writer.add(Image(image=name, data=data))
                    writer.add(played.episode)
                    on_episode(played.episode)
        elif store.run_row(run.run)["source_digest"] != digest:
            raise RunExists(f"there is another run {run.run!r} already; give this one another name")
        journal.clear()
    return store.run(run.run)
