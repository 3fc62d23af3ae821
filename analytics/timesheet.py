"""A local day before any price: whose its time was, what it drew, and what its attempts told.

Made once from a `Record` when the day is over and kept as Parquet beside the ledger, so that other
prices make other `Day`s of it without reading an event again.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import polars as pl

from analytics import cost, decisions, misses, rollup
from analytics.account import Capacity
from analytics.active_gap import headroom_ns
from analytics.concurrency import concurrency
from analytics.emitted import emitted
from analytics.evidence import GAP_PERIODS
from analytics.intervals import Ints, clip, measure, union, union_of
from analytics.periods import Period, day_at
from analytics.record import LOOKBACK_NS, Record
from analytics.replay import replays
from analytics.rig import Card, cards
from analytics.states import BUCKET_NS
from analytics.utilization import peaks
from analytics.wall import Wall, wall
from collector.settings import Settings

FRAMES = (
    "segments", "leaves", "card_energy", "requests", "emitted", "waiting", "tallies", "ends",
)  # fmt: skip
_APART = 2**40  # more than the requests of any day
WAITED = ("pool", "request", "card", "start_ns", "compute_ns")


class Details(Protocol):
    """Where frames by request come from that few ask for: memory, or the shelf."""

    def __call__(self, name: str, columns: Sequence[str]) -> pl.DataFrame:
        """The columns of a frame; all of them where none is named."""


@dataclass(frozen=True)
class Held:
    """Frames by request in memory."""

    frames: dict[str, pl.DataFrame]

    def __call__(self, name: str, columns: Sequence[str]) -> pl.DataFrame:
        """The columns of a frame."""
        frame = self.frames[name]
        return frame.select(columns) if columns else frame


@dataclass(frozen=True)
class Timesheet:
    """One local day, or the part of it that a period or the present leaves.

    segments, card_energy, wall, up: the day's part of its `account.Capacity`; leaves likewise, in
    order, without their numbers. requests: those with leaves in it (`rollup.requests`); emitted:
    tokens by card and bucket (`emitted.emitted`); waiting: the waits that reach into it (`WAITED`);
    tallies: the attempts that ended in it, counted by the finest labels (`rollup.tallies`); ends:
    requests that ended in it, by bucket_ns and card (`rollup.ends`); seen: when the host was, up or
    off.
    facts: up_ns (`_up_ns`), resets, still_ns (`_still_ns`), pending_ns, recalls, clock_steps ([at,
    step] ns), headroom_ns (at other gaps, `active_gap.headroom_ns`), concurrency (by pool), gaps
    ([start, end] ns), peaks (by card), replays (by pool, where there is a target) and routing
    (`decisions.tables`, `misses.asked`).
    sampled_until_ns: until when news of samples matters to it. details: `ended`, one row per
    attempt that ended in it (`rollup.ended`).
    """

    name: str
    from_ns: int
    to_ns: int
    cards: list[Card]
    segments: pl.DataFrame
    leaves: pl.DataFrame
    card_energy: pl.DataFrame
    wall: Wall
    up: Ints
    seen: Ints
    requests: pl.DataFrame
    emitted: pl.DataFrame
    waiting: pl.DataFrame
    tallies: pl.DataFrame
    ends: pl.DataFrame
    facts: dict[str, Any]
    sampled_until_ns: int
    details: Details = field(repr=False)


def timesheets(record: Record, settings: Settings) -> list[Timesheet]:
    """Cut a record into local days. Every leaf of it is in exactly one day."""
    ended = rollup.ended(record)
    requests = rollup.requests(record.rows)
    tokens = emitted(record.rows, record.cards)
    seen = union_of([record.evidence.host_known, record.evidence.host_off])
    days = []
    for name, start, end in _spans(record, settings):
        leaves = _within(record.leaves, "bucket_ns", start, end)
        over = _within(ended, "end_ns", start, end)
        days.append(
            Timesheet(
                name=name,
                from_ns=start,
                to_ns=end,
                cards=record.cards,
                segments=_within(record.segments, "bucket_ns", start, end),
                leaves=leaves.select(*cost.LEAF, "ns"),
                card_energy=_within(record.card_energy, "bucket_ns", start, end),
                wall=wall(settings, record.metered, start, end),
                up=clip(record.up, day_at(start, settings.zone).from_ns, end),
                requests=requests.join(leaves, on="request", how="semi", maintain_order="left"),
                emitted=_within(tokens, "bucket_ns", start, end),
                waiting=_waiting(record.rows, start, end),
                tallies=rollup.tallies(over),
                ends=rollup.ends(over),
                seen=clip(seen, start, end),
                facts=_facts(record, settings, over, start, end),
                sampled_until_ns=_sampled_until(record, end),
                details=Held({"ended": over}),
            )
        )
    return days


def together(sheets: Sequence[Timesheet]) -> Capacity:
    """Timesheets that meet as one capacity; each one's requests have numbers of their own."""
    walls = [sheet.wall for sheet in sheets]
    leaves = pl.concat(
        sheet.leaves.with_columns(
            request=pl.when(pl.col("request") == cost.NO_REQUEST)
            .then("request")
            .otherwise(pl.col("request") + number * _APART)
        )
        for number, sheet in enumerate(sheets)
    )
    return Capacity(
        from_ns=sheets[0].from_ns,
        to_ns=sheets[-1].to_ns,
        cards=sheets[0].cards,
        segments=pl.concat(sheet.segments for sheet in sheets),
        leaves=cost.numbered(leaves),
        card_energy=pl.concat(sheet.card_energy for sheet in sheets),
        wall=Wall(
            known=union_of([each.known for each in walls]),
            pending=union_of([each.pending for each in walls]),
            declared=union_of([each.declared for each in walls]),
            energy_uj={at: uj for each in walls for at, uj in each.energy_uj.items()},
            known_ns={at: ns for each in walls for at, ns in each.known_ns.items()},
        ),
        up=union_of([sheet.up for sheet in sheets]),
    )


