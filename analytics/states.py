"""The partition: every nanosecond of capacity is in exactly one state, the first that holds."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from analytics.evidence import Evidence
from analytics.intervals import Flags, Ints, distinct, edges_of, inside, subtract, union_of
from analytics.rig import Card
from collector.clock import SECOND_NS

STATES = ("busy", "off", "unknown", "other", "stranded", "headroom", "idle")
UNASSIGNED = "unassigned"  # no card in service: no part of capacity
BUCKET_NS = 900 * SECOND_NS


def partition(cards: Sequence[Card], evidence: Evidence, from_ns: int, to_ns: int) -> pl.DataFrame:
    """Cut the cards' capacity in [from_ns, to_ns) into segments of one state and one bucket.

    Columns: card, bucket_ns (its start), start_ns, end_ns, state, host_known (something on the
    host was seen alive), host_off (it was shown to be off). The segments of a card cover its
    capacity without overlap; they are cut at 15-minute bounds and where something changes.
    """
    parts = [
        _segments(card, evidence, max(from_ns, start), min(to_ns, end))
        for card in cards
        for start, end in card.in_service
    ]
    return pl.concat([_empty(), *parts])


def out_of_service(
    cards: Sequence[Card], evidence: Evidence, from_ns: int, to_ns: int
) -> pl.DataFrame:
    """The time of [from_ns, to_ns) in which no card is in service, cut as `partition` cuts; its
    state is `unassigned`, its card ""."""
    served = union_of([np.array(card.in_service, dtype=np.int64).reshape(-1, 2) for card in cards])
    bare = subtract(np.array([[from_ns, to_ns]], dtype=np.int64), served)
    known, off = evidence.host_known, evidence.host_off
    parts = []
    for start, end in bare.tolist():
        at, until = _cut([known, off], start, end)
        parts.append(_frame("", (at, until), [UNASSIGNED] * len(at), (known, off)))
    return pl.concat([_empty(), *parts])


def buckets_between(from_ns: int, to_ns: int) -> Ints:
    """The 15-minute UTC bounds within [from_ns, to_ns], and both ends."""
    inner = np.arange(from_ns // BUCKET_NS + 1, -(-to_ns // BUCKET_NS), dtype=np.int64) * BUCKET_NS
    return np.concatenate(([from_ns], inner, [to_ns])).astype(np.int64)


def _segments(card: Card, evidence: Evidence, from_ns: int, to_ns: int) -> pl.DataFrame:
    if from_ns >= to_ns:
        return _empty()
    sets = _layers(card, evidence)
    known = evidence.host_known
    at, until = _cut([*sets, known, evidence.host_off], from_ns, to_ns)
    states = _first_that_holds(sets, at)
    return _frame(card.uuid, (at, until), states, (known, evidence.host_off))


def _cut(sets: Sequence[Ints], from_ns: int, to_ns: int) -> tuple[Ints, Ints]:
    """Starts and ends of [from_ns, to_ns) cut at 15-minute bounds and wherever a set changes."""
    edges = distinct(np.concatenate((edges_of(sets), buckets_between(from_ns, to_ns))))
    edges = edges[(edges >= from_ns) & (edges <= to_ns)]
    return edges[:-1], edges[1:]


def _frame(
    card: str, span: tuple[Ints, Ints], states: list[str], host: tuple[Ints, Ints]
) -> pl.DataFrame:
    """Segments from their starts and ends, their states, and when the host was seen and off."""
    (at, until), (known, off) = span, host
    is_off = inside(off, at)
    return pl.DataFrame(
        {
            "card": [card] * len(at),
            "bucket_ns": at // BUCKET_NS * BUCKET_NS,
            "start_ns": at,
            "end_ns": until,
            "state": states,
            "host_known": inside(known, at) & ~is_off,
            "host_off": is_off,
        },
        schema=_empty().schema,
    )


def _layers(card: Card, evidence: Evidence) -> list[Ints]:
    """The sets that decide, in order; `unknown` is told by its opposite and stands third."""
    off = union_of([evidence.host_off, evidence.down[card.uuid]])
    waiting = union_of(evidence.waiting[pool] for pool in card.pools if pool in evidence.waiting)
    return [
        evidence.busy[card.uuid],
        off,
        evidence.witnessed[card.uuid],
        evidence.other[card.uuid],
        waiting,
        evidence.active,
    ]


def _first_that_holds(sets: Sequence[Ints], at: Ints) -> list[str]:
    holds: list[Flags] = [inside(intervals, at) for intervals in sets]
    holds[2] = ~holds[2]
    chosen = np.select(holds, range(len(holds)), default=len(STATES) - 1)
    return [STATES[index] for index in chosen.tolist()]


def _empty() -> pl.DataFrame:
    return pl.DataFrame(
        schema={
            "card": pl.String,
            "bucket_ns": pl.Int64,
            "start_ns": pl.Int64,
            "end_ns": pl.Int64,
            "state": pl.String,
            "host_known": pl.Boolean,
            "host_off": pl.Boolean,
        }
    )
