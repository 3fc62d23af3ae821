"""Headroom needed: the recorded arrivals once more, on fewer engines than there are.

A request takes as long on another engine as it took; it waits where all slots are taken, in the
order of arrival, and its first token comes later by as much. Each local day begins with free
slots. What fewer engines would do to caches and to the speed of those that compute together is
not replayed.
"""

import heapq
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl

from analytics.books import Books
from analytics.intervals import Ints

MS = 1_000_000
PERCENT = 95
Replay = dict[str, Any]  # slots (of the engines, most first), requests, untold, ms


def replays(books: Books, from_ns: int, to_ns: int) -> dict[str, Replay]:
    """For each pool the requests that came within a span, on 1..n of its engines.

    slots: those of each engine as of the span's end, most first, None where one never told;
    requests: those with a first token; untold: those without; ms: by the number of engines, how
    many requests had their first token after so many whole ms.
    """
    pools = sorted({engine.pool_name for engine in books.assigned.values()})
    return {pool: _replay(books, pool, from_ns, to_ns) for pool in pools}


def _replay(books: Books, pool: str, from_ns: int, to_ns: int) -> Replay:
    came = books.rows.filter(
        pl.col("pool") == pool,
        pl.col("card_no") == 0,
        pl.col("end_ns") > pl.col("start_ns"),
        pl.col("received_at_ns") >= from_ns,
        pl.col("received_at_ns") < to_ns,
    ).sort("start_ns", "request")
    told = came["first_token_ns"].is_not_null()
    slots = _slots(books, pool, to_ns)
    found = {"slots": slots, "requests": int(told.sum()), "untold": int((~told).sum())}
    if slots is None:
        return {**found, "ms": {}}
    ready, compute, end, asked = (
        came[name].to_numpy() for name in ("start_ns", "compute_ns", "end_ns", "received_at_ns")
    )
    first = came["first_token_ns"].fill_null(0).to_numpy()
    lead = np.maximum(first - compute, 0)
    heard = told.to_numpy()
    ms = {}
    for engines in range(1, len(slots) + 1):
        begun = begins(ready, end - compute, sum(slots[:engines]))
        after = (begun + lead - asked)[heard] // MS
        values, counts = np.unique(after, return_counts=True)
        ms[str(engines)] = {str(v): int(n) for v, n in zip(values, counts, strict=True)}
    return {**found, "ms": ms}


def begins(ready: Ints, takes: Ints, slots: int) -> Ints:
    """When each request begins, in order of arrival, where `slots` compute at once."""
    there = np.arange(len(ready)) - np.searchsorted(np.sort(ready + takes), ready, side="right")
    if not len(ready) or int(there.max()) < slots:
        return ready  # nobody ever waited
    free = [int(ready[0])] * slots
    begun = ready.tolist()
    for index, length in enumerate(takes.tolist()):
        begun[index] = max(begun[index], free[0])
        heapq.heapreplace(free, begun[index] + length)
    return np.array(begun, dtype=np.int64)


def _slots(books: Books, pool: str, at_ns: int) -> list[int] | None:
    own = [name for name, engine in books.assigned.items() if engine.pool_name == pool]
    told = [
        [count for since, count in books.slots.get(name, ()) if since < at_ns][-1:] for name in own
    ]
    if not all(told) or any(count < 1 for (count,) in told):
        return None
    return sorted((count for (count,) in told), reverse=True)


def needed(
    days: Iterable[Mapping[str, Replay]], target_ms: int, spare: Mapping[str, int]
) -> list[dict[str, Any]]:
    """For each pool of several days: engines as of the last day (0 where their slots are
    unknown), requests, untold, p95_ms by the number of engines, `needed`, the fewest that meet
    the target (None where none does), and what the rest cost (`spare_nano`).

    `spare` is what each pool's cards cost but for the energy of their work; engines count alike.
    """
    by_pool: dict[str, list[Replay]] = {}
    for day in days:
        for pool, replay in day.items():
            by_pool.setdefault(pool, []).append(replay)
    return [
        _needed(pool, replays, target_ms, spare.get(pool, 0))
        for pool, replays in sorted(by_pool.items())
    ]


def _needed(pool: str, replays: list[Replay], target_ms: int, spare_nano: int) -> dict[str, Any]:
    engines = len(replays[-1]["slots"] or ())
    p95 = {
        str(n): percentile(_added(_on(replay, n) for replay in replays))
        for n in range(1, engines + 1)
    }
    meets = [int(n) for n, ms in p95.items() if ms is not None and ms <= target_ms]
    fewest = min(meets, default=None)
    return {
        "name": pool,
        "engines": engines,
        "requests": sum(replay["requests"] for replay in replays),
        "untold": sum(replay["untold"] for replay in replays),
        "p95_ms": p95,
        "needed": fewest,
        "spare_nano": None if fewest is None else spare_nano * (engines - fewest) // engines,
    }


def _on(replay: Replay, engines: int) -> Mapping[str, int]:
    """A day on so many engines, or on all of its own where it had fewer."""
    found: Mapping[str, int] = replay["ms"].get(str(min(engines, len(replay["slots"] or ()))), {})
    return found


def _added(each: Iterable[Mapping[str, int]]) -> dict[int, int]:
    found: dict[int, int] = {}
    for counts in each:
        for ms, number in counts.items():
            found[int(ms)] = found.get(int(ms), 0) + number
    return found


def percentile(counts: Mapping[int, int]) -> int | None:
    """The least value that 95 of 100 do not exceed; None of none."""
    rank = -(-sum(counts.values()) * PERCENT // 100)
    for value in sorted(counts):
        rank -= counts[value]
        if rank <= 0:
            return value
    return None