def own_number(sheet: int) -> pl.Expr:
    """The number that a request of one of several sheets `together` has in its own."""
    return pl.col("request") - sheet * _APART


def within(frame: pl.DataFrame, sheet: Timesheet) -> pl.DataFrame:
    """The rows whose bucket lies in a sheet's day."""
    return _within(frame, "bucket_ns", sheet.from_ns, sheet.to_ns)


def told(sheet: Timesheet) -> dict[str, Any]:
    """What a timesheet tells beside its frames, as plain values; `from_told` takes it back."""
    known = {name: getattr(sheet.wall, name).tolist() for name in ("known", "pending", "declared")}
    metered = {name: list(getattr(sheet.wall, name).items()) for name in ("energy_uj", "known_ns")}
    return {
        "sampled_until_ns": sheet.sampled_until_ns,
        "facts": sheet.facts,
        "wall": {**known, **metered},
        "up": sheet.up.tolist(),
        "seen": sheet.seen.tolist(),
    }


def from_told(
    day: Period,
    kept: dict[str, Any],
    frames: dict[str, pl.DataFrame],
    details: Details,
    settings: Settings,
) -> Timesheet:
    """A day's timesheet from what was kept of it."""
    meters = kept["wall"]
    return Timesheet(
        name=day.name,
        from_ns=day.from_ns,
        to_ns=day.to_ns,
        cards=cards(settings, day.from_ns),
        wall=Wall(
            known=_spans_of(meters["known"]),
            pending=_spans_of(meters["pending"]),
            declared=_spans_of(meters["declared"]),
            energy_uj=dict(meters["energy_uj"]),
            known_ns=dict(meters["known_ns"]),
        ),
        up=_spans_of(kept["up"]),
        seen=_spans_of(kept["seen"]),
        facts=kept["facts"],
        sampled_until_ns=kept["sampled_until_ns"],
        details=details,
        **frames,
    )


def _spans_of(pairs: list[list[int]]) -> Ints:
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _spans(record: Record, settings: Settings) -> Iterator[tuple[str, int, int]]:
    start = record.from_ns
    while start < record.to_ns:
        day = day_at(start, settings.zone)
        end = min(day.to_ns, record.to_ns)
        yield day.name, start, end
        start = end


