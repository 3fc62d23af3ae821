"""Routers side by side on the same scripted engines: how soon conversations get their answers."""

import asyncio
import contextlib
import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

import aiohttp
import uvloop

from bench import peers, workloads
from bench.cards import MODEL
from bench.children import NotStarted, free_address, rigledger, running
from bench.result import Result, figure
from bench.workloads import Talk, Turn

ENGINES = 3
SLOTS = 2
SPEED = 4.0
AMPLE_TOKENS, TIGHT_TOKENS = 400_000, 45_000
RUNS = 5
OURS = "rigledger"


@dataclass(frozen=True)
class Outcome:
    """One run of a workload through one router; times in s of the engines' own pace."""

    ttft_s: list[float]
    makespan_s: float
    hit_ratio: float
    split: list[int]

    @property
    def mean_s(self) -> float:
        """Mean time to the first token."""
        return mean(self.ttft_s)

    def at(self, share: float) -> float:
        """A quantile of the times to the first token."""
        return sorted(self.ttft_s)[min(len(self.ttft_s) - 1, int(share * len(self.ttft_s)))]


def measure_ample(work: Path) -> Result:
    """Mean time to the first token with room for every conversation in the cards' caches."""
    return _measure(work, "router_ttft_mean_ample_s", AMPLE_TOKENS, _trees)


def measure_tight(work: Path) -> Result:
    """The same where the caches hold only part of them."""
    return _measure(work, "router_ttft_mean_tight_s", TIGHT_TOKENS, _trees)


def measure_branches(work: Path) -> Result:
    """Twelve branches of one task, three turns each, begun one after the other."""
    return _measure(work, "router_ttft_mean_branches_s", AMPLE_TOKENS, workloads.branches)


def measure_traces(work: Path) -> Result:
    """The public sample of Claude Code sessions, scaled to the engines."""
    if workloads.claude_code(0) is None:
        raise FileNotFoundError("the sample of Claude Code sessions is not beside this checkout")
    return _measure(
        work,
        "router_ttft_mean_traces_s",
        TIGHT_TOKENS * 2,
        lambda s: workloads.claude_code(s) or [],
    )


def _trees(seed: int) -> list[Talk]:
    return workloads.trees(seed, tasks=8)


def _measure(
    work: Path, name: str, cache_tokens: int, workload: Callable[[int], list[Talk]]
) -> Result:
    folder = work.resolve() / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    found: dict[str, list[Outcome]] = {}
    missing: list[str] = []
    for seed in range(RUNS):  # routers take turns, so that a slow minute hits all of them
        talks = workload(seed)
        for router in (OURS, *peers.POLICIES):
            if router in missing:
                continue
            _say(f"   {name}: run {seed + 1} of {RUNS}, {router}")
            try:
                outcome = _run(folder, router, cache_tokens, talks)
            except NotStarted:
                missing.append(router)
                continue
            found.setdefault(router, []).append(outcome)
    shutil.rmtree(folder)
    means = {router: median(run.mean_s for run in runs) for router, runs in found.items()}
    return Result(
        name,
        means.pop(OURS),
        "s",
        means,
        f"median of {RUNS} runs; {sum(len(t.turns) for t in talks)} requests over {ENGINES}"
        f" scripted engines of {SLOTS} slots and {cache_tokens:,} tokens of cache, time {SPEED:g}"
        f" times as fast; " + "; ".join(_told(router, runs) for router, runs in found.items())
        + (f"; not started: {', '.join(missing)}" if missing else ""),
    )  # fmt: skip


def _told(router: str, runs: list[Outcome]) -> str:
    means = [run.mean_s for run in runs]
    return (
        f"{router}: mean {figure(median(means))} ({figure(min(means))} to {figure(max(means))}),"
        f" p50 {figure(median(run.at(0.5) for run in runs))},"
        f" p95 {figure(median(run.at(0.95) for run in runs))} s,"
        f" hits {median(run.hit_ratio for run in runs):.0%},"
        f" split {'/'.join(map(str, sorted(runs[0].split)))},"
        f" all done in {figure(median(run.makespan_s for run in runs))} s"
    )


