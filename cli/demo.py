"""The demo: the whole main job on embedded data, step by step, with what to try next."""

from __future__ import annotations

import io
import zipfile
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .context import OPTIONS, NotHeld, UsageError, emit, say, warn

if TYPE_CHECKING:
    from ..replay.swap import Pair
    from ..traces.store import Store

_PICTURED = 3
_POLICIES = ("sweep", "stroke", "early")
_LEVELS = (1, 2)


def run_demo(out: Path, episodes: int) -> None:
    """Make fresh runs, ingest the bundled official folders, verify, swap predictors, draw what happened."""
    from ..traces.store import Store

    if out.exists() and any(out.iterdir()) and not (out / "store").exists():
        raise UsageError(f"{out} holds other files; --out takes a new folder or that of an earlier demo")
    out.mkdir(parents=True, exist_ok=True)
    store = Store(out / "store", create=True)
    say(f"1. Fresh runs: {', '.join(_POLICIES)} look at one and at two digits, `reference` answers")
    fresh = _fresh(store, episodes)
    say("2. Ingest: two run folders of the official runner (20 episodes each, pictures of the first 6)")
    names = fresh + _ingest(store, out / "raw")
    say("3. Verify: every recorded picture is rendered again and compared")
    verified = _verify(store, names)
    say("4. Canvases: what each agent had seen, put together")
    written = _canvases(store, names, out / "canvases")
    say("5. Swap: other predictors read the same frozen evidence")
    rows, pairs = _swap(store, names)
    say("6. Picture: the path over the canvas, with what each predictor read from it")
    pictures = _pictures(store, names, pairs, out)
    say("7. Summary: one HTML page about all of it")
    page = _summary(store, names, out)
    summary: dict[str, Any] = {"summary": page, "runs": names, "verify": verified, "canvases": written}
    summary |= {"swap": rows, "pictures": pictures}
    if OPTIONS.json:
        emit(summary)
    _next(out, names)


def _fresh(store: Store, episodes: int) -> list[str]:
    from ..replay.predictors import load
    from ..traces.runner.record import record
    from ..traces.runner.run import Plan
    from ..traces.store import RunExists

    reader, names = load("reference"), []
    for policy in _POLICIES:
        for level in _LEVELS:
            name = f"demo/{policy}-l{level}"
            plan = Plan(policy=policy, predictor=reader, level=level, episodes=episodes, name=name)
            try:
                record(plan, store)
            except RunExists:  # an earlier demo with other settings
                store.remove(name)
                record(plan, store)
            names.append(name)
    say(f"   {len(names)} runs of {episodes} episodes: {', '.join(names)}")
    return names


def _ingest(store: Store, raw: Path) -> list[str]:
    from ..traces.ingest import ingest
    from ..traces.world import embedded

    archive = files("mnistpro_replay.traces.adapters.mnistpro") / "sample.zip"
    with zipfile.ZipFile(io.BytesIO(archive.read_bytes())) as zipped:
        zipped.extractall(raw)
    names = []
    for folder in sorted(raw.iterdir()):
        name = "demo/official-l2" if folder.name.startswith("multidigit_2") else "demo/official-l1"
        (run,) = ingest(store, [folder], embedded(), name=name, replace=True).runs
        say(f"   {run.run}: {run.episodes} episodes, {run.steps} steps")
        names.append(run.run)
    return sorted(names)


def _verify(store: Store, names: list[str]) -> dict[str, int]:
    from ..replay.verify import VERDICTS, Verification, verify

    result = Verification()
    for name in names:
        for finding in verify(store, name):
            result.add(finding)
    counts = {verdict: result.counts[verdict] for verdict in VERDICTS}
    say(
        f"   {counts['exact']} exact, {counts['mismatch']} mismatches, {counts['not_checkable']} without a picture"
    )
    if result.mismatches:
        raise NotHeld("the demo's own pictures do not match: this installation draws differently")
    return counts


def _canvases(store: Store, names: list[str], out: Path) -> int:
    from ..replay.canvases import write_canvases

    written = sum(write_canvases(store, name, None, "window", "last", out)[0] for name in names)
    say(f"   {written} canvases in {out}")
    return written


def _swap(store: Store, names: list[str]) -> tuple[list[dict[str, Any]], dict[str, list[Pair]]]:
    from ..analysis.paired import paired_table
    from ..replay.plan import plan_for
    from ..replay.predictors import load
    from ..replay.swap import swap
    from ..schemas.extras import MissingExtra
    from .context import percent, show_table
    from .replay import p_text

    rows: list[dict[str, Any]] = []
    pairs: dict[str, list[Pair]] = {}
    for predictor in ("reference", "ocr"):
        try:
            reader = load(predictor)
        except MissingExtra as error:
            warn(f"   {predictor} left out: {error}")
            continue
        outcome = swap(store, plan_for(store, [(name, None) for name in names], reader), reader)
        pairs[predictor] = outcome.pairs
        rows += paired_table(outcome.pairs, predictor)
    shown = [
        {
            **row,
            "agent": percent(row["original"], row["original_interval"]),
            "read": percent(row["swapped"], row["swapped_interval"]),
            "change": percent(row["difference"], row["difference_interval"]),
            "p": p_text(row["p"]),
        }
        for row in rows
        if row["part"] == "all"
    ]
    columns = {"run": "run", "predictor": "read by", "n": "n", "agent": "agent %", "read": "predictor %"}
    columns |= {"change": "difference", "p": "McNemar p"}
    if not OPTIONS.json:
        show_table(shown, columns, right=("n", "agent", "read", "change", "p"))
    return rows, pairs


def _pictures(store: Store, names: list[str], pairs: dict[str, list[Pair]], out: Path) -> list[str]:
    from ..replay.player import Caption, still

    written = []
    for name in names:
        run = store.run(name)
        for episode in store.episodes(name)[: _PICTURED if "official" in name else 1]:
            readings = []
            for predictor, made in pairs.items():
                for pair in made:
                    task = pair.task
                    if (task.source.run.run, task.episode.episode_id) == (
                        name,
                        episode.episode_id,
                    ) and pair.prediction:
                        readings.append(Caption(predictor, _reading(pair)))
            path = out / f"path-{name.split('/')[-1]}-{episode.source_episode_id}.png"
            path.write_bytes(still(store, run, episode, readings))
            written.append(str(path))
    say(f"   {', '.join(Path(path).name for path in written)} in {out}")
    return written


def _summary(store: Store, names: list[str], out: Path) -> str:
    from ..analysis.database import Database
    from ..analysis.report import report

    database = Database(store, [(name, None) for name in names], posterior="last")
    page = out / "summary.html"
    page.write_text(report(database, "Demo"), encoding="utf-8")
    say(f"   {page}: opens in any browser, needs no network")
    return str(page)


def _reading(pair: Pair) -> str:
    answer = pair.prediction.answer if pair.prediction else None
    if answer is None:
        return "reads nothing certain in this evidence"
    return f"reads {answer} in this evidence: {'right' if pair.correct else 'wrong'}"


def _next(out: Path, names: list[str]) -> None:
    store = f"--store {out / 'store'}"
    say("\nTry next:")
    for command in (
        f"runs {store}",
        f"show {names[0]}#4 {store}",
        f"verify --traces 'demo/*' {store}",
        f"swap --traces 'demo/*' --predictor reference --representation full {store}",
        f"plot {names[-1]}#2 --out path.gif {store}",
        "ingest YOUR_RUN_FOLDER --name my_run",
    ):
        say(f"  mnistpro-replay {command}")
