"""A local day of the books, condensed: what every report and page of that day adds up.

Built once from `Books` when the day is over, kept as Parquet beside the ledger, and rebuilt when
news of it arrives (`daily`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import polars as pl

from analytics import rollup, routing
from analytics.active_gap import headroom_ns
from analytics.books import Books
from analytics.concurrency import concurrency
from analytics.cost import NO_REQUEST
from analytics.electricity import priced
from analytics.emitted import emitted
from analytics.evidence import GAP_PERIODS
from analytics.intervals import clip, inside, measure, union
from analytics.marginal import shared
from analytics.periods import day_at
from analytics.rent import unwitnessed_ns
from analytics.replay import replays
from analytics.states import BUCKET_NS, UNASSIGNED
from analytics.tariff import NO_RATE, Rate
from analytics.utilization import peaks
from collector.settings import Settings

CELL = ["card", "bucket_ns", "state"]
DETAILS = ("costs", "ended")
SUMS = [
    "ns", "unattributed_ns", "host_off_ns", *rollup.SPENT, "unattributed_nano",
    "known_ns", "energy_uj", "mixed_ns", "host_uj", "host_metered_uj", "host_known_ns", "wall_ns",
    *rollup.WORK, "emitted_tokens",
]  # fmt: skip


class Details(Protocol):
    """Where a day's frames by request come from: memory, or the shelf."""

    def __call__(self, name: str, columns: Sequence[str]) -> pl.DataFrame:
        """The columns of `costs` or `ended`; all of them where none is named."""


@dataclass(frozen=True)
class Day:
    """One local day, or the part of it that a period or the present leaves.

    cells: by card (and its pool), bucket_ns and state: ns, host_off_ns, capital_nano, energy_nano,
    other_nano, energy_uj, host_uj (host_metered_uj of it by the wall), known_ns (time whose energy
    is known), host_known_ns (likewise of the host), wall_ns (time metered at the wall), idle_uj and
    marginal_nano (None where the idle draw or a price is unknown), unattributed_marginal_nano
    (what of it is no request's), unpriced_uj, carbon_ug (None where undeclared), mixed_ns,
    unattributed_ns, unattributed_nano, time and money by kind (`rollup.WORK`) and emitted_tokens
    (`emitted.emitted`).
    work: busy time and money by kind, by the finest labels (`rollup.work`).
    tallies: the attempts that ended in it, counted by the finest labels (`rollup.tallies`).
    ends: requests that ended in it, by bucket_ns and card (`rollup.ends`).
    facts: unassigned_nano (what no card in service carries, by category) and unassigned (its
    energy, `_unassigned`), rent_unknown_ns (`rent.unwitnessed_ns`), up_ns (`_up_ns`), resets,
    pending_ns, how the host's energy is known (`_host`), gaps ([start, end] ns), clock_steps ([at,
    step] ns), headroom_ns (at other gaps, `active_gap.headroom_ns`), concurrency (by pool), replays
    (by pool, where there is a target), peaks (by card) and routing (`routing.of_day`).
    """

    name: str
    from_ns: int
    to_ns: int
    cells: pl.DataFrame
    work: pl.DataFrame
    tallies: pl.DataFrame
    ends: pl.DataFrame
    facts: dict[str, Any]
    details: Details = field(repr=False)

    def costs(self, *columns: str) -> pl.DataFrame:
        """One row per request and card that worked in the day (`rollup.costs`), read on demand;
        all columns where none is named."""
        return self.details("costs", columns)

    def ended(self, *columns: str) -> pl.DataFrame:
        """One row per attempt that ended in the day (`rollup.ended`), read on demand; all
        columns where none is named."""
        return self.details("ended", columns)


@dataclass(frozen=True)
class Held:
    """A day's frames by request, in memory."""

    frames: dict[str, pl.DataFrame]

    def __call__(self, name: str, columns: Sequence[str]) -> pl.DataFrame:
        """The columns of a frame."""
        frame = self.frames[name]
        return frame.select(columns) if columns else frame


def split(books: Books, settings: Settings) -> list[Day]:
    """Cut books into local days. Every leaf of the books is in exactly one day."""
    leaves = rollup.priced(books)
    cells = _cells(books, leaves)
    leaves = shared(leaves, cells)
    alone = pl.col("request") == NO_REQUEST
    cells = _with_unattributed(cells, leaves.filter(alone))
    leaves = leaves.filter(~alone)
    ended = rollup.ended(books)
    days = []
    for name, start, end in _spans(books, settings):
        own, worked = (_within(frame, "bucket_ns", start, end) for frame in (cells, leaves))
        costs = rollup.costs(worked, books)
        over = _within(ended, "end_ns", start, end)
        routed = routing.of_day(books, own, worked, over, (start, end))
        judged = replays(books, own, start, end) if settings.slo.ttft_p95_ms is not None else {}
        days.append(
            Day(
                name=name,
                from_ns=start,
                to_ns=end,
                cells=own,
                work=rollup.work(costs),
                tallies=rollup.tallies(over),
                ends=rollup.ends(over),
                facts={
                    **_facts(books, settings, start, end),
                    "replays": judged,
                    "routing": routed,
                },
                details=Held({"costs": costs, "ended": over}),
            )
        )
    return days


