"""Routers side by side on the same engines: how soon conversations get their answers."""

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import uvloop

from bench import workloads
from bench.children import NotStarted
from bench.play import Outcome, play
from bench.pools import CONTEXT_TOKENS, ENGINES, SCRIPTED_SPEED, SLOTS, Pool, llamas, scripted
from bench.result import Result, figure
from bench.routed import OURS, ROUTERS, routed
from bench.workloads import Talk

# Of prefixes that each card keeps: room for all, and for less than runs at once.
AMPLE_TOKENS, TIGHT_TOKENS = 400_000, 24_000
TRACES_TOKENS = 90_000
RUNS = 5
# What real engines are asked is shorter, and comes so slowly that two cores could compute all of
# it in time: where three engines have fewer cores than that, a router could not help it.
LLAMA_SCALE, LLAMA_ANSWER_TOKENS, LLAMA_EVERY_S = 0.08, 12, 0.5


@dataclass(frozen=True)
class Contest:
    """What the routers are compared by: the talks of a seed, and fresh engines in a folder."""

    talks: Callable[[int], list[Talk]]
    pool: Callable[[Path], AbstractContextManager[Pool]]
    engines: str


def measure_ample(work: Path) -> Result:
    """Mean time to the first token with room for every conversation in the cards' caches."""
    return _measure(work, "router_ttft_mean_ample_s", _on_cards(_trees, AMPLE_TOKENS))


def measure_tight(work: Path) -> Result:
    """The same where the caches hold only part of them."""
    return _measure(work, "router_ttft_mean_tight_s", _on_cards(_trees, TIGHT_TOKENS))


def measure_branches(work: Path) -> Result:
    """Twelve branches of one task, three turns each, begun one after the other."""
    contest = _on_cards(workloads.branches, AMPLE_TOKENS)
    return _measure(work, "router_ttft_mean_branches_s", contest)


def measure_traces(work: Path) -> Result:
    """The public sample of Claude Code sessions, scaled to the engines."""
    if workloads.claude_code(0) is None:
        raise FileNotFoundError("the sample of Claude Code sessions is not beside this checkout")
    contest = _on_cards(lambda seed: workloads.claude_code(seed) or [], TRACES_TOKENS)
    return _measure(work, "router_ttft_mean_traces_s", contest)


def measure_llama(
    work: Path, *, talks: int = 12, runs: int = RUNS, routers: Sequence[str] = ROUTERS
) -> Result:
    """Shorter branches on real engines: llama.cpp computes them, its caches decide the hits."""
    contest = Contest(
        lambda seed: workloads.branches(
            seed,
            talks=talks,
            every_s=LLAMA_EVERY_S,
            scale=LLAMA_SCALE,
            output=LLAMA_ANSWER_TOKENS,
        ),
        lambda folder: llamas(folder, LLAMA_ANSWER_TOKENS),
        f"llama.cpp servers of one thread, {SLOTS} slots and a context of {CONTEXT_TOKENS:,}"
        f" tokens over a random model, all on {os.cpu_count()} cores",
    )
    return _measure(work, "router_ttft_mean_llama_s", contest, runs, routers)


def _trees(seed: int) -> list[Talk]:
    return workloads.trees(seed, tasks=8)


def _on_cards(talks: Callable[[int], list[Talk]], cache_tokens: int) -> Contest:
    return Contest(
        talks,
        lambda folder: scripted(folder, cache_tokens),
        f"scripted engines of {SLOTS} slots and {cache_tokens:,} tokens of cache, time"
        f" {SCRIPTED_SPEED:g} times as fast",
    )


def _measure(
    work: Path, name: str, contest: Contest, runs: int = RUNS, routers: Sequence[str] = ROUTERS
) -> Result:
    folder = work.resolve() / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    found: dict[str, list[Outcome]] = {}
    missing: list[str] = []
    for seed in range(runs):  # routers take turns, so that a slow minute hits all of them
        talks = contest.talks(seed)
        for router in (*routers[seed:], *routers[:seed]):  # and none is always the first
            if router in missing:
                continue
            _say(f"   {name}: run {seed + 1} of {runs}, {router}")
            try:
                outcome = _run(folder, router, contest, talks)
            except NotStarted:
                missing.append(router)
                continue
            found.setdefault(router, []).append(outcome)
    shutil.rmtree(folder)
    means = {router: median(run.mean_s for run in each) for router, each in found.items()}
    return Result(
        name,
        means.pop(OURS),
        "s",
        means,
        f"median of {runs} runs; {sum(len(t.turns) for t in talks)} requests over {ENGINES}"
        f" {contest.engines}; " + "; ".join(_told(router, each) for router, each in found.items())
        + (f"; not started: {', '.join(missing)}" if missing else ""),
    )  # fmt: skip


def _run(folder: Path, router: str, contest: Contest, talks: Sequence[Talk]) -> Outcome:
    with contest.pool(folder) as pool, routed(folder, router, pool) as url:
        answers, makespan_s = uvloop.run(play(url, pool.model, talks, pool.speed))
        return Outcome(answers, makespan_s, pool.answered())


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


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
