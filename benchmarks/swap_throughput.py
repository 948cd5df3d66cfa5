"""Throughput of a swap against a local server, beside a bare asyncio client of the same SDK.

Prints, for 2,000 distinct canvases, 50 ms a reply and 32 requests at once: replies a second of
`openai.AsyncOpenAI` alone, and of `swap` with everything it does (rendering, prompts, parsing, journal,
store). Run it as `python benchmarks/swap_throughput.py`; exit status 1 where the swap's median share is less
than 60 %.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import openai

from mnistpro_replay.replay.plan import Plan, plan_for
from mnistpro_replay.replay.predictors.llm.predictor import LLM
from mnistpro_replay.replay.swap import swap
from mnistpro_replay.traces.models import ModelSpec
from mnistpro_replay.traces.runner.record import record
from mnistpro_replay.traces.runner.run import Plan as Run
from mnistpro_replay.traces.store import Store

TARGET = 0.6
SERVER = Path(__file__).parent.parent / "tests" / "models" / "fake_server.py"


def canvases(store: Store, llm: LLM, count: int) -> Plan:
    """A plan of `count` distinct canvases: each glimpse of sweeps is one."""
    run = record(Run(policy="sweep", episodes=-(-count // 25)), store)
    plan = plan_for(store, [(run.run, None)], llm, at="each")
    plan.tasks = list(plan.distinct().values())[:count]
    if len(plan.tasks) < count:
        raise SystemExit(f"only {len(plan.tasks)} distinct canvases")
    return plan


async def bare(url: str, questions: list[tuple[str, str]], concurrency: int) -> None:
    """The same questions through the SDK alone."""
    client = openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0)
    slots = asyncio.Semaphore(concurrency)

    async def ask(text: str, picture: str) -> None:
        content = [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": picture}}]
        async with slots:
            await client.chat.completions.create(model="m", messages=[{"role": "user", "content": content}])

    await asyncio.gather(*(ask(*question) for question in questions))
    await client.close()


def encoded(llm: LLM, plan: Plan) -> list[tuple[str, str]]:
    """Texts and data URIs, ready to be sent."""
    questions = []
    for task in plan.tasks:
        text, png = llm.turn(task.input()).parts
        questions.append((str(text), f"data:image/png;base64,{base64.b64encode(bytes(png)).decode()}"))
    return questions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--canvases", type=int, default=2000)
    parser.add_argument("--delay", type=float, default=0.05)
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    server = subprocess.Popen(
        [sys.executable, str(SERVER), "--delay", str(given.delay)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        with tempfile.TemporaryDirectory() as folder:
            compare(url, Store(folder, create=True), given)
    finally:
        server.terminate()


def compare(url: str, store: Store, given: argparse.Namespace) -> None:
    """Measure both in turns and print medians."""
    llm = LLM(ModelSpec(name="m", provider="openai-compatible", model="m", base_url=url))
    plan = canvases(store, llm, given.canvases)
    questions = encoded(llm, plan)
    rates: dict[str, list[float]] = {"bare": [], "swap": []}
    for number in range(given.rounds):
        began = time.perf_counter()
        asyncio.run(bare(url, questions, given.concurrency))
        rates["bare"].append(given.canvases / (time.perf_counter() - began))
        began = time.perf_counter()
        outcome = swap(store, plan, llm, concurrency=given.concurrency, fresh=True)
        rates["swap"].append(given.canvases / (time.perf_counter() - began))
        assert outcome.predictor_calls == given.canvases and not outcome.failed, outcome.errors
        print(f"round {number}: bare {rates['bare'][-1]:.0f}/s, swap {rates['swap'][-1]:.0f}/s", flush=True)
    medians = {name: float(np.median(found)) for name, found in rates.items()}
    shares = np.divide(rates["swap"], rates["bare"])
    share = float(np.median(shares))
    print(
        f"{given.canvases} canvases, {given.delay * 1000:.0f} ms a reply, {given.concurrency} at once, "
        f"medians of {given.rounds} rounds: bare {medians['bare']:.0f}/s, swap {medians['swap']:.0f}/s: "
        f"{100 * share:.0f} % ({100 * min(shares):.0f} to {100 * max(shares):.0f}; target {100 * TARGET:.0f} %)"
    )
    raise SystemExit(share < TARGET)


if __name__ == "__main__":
    main()
