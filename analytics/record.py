"""What the ledger tells of a span of time: whose the cards' time was and what they drew."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import polars as pl

from analytics import cost, energy
from analytics.account import Capacity
from analytics.active_gap import reach_ns
from analytics.card_time import READ, card_time
from analytics.evidence import Evidence, gather
from analytics.host import HostFacts, host_facts
from analytics.periods import day_at
from analytics.prefixes import RECALL_NS
from analytics.read import Ledger
from analytics.rig import Card, cards, in_force, in_service
from analytics.sampled import sampled
from analytics.states import BUCKET_NS, out_of_service, partition
from analytics.tellings import NEARBY_NS, joined
from analytics.timeline import Slots, timeline
from analytics.wall import wall
from collector.clock import SECOND_NS
from collector.settings import EngineSettings, Settings

DAY_NS = 86_400 * SECOND_NS
LOOKBACK_NS = 2 * DAY_NS


@dataclass(frozen=True)
class Record(Capacity):
    """Frames over [from_ns, to_ns), the part of the period that has passed.

    attempts: as the ledger tells them; rows: attempts on cards (`timeline`) that reach into the
    span's days; intervals: between readings (`energy.readings`), metered: those of the wall
    meters; host: what befell the host at any time (`host.host_facts`); assigned: the engines in
    force; slots: from when each of them had how many.
    """

    evidence: Evidence
    attempts: pl.DataFrame
    rows: pl.DataFrame
    intervals: pl.DataFrame
    metered: pl.DataFrame
    host: HostFacts
    assigned: dict[str, EngineSettings]
    slots: Slots

    @property
    def states(self) -> pl.DataFrame:
        """The segments of the cards in service."""
        return self.segments.filter(pl.col("card") != "")


def keep_record(
    ledger: Ledger, settings: Settings, from_ns: int, to_ns: int, now_ns: int
) -> Record:
    """Read what the ledger tells of [from_ns, min(to_ns, now_ns)).

    Whole local days are read and the span is cut out of them, so that its leaves are the same
    whatever period they are read in. Both ends must be multiples of 15 minutes, unless `now_ns`
    cuts the last; no engine may change its assignment inside the span.
    """
    to_ns = max(from_ns, min(to_ns, now_ns))
    first, last = day_at(from_ns, settings.zone).from_ns, day_at(to_ns - 1, settings.zone).to_ns
    days = (first, min(last, now_ns))
    pad = around_ns(settings)
    low, high = first - pad, min(last + pad, now_ns)
    assigned = in_force(settings, from_ns)
    host = host_facts(ledger.frame("host_events", 0, now_ns))
    with ThreadPoolExecutor(1) as beside:  # readings and attempts take about as long
        readings = beside.submit(sampled, ledger, host, days, now_ns)
        attempts = joined(ledger.frame("attempts", low - LOOKBACK_NS, high, ends_after_ns=low))
        engines = host.once(ledger.frame("engines", 0, days[1]))
        slots = _slots(assigned, engines)
        rows = timeline(attempts, assigned, slots, _prefixed(ledger, attempts, low, high))
        intervals, metered = readings.result()
    rig = cards(settings, from_ns)
    evidence = gather(
        rig,
        rows=rows,
        heartbeats=ledger.frame("heartbeats", first - BUCKET_NS, high),
        engines=engines,
        host_off=host.off,
        readings=intervals,
        active_gap_ns=settings.usage.active_gap_ns,
    )
    whole = partition(rig, evidence, *days)
    states = whole.filter(pl.col("start_ns") >= from_ns, pl.col("end_ns") <= to_ns)
    shares = card_time(_clipped(rows, rig, from_ns, to_ns))
    return Record(
        from_ns=from_ns,
        to_ns=to_ns,
        cards=rig,
        segments=pl.concat([states, out_of_service(rig, evidence, from_ns, to_ns)]),
        leaves=cost.time_leaves(states, shares),
        card_energy=_within(energy.by_state(intervals, whole, settings.zone), from_ns, to_ns),
        wall=wall(settings, metered, from_ns, to_ns),
        up=evidence.host_up,
        evidence=evidence,
        attempts=attempts,
        rows=rows,
        intervals=intervals,
        metered=metered,
        host=host,
        assigned=assigned,
        slots=slots,
    )


def around_ns(settings: Settings) -> int:
    """How far beyond a day its requests are read: as far as they bear on it."""
    return max(reach_ns(settings.usage.active_gap_ns), NEARBY_NS)


def _prefixed(ledger: Ledger, attempts: pl.DataFrame, low: int, high: int) -> pl.DataFrame:
    """The attempts whose prefixes those that end after `low` may have computed again."""
    has_any = pl.col("prefix").list.len() > 0
    if attempts.filter(has_any).is_empty():
        return attempts.clear()
    since = low - RECALL_NS
    told = ledger.frame("attempts", since - LOOKBACK_NS, high, ends_after_ns=since)
    return joined(told).filter(has_any).drop("route")


def _clipped(rows: pl.DataFrame, rig: list[Card], from_ns: int, to_ns: int) -> pl.DataFrame:
    """The rows' time within a span and their card's service; those without any are left out."""
    served = in_service(rig).with_columns(pl.col("begin", "end").clip(from_ns, to_ns))
    bounds = ("compute_ns", "split_ns", "end_ns")
    near = rows.select(READ).join(served, on="card", maintain_order="left")
    near = near.filter(pl.col("end_ns") > pl.col("begin"), pl.col("compute_ns") < pl.col("end"))
    near = near.with_columns(pl.col(bound).clip("begin", "end") for bound in bounds)
    return near.drop("begin", "end")


def _within(frame: pl.DataFrame, from_ns: int, to_ns: int) -> pl.DataFrame:
    return frame.filter(pl.col("bucket_ns") >= from_ns, pl.col("bucket_ns") < to_ns)


def _slots(
    assigned: Mapping[str, EngineSettings], engines: pl.DataFrame
) -> dict[str, list[tuple[int, int]]]:
    """From when each engine had how many slots: as declared, else as it told."""
    slots: dict[str, list[tuple[int, int]]] = {}
    for name, at_ns, told in engines.drop_nulls("slots").select(_TOLD).iter_rows():
        slots.setdefault(name, []).append((at_ns, told))
    for name, engine in assigned.items():
        if engine.slots is not None:
            slots[name] = [(0, engine.slots)]
    return slots


_TOLD = ["engine", "at_ns", "slots"]
