"""The books of a span of time: every frame that a report or a page adds up."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from analytics import capital, cost, electricity, energy, other_costs
from analytics.active_gap import reach_ns
from analytics.card_time import card_time
from analytics.electricity import HostEnergy
from analytics.evidence import Evidence, gather
from analytics.host import HostFacts, host_facts
from analytics.periods import day_at
from analytics.prefixes import RECALL_NS
from analytics.read import Ledger
from analytics.rig import Card, cards, in_force, in_service
from analytics.sampled import sampled
from analytics.states import BUCKET_NS, buckets_between, out_of_service, partition
from analytics.tariff import Rate, rates
from analytics.tellings import NEARBY_NS, joined
from analytics.timeline import Slots, timeline
from analytics.wall import Wall, wall
from collector.clock import SECOND_NS
from collector.settings import EngineSettings, Settings

DAY_NS = 86_400 * SECOND_NS
LOOKBACK_NS = 2 * DAY_NS


@dataclass(frozen=True)
class Books:
    """Frames over [from_ns, to_ns), the part of the period that has passed.

    attempts: as the ledger tells them; rows: attempts on cards (`timeline`) that reach into the
    span's days; states: segments (`partition`); intervals: between readings (`energy.readings`);
    leaves: time (`cost.time_leaves`); money: what they cost by line (`cost.MONEY`);
    unassigned: cost without capacity (line, category, bucket_ns, nano); card_energy: by card,
    bucket, state (`energy.by_state`); host_energy: beyond the cards; rates: the tariff by bucket;
    wall: what the meters told, metered: between their readings; host: what befell the host at any
    time (`host.host_facts`); assigned: the engines in force; slots: from when each of them had how
    many.
    """

    from_ns: int
    to_ns: int
    cards: list[Card]
    evidence: Evidence
    attempts: pl.DataFrame
    rows: pl.DataFrame
    states: pl.DataFrame
    leaves: pl.DataFrame
    money: pl.DataFrame
    unassigned: pl.DataFrame
    card_energy: pl.DataFrame
    host_energy: HostEnergy
    rates: dict[int, Rate]
    wall: Wall
    intervals: pl.DataFrame
    metered: pl.DataFrame
    host: HostFacts
    assigned: dict[str, EngineSettings]
    slots: Slots


def keep_books(ledger: Ledger, settings: Settings, from_ns: int, to_ns: int, now_ns: int) -> Books:
    """Read the ledger and account for [from_ns, min(to_ns, now_ns)).

    Whole local days are accounted for and the span is cut out of them, so that its leaves are the
    same whatever period they are read in. Both ends must be multiples of 15 minutes, unless
    `now_ns` cuts the last; no engine may change its assignment inside the span.
    """
    to_ns = max(from_ns, min(to_ns, now_ns))
    first, last = day_at(from_ns, settings.zone).from_ns, day_at(to_ns - 1, settings.zone).to_ns
    days = (first, min(last, now_ns))
    pad = around_ns(settings)
    low, high = first - pad, min(last + pad, now_ns)
    assigned = in_force(settings, from_ns)
    attempts = joined(ledger.frame("attempts", low - LOOKBACK_NS, high, ends_after_ns=low))
    host = host_facts(ledger.frame("host_events", 0, now_ns))
    engines = host.once(ledger.frame("engines", 0, days[1]))
    before = _prefixed(ledger, attempts, low, high)
    slots = _slots(assigned, engines)
    rows = timeline(attempts, assigned, slots, before)
    rig = cards(settings, from_ns)
    intervals, metered = sampled(ledger, host, days, now_ns)
    evidence = gather(
        rig,
        rows=rows,
        heartbeats=ledger.frame("heartbeats", first - BUCKET_NS, high),
        engines=engines,
        host_off=host.off,
        readings=intervals,
        active_gap_ns=settings.usage.active_gap_ns,
    )
    states = partition(rig, evidence, *days)
    card_energy = energy.by_state(intervals, states, settings.zone)
    return _account(
        settings,
        rig,
        evidence,
        attempts=attempts,
        rows=rows,
        states=states.filter(pl.col("start_ns") >= from_ns, pl.col("end_ns") <= to_ns),
        card_energy=_within(card_energy, from_ns, to_ns),
        span=(from_ns, to_ns),
        intervals=intervals,
        metered=metered,
        rates=rates(settings, ledger.price_series(settings), _bounds(from_ns, to_ns)),
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


def _account(
    settings: Settings,
    rig: list[Card],
    evidence: Evidence,
    *,
    attempts: pl.DataFrame,
    rows: pl.DataFrame,
    states: pl.DataFrame,
    card_energy: pl.DataFrame,
    span: tuple[int, int],
    intervals: pl.DataFrame,
    metered: pl.DataFrame,
    rates: dict[int, Rate],
    host: HostFacts,
    assigned: dict[str, EngineSettings],
    slots: Slots,
) -> Books:
    shares = card_time(_clipped(rows, rig, *span))
    leaves = cost.time_leaves(states, shares)
    lines = [
        *capital.lines(settings, evidence.host_up, span[1]),
        *other_costs.lines(settings, span[1]),
    ]
    spread, unassigned = cost.line_leaves(lines, leaves, _bounds(*span))
    told = wall(settings, metered, *span)
    bare = out_of_service(rig, evidence, *span)
    host_energy = electricity.host_energy(pl.concat([states, bare]), card_energy, told, rates, span)
    return Books(
        from_ns=span[0],
        to_ns=span[1],
        cards=rig,
        evidence=evidence,
        attempts=attempts,
        rows=rows,
        states=states,
        leaves=leaves,
        money=pl.concat([spread, *electricity.money(leaves, card_energy, host_energy, rates)]),
        unassigned=pl.concat([unassigned, electricity.unassigned(host_energy, rates)]),
        card_energy=card_energy,
        host_energy=host_energy,
        rates=rates,
        wall=told,
        intervals=intervals,
        metered=metered,
        host=host,
        assigned=assigned,
        slots=slots,
    )


def _clipped(rows: pl.DataFrame, rig: list[Card], from_ns: int, to_ns: int) -> pl.DataFrame:
    """The rows' time within a span and their card's service; those without any are left out."""
    served = in_service(rig).with_columns(pl.col("begin", "end").clip(from_ns, to_ns))
    near = rows.join(served, on="card", maintain_order="left").filter(
        pl.col("end_ns") > pl.col("begin"), pl.col("compute_ns") < pl.col("end")
    )
    bounds = ("compute_ns", "split_ns", "end_ns")
    near = near.with_columns(pl.col(bound).clip("begin", "end") for bound in bounds)
    return near.drop("begin", "end")


def _within(frame: pl.DataFrame, from_ns: int, to_ns: int, by: str = "bucket_ns") -> pl.DataFrame:
    return frame.filter(pl.col(by) >= from_ns, pl.col(by) < to_ns)


def _bounds(from_ns: int, to_ns: int) -> list[int]:
    bounds: list[int] = buckets_between(from_ns, to_ns).tolist()
    return bounds


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