def _facts(
    record: Record, settings: Settings, ended: pl.DataFrame, start: int, end: int
) -> dict[str, Any]:
    unknown = _within(record.states.filter(state="unknown"), "start_ns", start, end)
    gaps = union(unknown["start_ns"].to_numpy(), unknown["end_ns"].to_numpy())
    every = pl.concat([record.intervals, record.metered])
    evidence = record.evidence
    has_target = settings.slo.ttft_p95_ms is not None
    with ThreadPoolExecutor() as pool:  # what looks at every request
        found = pool.submit(peaks, record.cards, record.rows, start, end)
        at_once = pool.submit(concurrency, record, start, end)
        asked = misses.asked(ended)
    return {
        "up_ns": _up_ns(record, settings, start, end),
        "resets": len(_within(every.filter("reset"), "at_ns", start, end)),
        "still_ns": _still_ns(every, start, end),
        "pending_ns": _pending_ns(record, end),
        "recalls": not record.attempts.filter(pl.col("prefix").list.len() > 0).is_empty(),
        "clock_steps": [step for step in record.host.steps if start <= step[0] < end],
        "headroom_ns": headroom_ns(
            evidence, record.states, settings.usage.active_gap_ns, start, end
        ),
        "concurrency": at_once.result(),
        "gaps": gaps.tolist(),
        "peaks": {card: peak.as_dict() for card, peak in found.result().items()},
        "replays": replays(record, start, end) if has_target else {},
        "routing": {**decisions.tables(ended), **asked},
    }


def _still_ns(intervals: pl.DataFrame, start: int, end: int) -> int:
    """For how long in a span counters stood still while power was drawn."""
    still = intervals.filter("still")
    return int((still["at_ns"].clip(start, end) - still["from_ns"].clip(start, end)).sum())


def _up_ns(record: Record, settings: Settings, start: int, end: int) -> tuple[int, int]:
    """How long the host was known to be up from local midnight to the start and to the end."""
    midnight = day_at(start, settings.zone).from_ns
    return measure(clip(record.up, midnight, start)), measure(clip(record.up, midnight, end))


def _pending_ns(record: Record, end: int) -> int:
    """Card time at the present end of the books that waits for a reading not yet due."""
    if end != record.to_ns or end % BUCKET_NS == 0:
        return 0
    read = record.intervals.filter(pl.col("at_ns") <= end, ~pl.col("gap"))
    length = pl.col("at_ns") - pl.col("from_ns")
    last = read.group_by("card").agg(pl.col("at_ns").max(), length.last().alias("usual"))
    since = end - pl.col("at_ns")
    due = since <= GAP_PERIODS * pl.col("usual")
    return int(last.select(pl.when(due).then(since).otherwise(0).sum()).item() or 0)


def _sampled_until(record: Record, end_ns: int) -> int:
    """Until when news of samples matters to a day: the first reading of every card and meter
    after it, where none came yet as far as one may reach back."""
    intervals = pl.concat([record.intervals, record.metered])
    before = intervals.filter(pl.col("from_ns") < end_ns)["card"].unique()
    after = intervals.filter(pl.col("at_ns") >= end_ns, pl.col("card").is_in(before.implode()))
    firsts = after.group_by("card").agg(pl.col("at_ns").min())["at_ns"].to_list()
    if len(firsts) < len(before):
        return end_ns + LOOKBACK_NS
    return max(firsts, default=end_ns)


def _waiting(rows: pl.DataFrame, start: int, end: int) -> pl.DataFrame:
    waited = pl.col("start_ns") < pl.col("compute_ns")
    there = rows.filter(waited, pl.col("start_ns") < end, pl.col("compute_ns") > start)
    return there.select(WAITED)


def _within(frame: pl.DataFrame, by: str, start: int, end: int) -> pl.DataFrame:
    return frame.filter(pl.col(by) >= start, pl.col(by) < end)
