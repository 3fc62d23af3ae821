"""The routing policies against each other on three simulated cards: time to the first token.

`python -m bench.fleet_sim` prints all policies over all cases; the benchmarks compare
`estimated_wait` with the best of the others, case by case.
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from math import prod
from pathlib import Path
from random import Random
from statistics import mean

from bench.fleet_cards import Job, SimCard
from bench.fleet_work import Start, Turn, apart, burst, rounds, trees
from bench.result import Result, figure
from router.decision import Asked, Decision, Outcome
from router.fleet import Fleet, FleetEngine
from router.policies import POLICIES

NS = 10**9
OURS = "estimated_wait"
TASKS = 60
SEEDS = 5


@dataclass
class Run:
    """What came of one simulation; `sent` counts the requests of each card."""

    sent: dict[str, int]
    ttft_s: list[float] = field(default_factory=list)
    hit_tokens: int = 0
    prompt_tokens: int = 0
    end_s: float = 0.0


class Simulation:
    """One workload on cards of one kind, under one policy."""

    def __init__(
        self,
        policy: str,
        *,
        cards: int = 3,
        slots: int,
        cache_tokens: int,
        seed: int,
        reports: bool = True,
        slots_told: bool = True,
    ) -> None:
        """`reports`: the engines tell cached tokens. `slots_told`: the fleet knows the slots."""
        self._cards = {f"card{place}": SimCard(slots, cache_tokens) for place in range(cards)}
        engines = [FleetEngine(name, slots if slots_told else None) for name in self._cards]
        self._fleet = Fleet(engines, policy, rng=Random(seed))  # noqa: S311
        self._reports = reports
        self._flying: dict[Job, tuple[Decision, Turn]] = {}
        self._arrivals: list[tuple[float, int, Turn]] = []
        self._order = count()
        self._run = Run(dict.fromkeys(self._cards, 0))

    def run(self, starts: list[Start]) -> Run:
        """All of it, to its end."""
        self._expect(starts)
        while True:
            due = [(card.next_s(), name) for name, card in self._cards.items()]
            times = [(at_s, name) for at_s, name in due if at_s is not None]
            if times and (not self._arrivals or min(times)[0] <= self._arrivals[0][0]):
                at_s, name = min(times)
                self._advance(name, at_s)
            elif self._arrivals:
                self._arrive(*heapq.heappop(self._arrivals))
            else:
                return self._run

    def _expect(self, turns: list[Start]) -> None:
        for at_s, turn in turns:
            heapq.heappush(self._arrivals, (at_s, next(self._order), turn))

    def _arrive(self, at_s: float, _: int, turn: Turn) -> None:
        for name in self._cards:
            self._advance(name, at_s)
        decision = self._fleet.decide(Asked(prefix=turn.prefix), round(at_s * NS))
        job = Job(turn.prefix, turn.answer, turn.output_tokens, at_s)
        self._flying[job] = (decision, turn)
        self._run.sent[decision.chosen] += 1
        self._cards[decision.chosen].send(job)

    def _advance(self, name: str, to_s: float) -> None:
        first, ended = self._cards[name].advance(to_s)
        run, now_ns = self._run, round(to_s * NS)
        for job in first:
            self._fleet.first_token(self._flying[job][0], now_ns)
            run.ttft_s.append(to_s - job.sent_s)
            run.hit_tokens += job.hit_tokens
            run.prompt_tokens += job.prefix.input_tokens
        for job in ended:
            decision, turn = self._flying.pop(job)
            hit = job.hit_tokens if self._reports else None
            outcome = Outcome("ok", job.prefix.input_tokens, hit, job.output_tokens)
            self._fleet.finished(decision, outcome, now_ns)
            run.end_s = to_s
            self._expect(turn.then(to_s))


@dataclass(frozen=True)
class Case:
    """A workload, by its seed, and the cards that it meets."""

    work: Callable[[Random], list[Start]]
    slots: int
    cache_tokens: int

    def run(self, policy: str, seed: int) -> Run:
        """One simulation of it."""
        rig = Simulation(policy, slots=self.slots, cache_tokens=self.cache_tokens, seed=seed)
        return rig.run(self.work(Random(seed)))  # noqa: S311


def agents(slots: int, every_s: float, cache_tokens: int, *, size: int = 1) -> Case:
    """Agent trees on cards with so many slots and such a cache, a task every `every_s` or so."""
    return Case(
        lambda rng: trees(rng, tasks=TASKS, every_s=every_s, size=size), slots, cache_tokens
    )


AMPLE = {
    "a branch every 0.4 s": Case(burst, 2, 200_000),
    "12 branches at once": Case(lambda rng: burst(rng, gap_s=0.0), 2, 200_000),
    "12 tasks apart": Case(apart, 2, 200_000),
    "agents, 1 slot": agents(1, 32, 200_000),
    "agents, 2 slots": agents(2, 16, 200_000),
    "agents, 4 slots": agents(4, 12, 200_000),
    "large agents, 2 slots": agents(2, 30, 400_000, size=3),
}
TIGHT = {
    "six by turns, 45k": Case(rounds, 2, 45_000),
    "12 tasks apart, 60k": Case(apart, 2, 60_000),
    "agents, 2 slots, 30k": agents(2, 18, 30_000),
    "agents twice as large, 2 slots, 45k": agents(2, 28, 45_000, size=2),
    "large agents, 1 slot, 60k": agents(1, 56, 60_000, size=3),
    "large agents, 2 slots, 60k": agents(2, 40, 60_000, size=3),
    "large agents, 4 slots, 80k": agents(4, 30, 80_000, size=3),
}


def mean_ttft_s(case: Case, policy: str, seeds: int) -> float:
    """The mean time to the first token, over all requests of a seed and then over the seeds."""
    return mean(mean(case.run(policy, seed).ttft_s) for seed in range(seeds))


def measure_ample(work: Path) -> Result:
    """Caches that hold all that is in use."""
    return _measure("sim_ttft_ample_ratio", AMPLE)


def measure_tight(work: Path) -> Result:
    """Caches that hold a part of it."""
    return _measure("sim_ttft_tight_ratio", TIGHT)


def _measure(name: str, cases: dict[str, Case], seeds: int = SEEDS) -> Result:
    """Geometric means over the cases of each policy's time against the best other policy's."""
    ratios: dict[str, list[float]] = {policy: [] for policy in POLICIES}
    notes = []
    for title, case in cases.items():
        ttft_s = {policy: mean_ttft_s(case, policy, seeds) for policy in POLICIES}
        best = min((policy for policy in POLICIES if policy != OURS), key=ttft_s.__getitem__)
        for policy, own in ratios.items():
            own.append(ttft_s[policy] / ttft_s[best])
        notes.append(f"{title} {figure(ttft_s[OURS])} s, {best} {figure(ttft_s[best])} s")
    means = {policy: prod(own) ** (1 / len(own)) for policy, own in ratios.items()}
    value = means.pop(OURS)
    said = f"{OURS} against the best other policy of each case, {seeds} seeds: {'; '.join(notes)}"
    return Result(name, value, "of the best other", means, said)


def main() -> None:
    """Every policy in every case: mean seconds to the first token, share of prompts cached."""
    for title, case in {**AMPLE, **TIGHT}.items():
        print(title)
        for policy in POLICIES:
            runs = [case.run(policy, seed) for seed in range(SEEDS)]
            ttft_s = mean(mean(run.ttft_s) for run in runs)
            hits = sum(run.hit_tokens for run in runs) / sum(run.prompt_tokens for run in runs)
            print(f"  {policy:20} {ttft_s:8.2f} s  {hits:.2f}", flush=True)


if __name__ == "__main__":
    main()
