"""How many requests a pool had at once, and for how long: what its slots must hold."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl

from analytics.intervals import Ints, clip, distinct, inside, union
from analytics.record import Record

Levels = dict[str, Any]  # at_once_ns by the number of requests as text, unknown_ns, slots


def concurrency(record: Record, from_ns: int, to_ns: int) -> dict[str, Levels]:
    """For each pool of the rig the time within a span by the number of requests there, whether
    they wait or compute.

    The time is that in which any card of the pool was in service. With no request it is
    unknown_ns while any of them had no witness. slots: those of the pool's engines at the span's
    end, None where one never told.
    """
    pools = sorted({pool for card in record.cards for pool in card.pools})
    return {pool: _levels(record, pool, from_ns, to_ns) for pool in pools}


def _levels(record: Record, pool: str, from_ns: int, to_ns: int) -> Levels:
    cards = [card for card in record.cards if pool in card.pools]
    own = record.states.filter(pl.col("card").is_in([card.uuid for card in cards]))
    served = clip(_spans(own), from_ns, to_ns)
    unseen = clip(_spans(own.filter(state="unknown")), from_ns, to_ns)
    # An odd attempt that was sent on after its end was never there.
    there = pl.col("pool") == pool, pl.col("end_ns") > pl.col("start_ns"), pl.col("card_no") == 0
    rows = record.rows.select("pool", "card_no", "start_ns", "end_ns").filter(there)
    starts, ends = (np.sort(rows[column].to_numpy()) for column in ("start_ns", "end_ns"))
    edges = distinct(np.concatenate([starts, ends, served.ravel(), unseen.ravel()]))
    at, length = edges[:-1], np.diff(edges)
    count = np.searchsorted(starts, at, "right") - np.searchsorted(ends, at, "right")
    blank = (count == 0) & inside(unseen, at)
    seen = inside(served, at) & ~blank
    levels = np.zeros(int(count.max(initial=0)) + 1, dtype=np.int64)
    np.add.at(levels, count[seen], length[seen])
    slots = slots_at(record, pool, to_ns)
    return {
        "at_once_ns": {str(n): int(ns) for n, ns in enumerate(levels) if ns},
        "unknown_ns": int(length[blank].sum()),
        "slots": None if slots is None else sum(slots),
    }


def _spans(states: pl.DataFrame) -> Ints:
    return union(states["start_ns"].to_numpy(), states["end_ns"].to_numpy())


def slots_at(record: Record, pool: str, at_ns: int) -> list[int] | None:
    """What each engine of a pool told last of its slots before an instant, most first; None where
    one never told."""
    own = [name for name, engine in record.assigned.items() if engine.pool_name == pool]
    last = [[n for since, n in record.slots.get(name, ()) if since < at_ns][-1:] for name in own]
    return sorted((n for (n,) in last), reverse=True) if all(last) else None


def added(days: Iterable[Mapping[str, Levels]]) -> list[dict[str, Any]]:
    """The pools of several days, each added up.

    at_once_ns: time by number of requests, from none up; worked_ns: with any; most: the largest
    number seen; slots: as of the last day; over_slots_ns: with more requests than
    slots, None where these are unknown.
    """
    found: dict[str, dict[int, int]] = {}
    unknown: dict[str, int] = {}
    slots: dict[str, int | None] = {}
    for day in days:
        for pool, levels in day.items():
            into = found.setdefault(pool, {})
            for number, ns in levels["at_once_ns"].items():
                into[int(number)] = into.get(int(number), 0) + ns
            unknown[pool] = unknown.get(pool, 0) + levels["unknown_ns"]
            slots[pool] = levels["slots"]
    return [_pool(pool, found[pool], unknown[pool], slots[pool]) for pool in sorted(found)]


def _pool(name: str, ns: dict[int, int], unknown_ns: int, slots: int | None) -> dict[str, Any]:
    over = None if slots is None else sum(time for number, time in ns.items() if number > slots)
    return {
        "name": name,
        "slots": slots,
        "at_once_ns": {str(number): ns[number] for number in sorted(ns)},
        "unknown_ns": unknown_ns,
        "worked_ns": sum(time for number, time in ns.items() if number),
        "most": max(ns, default=0),
        "over_slots_ns": over,
    }