def _spans(books: Books, settings: Settings) -> Iterator[tuple[str, int, int]]:
    start = books.from_ns
    while start < books.to_ns:
        day = day_at(start, settings.zone)
        end = min(day.to_ns, books.to_ns)
        yield day.name, start, end
        start = end


def _cells(books: Books, leaves: pl.DataFrame) -> pl.DataFrame:
    alone = pl.col("request") == NO_REQUEST
    none = pl.when(alone & (pl.col("state") == "busy"))
    sums = leaves.with_columns(
        unattributed_ns=none.then("ns").otherwise(0),
        unattributed_nano=none.then("nano").otherwise(0),
    )
    summed = ["ns", *rollup.SPENT, "unattributed_ns", "unattributed_nano"]
    time = sums.group_by(CELL).agg(pl.col(summed).sum())
    length = pl.col("end_ns") - pl.col("start_ns")
    off = books.states.group_by(CELL).agg(
        length.filter("host_off").sum().alias("host_off_ns"),
    )
    cards = books.card_energy.rename({"ns": "known_ns"})
    told = pl.col("energy_uj").is_not_null()
    host = books.host_energy.places.group_by(CELL).agg(
        pl.col("energy_uj").sum().alias("host_uj"),
        pl.col("energy_uj").filter("metered").sum().alias("host_metered_uj"),
        pl.col("ns").filter(told).sum().alias("host_known_ns"),
        pl.col("ns").filter("metered").sum().alias("wall_ns"),
    )
    work = rollup.by_kind(leaves.filter(~alone), CELL[:2])
    tokens = _within(emitted(books.rows, books.cards), "bucket_ns", books.from_ns, books.to_ns)
    # A request of no length puts out its tokens in no time.
    done = work.join(tokens, on=CELL[:2], how="full", coalesce=True)
    cells = time.join(done.with_columns(state=pl.lit("busy")), on=CELL, how="full", coalesce=True)
    for more in (off, cards, host):
        cells = cells.join(more, on=CELL, how="left")
    cells = cells.with_columns(pl.col(SUMS).fill_null(0))
    cells = cells.join(rollup.pools(books), on="card", how="left")
    return _rated(cells, books.rates).sort(CELL)


def _rated(cells: pl.DataFrame, rates: dict[int, Rate]) -> pl.DataFrame:
    """Add what follows from the tariff: marginal_nano, unpriced_uj and carbon_ug."""
    whole = [
        (rates.get(at, NO_RATE), uj)
        for at, uj in cells.select("bucket_ns", pl.col("energy_uj") + pl.col("host_uj")).iter_rows()
    ]
    above = cells.select("bucket_ns", energy_uj=pl.col("energy_uj") - pl.col("idle_uj"))
    is_priced = pl.Series([not rate.unpriced_ns for rate, _ in whole], dtype=pl.Boolean)
    return cells.with_columns(
        marginal_nano=pl.when(is_priced).then(priced(above, rates)),
        unpriced_uj=pl.Series([rate.unpriced_uj(uj) for rate, uj in whole], dtype=pl.Int64),
        carbon_ug=pl.Series([rate.carbon_ug(uj) for rate, uj in whole], dtype=pl.Int64),
    )


def _with_unattributed(cells: pl.DataFrame, rest: pl.DataFrame) -> pl.DataFrame:
    """The cells with what of their marginal cost is no request's."""
    found = rest.select(*CELL, unattributed_marginal_nano="marginal_nano")
    cells = cells.join(found, on=CELL, how="left", maintain_order="left")
    return cells.with_columns(pl.col("unattributed_marginal_nano").fill_null(0))


def _facts(books: Books, settings: Settings, start: int, end: int) -> dict[str, Any]:
    unknown = _within(books.states.filter(state="unknown"), "start_ns", start, end)
    gaps = union(unknown["start_ns"].to_numpy(), unknown["end_ns"].to_numpy())
    every = pl.concat([books.intervals, books.metered])
    resets = _within(every.filter("reset"), "at_ns", start, end)
    found = peaks(books.cards, books.rows, start, end)
    alone = _within(books.unassigned, "bucket_ns", start, end)
    return {
        "unassigned_nano": {
            name: int(alone.filter(category=name)["nano"].sum()) for name in rollup.CATEGORIES
        },
        "unassigned": _unassigned(books, start, end),
        "rent_unknown_ns": unwitnessed_ns(
            settings, books.evidence.host_known, books.evidence.host_off, start, end
        ),
        "up_ns": _up_ns(books, settings, start, end),
        "resets": len(resets),
        "pending_ns": _pending_ns(books, end),
        "recalls": not books.attempts.filter(pl.col("prefix").list.len() > 0).is_empty(),
        **_host(books, start, end),
        "clock_steps": [step for step in books.host.steps if start <= step[0] < end],
        "headroom_ns": headroom_ns(
            books.evidence, books.states, settings.usage.active_gap_ns, start, end
        ),
        "concurrency": concurrency(books, start, end),
        "gaps": [[int(a), int(b)] for a, b in gaps],
        "peaks": {card: peak.as_dict() for card, peak in found.items()},
    }