def _run(folder: Path, router: str, cache_tokens: int, talks: Sequence[Talk]) -> Outcome:
    addresses = [free_address() for _ in range(ENGINES)]
    ports = [address.rpartition(":")[2] for address in addresses]
    engines = [sys.executable, "-m", "bench.cards", str(SPEED), str(SLOTS), str(cache_tokens)]
    with contextlib.ExitStack() as stack:
        stack.enter_context(
            running([*engines, *ports], f"http://{addresses[0]}/health", folder / "engines.log")
        )
        urls = [f"http://{address}" for address in addresses]
        address = stack.enter_context(_started(folder, router, urls))
        return uvloop.run(_play(f"http://{address}", urls, talks))


@contextlib.contextmanager
def _started(folder: Path, router: str, engines: Sequence[str]) -> Iterator[str]:
    """A router in front of the engines; its address. Raises NotStarted."""
    listen = free_address()
    if router == OURS:
        command = rigledger(_settings(folder, listen, engines), "route", "--log-level", "error")
    else:
        peer, options = peers.POLICIES[router]
        found = peers.command(peer, listen, engines, options)
        if found is None:
            raise NotStarted(f"{peer} is not installed")
        command = found
    with running(command, f"http://{listen}/health", folder / "router.log"):
        time.sleep(1.0)  # peers take a moment to find their workers well
        yield listen


def _settings(folder: Path, listen: str, engines: Sequence[str]) -> Path:
    config = folder / "rigledger.toml"
    shutil.rmtree(folder / "ledger", ignore_errors=True)
    tables = "".join(
        f'[[engines]]\nname = "card{n}"\nurl = "{url}"\ngpus = ["GPU-{n}"]\nslots = {SLOTS}\n'
        for n, url in enumerate(engines)
    )
    config.write_text(
        f"[store]\npath = {json.dumps(str(folder / 'ledger'))}\n"
        f'[collector]\nlisten = "{free_address()}"\n[router]\nlisten = "{listen}"\n{tables}'
    )
    return config


async def _play(url: str, engines: Sequence[str], talks: Sequence[Talk]) -> Outcome:
    timeout = aiohttp.ClientTimeout(total=None)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(timeout=timeout, connector=connector) as session:
        start = time.perf_counter()
        talked = await asyncio.gather(*(_talk(session, url, talk) for talk in talks))
        makespan_s = (time.perf_counter() - start) * SPEED
        figures = [await _figures(session, engine) for engine in engines]
    whole = sum(each["input_tokens"] for each in figures)
    return Outcome(
        ttft_s=[seconds * SPEED for each in talked for seconds in each],
        makespan_s=makespan_s,
        hit_ratio=sum(each["hit_tokens"] for each in figures) / max(1, whole),
        split=[each["requests"] for each in figures],
    )


async def _talk(session: aiohttp.ClientSession, url: str, talk: Talk) -> list[float]:
    await asyncio.sleep(talk.at_s / SPEED)
    took = []
    for turn in talk.turns:
        await asyncio.sleep(turn.pause_s / SPEED)
        took.append(await _ask(session, url, turn))
    return took


async def _ask(session: aiohttp.ClientSession, url: str, turn: Turn) -> float:
    """Seconds to the first token of a stream that is then read to its end."""
    body = {"model": MODEL, "stream": True, "max_tokens": turn.output, "messages": turn.messages}
    start = time.perf_counter()
    first = None
    async with session.post(f"{url}/v1/chat/completions", json=body) as answer:
        if answer.status != 200:
            raise RuntimeError(f"{answer.status}: {(await answer.text())[:200]}")
        async for chunk in answer.content.iter_any():
            if first is None and b'"content"' in chunk:
                first = time.perf_counter()
    if first is None:
        raise RuntimeError("a stream without a token")
    return first - start


async def _figures(session: aiohttp.ClientSession, engine: str) -> dict[str, int]:
    async with session.get(f"{engine}/figures") as answer:
        found: dict[str, int] = await answer.json()
        return found


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
