"""Headroom needed: the recorded arrivals once more, on fewer engines than there are.

A request takes as long on another engine as it took; it waits where all slots are taken, in the
order of arrival, and its first token comes later by as much. Each local day begins with free
slots. What fewer engines would do to caches and to the speed of those that compute together is
not replayed.
"""

import heapq
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from analytics.concurrency import slots_at
from analytics.intervals import Ints
from analytics.record import Record
from analytics.rig import Card

MS = 1_000_000
PERCENT = 95
Replay = dict[str, Any]  # slots (of the engines, most first), requests, untold, ms, fixed_nano


def replays(record: Record, from_ns: int, to_ns: int) -> dict[str, Replay]:
    """For each pool the requests that came within a span, on 1..n of its engines.

    slots: those of each engine as of the span's end, most first, None where one never told;
    requests: those with a first token; untold: those without; ms: by the number of engines, how
    many requests had their first token within so many ms, to three digits, rounded up.
    """
    pools = sorted({engine.pool_name for engine in record.assigned.values()})
    return {pool: _replay(record, pool, from_ns, to_ns) for pool in pools}


def priced(
    found: Mapping[str, Replay], cells: pl.DataFrame, cards: Sequence[Card]
) -> dict[str, Replay]:
    """Replays with fixed_nano: what the cards that serve their pool alone cost but for the power
    of their work, of the span's `cells`."""
    return {
        pool: {**each, "fixed_nano": _fixed(pool, cells, cards)} for pool, each in found.items()
    }


def _fixed(pool: str, cells: pl.DataFrame, cards: Sequence[Card]) -> int:
    own = [card.uuid for card in cards if set(card.pools) == {pool}]
    idle = pl.when(pl.col("state") == "busy").then(0).otherwise("energy_nano")
    nano = pl.col("capital_nano") + pl.col("other_nano") + idle
    return int(cells.filter(pl.col("card").is_in(own)).select(nano.sum()).item() or 0)


def _replay(record: Record, pool: str, from_ns: int, to_ns: int) -> Replay:
    came = record.rows.filter(
        pl.col("pool") == pool,
        pl.col("card_no") == 0,
        pl.col("end_ns") > pl.col("start_ns"),
        pl.col("received_at_ns") >= from_ns,
        pl.col("received_at_ns") < to_ns,
    ).sort("start_ns", "request")
    told = came["first_token_ns"].is_not_null()
    slots = slots_at(record, pool, to_ns)
    if slots is not None and min(slots) < 1:
        slots = None  # nothing runs on an engine that says so
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
        values, counts = np.unique(_ms((begun + lead - asked)[heard]), return_counts=True)
        ms[str(engines)] = {str(v): int(n) for v, n in zip(values, counts, strict=True)}
    return {**found, "ms": ms}


def _ms(ns: Ints) -> Ints:
    """Whole ms to three digits, rounded up, so that no miss is called a hit."""
    ms = -(-ns // MS)
    step = 10 ** np.maximum(0, np.floor(np.log10(np.maximum(ms, 1))).astype(np.int64) - 2)
    return np.asarray(-(-ms // step) * step, dtype=np.int64)


def begins(ready: Ints, takes: Ints, slots: int) -> Ints:
    """When each request begins, in order of arrival, where `slots` compute at once."""
    there = np.arange(len(ready)) - np.searchsorted(np.sort(ready + takes), ready, side="left")
    if not len(ready) or int(there.max()) < slots:
        return ready  # nobody ever waited
    free = [int(ready[0])] * slots
    begun = ready.tolist()
    for index, length in enumerate(takes.tolist()):
        begun[index] = max(begun[index], free[0])
        heapq.heapreplace(free, begun[index] + length)
    return np.array(begun, dtype=np.int64)


def needed(days: Iterable[Mapping[str, Replay]], target_ms: int) -> list[dict[str, Any]]:
    """For each pool of several days: engines as of the last day, requests, untold, unjudged (of
    days on which nobody told the slots), p95_ms by the number of engines, `needed`, the fewest
    that meet the target (None where none does), and what the rest cost (`spare_nano`). Where
    requests are unjudged there are no p95 and nothing is needed.
    """
    by_pool: dict[str, list[Replay]] = {}
    for day in days:
        for pool, replay in day.items():
            by_pool.setdefault(pool, []).append(replay)
    return [_needed(pool, replays, target_ms) for pool, replays in sorted(by_pool.items())]


def _needed(pool: str, replays: list[Replay], target_ms: int) -> dict[str, Any]:
    engines = len(replays[-1]["slots"] or ())
    unjudged = sum(replay["requests"] for replay in replays if replay["slots"] is None)
    p95 = {
        str(n): percentile(_added(_on(replay, n) for replay in replays))
        for n in range(1, 1 + (0 if unjudged else engines))
    }
    meets = [int(n) for n, ms in p95.items() if ms is not None and ms <= target_ms]
    fewest = min(meets, default=None)
    return {
        "name": pool,
        "engines": engines,
        "requests": sum(replay["requests"] for replay in replays),
        "untold": sum(replay["untold"] for replay in replays),
        "unjudged": unjudged,
        "p95_ms": p95,
        "needed": fewest,
        "spare_nano": None if fewest is None else sum(_spare(day, fewest) for day in replays),
    }


def _spare(replay: Replay, fewest: int) -> int:
    """What a day's engines beyond the fewest cost: all engines count alike."""
    there = len(replay["slots"] or ())
    nano: int = replay["fixed_nano"]
    return nano * (there - fewest) // there if there > fewest else 0


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
