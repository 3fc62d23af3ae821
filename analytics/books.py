"""The books of a span of time: every frame that a report or a page adds up."""

from dataclasses import dataclass

import polars as pl

from analytics import cost, energy
from analytics.card_time import card_time
from analytics.evidence import Evidence, gather
from analytics.read import Ledger
from analytics.rig import Card, cards
from analytics.states import BUCKET_NS, buckets_between, partition
from analytics.timeline import timeline
from collector.clock import SECOND_NS
from collector.settings import Settings

LOOKBACK_NS = 2 * 86_400 * SECOND_NS
PEAK_DAYS_NS = 90 * 86_400 * SECOND_NS


@dataclass(frozen=True)
class Books:
    """Frames over [from_ns, to_ns), the part of the period that has passed.

    rows: attempts on cards over the trailing 90 days (`timeline`); states: segments
    (`partition`); leaves: time (`cost.time_leaves`); money: cost leaves of every line;
    unassigned: cost without capacity; card_energy: by card, bucket, state (`energy.by_state`);
    host_energy likewise.
    """

    from_ns: int
    to_ns: int
    cards: list[Card]
    evidence: Evidence
    rows: pl.DataFrame
    states: pl.DataFrame
    leaves: pl.DataFrame
    money: pl.DataFrame
    unassigned: pl.DataFrame
    card_energy: pl.DataFrame
    host_energy: pl.DataFrame
    resets: int


def keep_books(ledger: Ledger, settings: Settings, from_ns: int, to_ns: int, now_ns: int) -> Books:
    """Read the ledger and account for [from_ns, min(to_ns, now_ns)).

    Evidence is read beyond both ends, so that a span's leaves are the same whatever period they
    are read in. Both ends must be multiples of 15 minutes, unless `now_ns` cuts the last.
    """
    to_ns = max(from_ns, min(to_ns, now_ns))
    pad = max(BUCKET_NS, settings.usage.active_gap_ns)
    low, high = from_ns - pad, min(to_ns + pad, now_ns)
    samples = ledger.frame("samples", low - BUCKET_NS, high + BUCKET_NS)
    attempts = ledger.frame("attempts", to_ns - PEAK_DAYS_NS - LOOKBACK_NS, high)
    engines = ledger.frame("engines", 0, high)
    rows = timeline(attempts, settings, _slots(settings, engines))
    seen = set(samples["card"].unique()) | set(rows["card"].unique())
    rig = cards(settings, seen)
    intervals = energy.readings(samples)
    near = rows.filter(pl.col("end_ns") > low)
    evidence = gather(
        rig,
        rows=near,
        heartbeats=ledger.frame("heartbeats", low - BUCKET_NS, high),
        engines=engines,
        hosts=ledger.frame("hosts", low, to_ns + LOOKBACK_NS),
        readings=intervals,
        active_gap_ns=settings.usage.active_gap_ns,
    )
    span = (low, from_ns, to_ns, high)
    return _account(settings, rig, evidence, rows=rows, intervals=intervals, span=span)


def _account(
    settings: Settings,
    rig: list[Card],
    evidence: Evidence,
    *,
    rows: pl.DataFrame,
    intervals: pl.DataFrame,
    span: tuple[int, int, int, int],
) -> Books:
    low, from_ns, to_ns, high = span
    padded = partition(rig, evidence, low, high)
    padded_energy = energy.by_state(intervals, padded, settings.zone)
    states = padded.filter(pl.col("start_ns") >= from_ns, pl.col("end_ns") <= to_ns)
    card_energy = _within(padded_energy, from_ns, to_ns)
    shares = _within(card_time(_clipped(rows, from_ns, to_ns)), from_ns, to_ns)
    leaves = cost.time_leaves(states, shares)
    bounds = [int(bound) for bound in buckets_between(from_ns, to_ns)]
    capital, unassigned = cost.capital_leaves(settings, leaves, bounds)
    host_energy = cost.host_energy(states, settings)
    money = [
        capital,
        cost.electricity_leaves(
            "cards' electricity", cost.energy_on_leaves(card_energy, leaves), settings
        ),
        cost.electricity_leaves(
            "host's electricity", cost.energy_on_leaves(host_energy, leaves), settings
        ),
    ]
    return Books(
        from_ns=from_ns,
        to_ns=to_ns,
        cards=rig,
        evidence=evidence,
        rows=rows,
        states=states,
        leaves=leaves,
        money=pl.concat(money),
        unassigned=unassigned,
        card_energy=card_energy,
        host_energy=host_energy,
        resets=int(intervals["reset"].sum()),
    )


def _clipped(rows: pl.DataFrame, from_ns: int, to_ns: int) -> pl.DataFrame:
    """The rows' time within a span; those without any are left out."""
    near = rows.filter(pl.col("end_ns") > from_ns, pl.col("compute_ns") < to_ns)
    bounds = ("compute_ns", "split_ns", "end_ns")
    return near.with_columns(pl.col(bound).clip(from_ns, to_ns) for bound in bounds)


def _within(frame: pl.DataFrame, from_ns: int, to_ns: int) -> pl.DataFrame:
    return frame.filter(pl.col("bucket_ns") >= from_ns, pl.col("bucket_ns") < to_ns)


def _slots(settings: Settings, engines: pl.DataFrame) -> dict[str, int | None]:
    """Slots as declared, else as the engine last told."""
    told = engines.drop_nulls("slots").group_by("engine").agg(pl.col("slots").last())
    slots: dict[str, int | None] = dict(told.iter_rows())
    slots.update({e.name: e.slots for e in settings.engines if e.slots is not None})
    return slots