def _up_ns(books: Books, settings: Settings, start: int, end: int) -> tuple[int, int]:
    """How long the host was known to be up from local midnight to the start and to the end."""
    up, midnight = books.evidence.host_up, day_at(start, settings.zone).from_ns
    return measure(clip(up, midnight, start)), measure(clip(up, midnight, end))


def _unassigned(books: Books, start: int, end: int) -> dict[str, int | None]:
    """The energy that is known of the time without a card in service: uj (metered_uj of it by the
    wall), known_ns, unpriced_uj and carbon_ug (None where undeclared)."""
    places = _within(books.host_energy.places, "bucket_ns", start, end)
    told = places.filter(state=UNASSIGNED).drop_nulls("energy_uj")
    drawn = (
        told.group_by("bucket_ns").agg(pl.col("energy_uj").sum()).filter(pl.col("energy_uj") != 0)
    )
    rated = [(books.rates.get(at, NO_RATE), uj) for at, uj in drawn.iter_rows()]
    carbon = [rate.carbon_ug(uj) for rate, uj in rated]
    return {
        "uj": int(told["energy_uj"].sum()),
        "metered_uj": int(told.filter("metered")["energy_uj"].sum()),
        "known_ns": int(told["ns"].sum()),
        "unpriced_uj": sum(rate.unpriced_uj(uj) for rate, uj in rated),
        "carbon_ug": None if None in carbon else sum(ug for ug in carbon if ug is not None),
    }


def _host(books: Books, start: int, end: int) -> dict[str, int | None]:
    """Time of the rig in which it drew power and the host's part is not known (host_undeclared_ns)
    or a declared meter was silent (wall_silent_ns, and wall_constant_ns where the constant stood
    in for it); the wall's energy, what the power supply gave of it, and the cards' part of that;
    the buckets in which it told less than the cards."""
    found = _within(books.host_energy.buckets, "bucket_ns", start, end)
    metered, told = pl.col("metered"), pl.col("energy_uj").is_not_null()
    meant = pl.Series(inside(books.wall.declared, found["bucket_ns"].to_numpy()), dtype=pl.Boolean)
    found = found.with_columns(meant=meant)
    silent = found.filter(~metered, "meant")
    walls = {at: uj for at, uj in books.wall.energy_uj.items() if start <= at < end}
    return {
        "host_undeclared_ns": int(found.filter(~metered, ~told, ~pl.col("meant"))["ns"].sum()),
        "wall_silent_ns": int(silent.filter(~told)["ns"].sum()),
        "wall_constant_ns": int(silent.filter(told)["ns"].sum()),
        "wall_uj": sum(walls.values()) if walls else None,
        "supplied_uj": int(found["supplied_uj"].sum()),
        "wall_cards_uj": int(found["cards_uj"].sum()),
        "negative_buckets": len(found.filter(metered, pl.col("energy_uj") < 0)),
    }


def _pending_ns(books: Books, end: int) -> int:
    """Card time at the present end of the books that waits for a reading not yet due."""
    if end != books.to_ns or end % BUCKET_NS == 0:
        return 0
    read = books.intervals.filter(pl.col("at_ns") <= end, ~pl.col("gap"))
    length = pl.col("at_ns") - pl.col("from_ns")
    last = read.group_by("card").agg(pl.col("at_ns").max(), length.last().alias("usual"))
    since = end - pl.col("at_ns")
    due = since <= GAP_PERIODS * pl.col("usual")
    return int(last.select(pl.when(due).then(since).otherwise(0).sum()).item() or 0)


def _within(frame: pl.DataFrame, by: str, start: int, end: int) -> pl.DataFrame:
    return frame.filter(pl.col(by) >= start, pl.col(by) < end)


def spent() -> pl.Expr:
    """What a row of `cells` costs, all categories together."""
    return pl.sum_horizontal(rollup.SPENT)


def unassigned_nano(days: Sequence[Day]) -> dict[str, int]:
    """What no card in service carries, by category."""
    told = [day.facts["unassigned_nano"] for day in days]
    return {name: sum(each[name] for each in told) for name in rollup.CATEGORIES}


def joined(days: list[Day], part: str) -> pl.DataFrame:
    """One frame (`cells`, `work`, `tallies` or `ends`) over several days."""
    frames: list[pl.DataFrame] = [getattr(day, part) for day in days]
    return pl.concat(frames)


def gaps(days: list[Day]) -> list[list[int]]:
    """The stretches without a witness, those that meet at midnight joined."""
    found: list[list[int]] = []
    for start, end in (gap for day in days for gap in day.facts["gaps"]):
        if found and found[-1][1] == start:
            found[-1][1] = end
        else:
            found.append([start, end])
    return found
