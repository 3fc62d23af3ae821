"""A local day of the books, condensed: what every report and page of that day adds up.

Made of the day's `Timesheet` and the prices that the settings declare, kept as Parquet beside the
ledger, and made again when either changes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from analytics import replay, rollup, routing
from analytics.account import Capacity, Money, account
from analytics.cost import CELL, NO_REQUEST
from analytics.electricity import priced
from analytics.intervals import inside
from analytics.marginal import shared
from analytics.rent import unwitnessed_ns
from analytics.states import UNASSIGNED
from analytics.tariff import NO_RATE, Rate, Series
from analytics.timesheet import Details, Held, Timesheet, own_number, together, within
from analytics.wall import Wall
from collector.settings import Settings

SUMS = [
    "ns", "unattributed_ns", "host_off_ns", *rollup.SPENT, "unattributed_nano",
    "known_ns", "energy_uj", "mixed_ns", "host_uj", "host_metered_uj", "host_known_ns", "wall_ns",
    *rollup.WORK, "untold",
]  # fmt: skip


@dataclass(frozen=True)
class Day:
    """One local day, or the part of it that a period or the present leaves.

    cells: by card (and its pool), bucket_ns and state: ns, host_off_ns, capital_nano, energy_nano,
    other_nano, energy_uj, host_uj (host_metered_uj of it by the wall), known_ns (time whose energy
    is known), host_known_ns (likewise of the host), wall_ns (time metered at the wall), idle_uj and
    marginal_nano (None where the idle draw or a price is unknown), unattributed_marginal_nano
    (what of it is no request's), unpriced_uj, carbon_ug (None where undeclared), mixed_ns,
    unattributed_ns, unattributed_nano, time and money by kind (`rollup.WORK`), and of `busy`
    emitted_tokens and untold (`emitted.emitted`).
    work: busy time and money by kind, by the finest labels (`rollup.work`).
    tallies: the attempts that ended in it, counted by the finest labels (`rollup.tallies`).
    ends: requests that ended in it, by bucket_ns and card (`rollup.ends`).
    facts: unassigned_nano (what no card in service carries, by category) and unassigned (its
    energy, `_unassigned`), rent_unknown_ns (`rent.unwitnessed_ns`), up_ns (`_up_ns`), resets,
    still_ns, pending_ns, how the host's energy is known (`_host`), gaps ([start, end] ns),
    clock_steps ([at, step] ns), headroom_ns (at other gaps, `active_gap.headroom_ns`), concurrency
    (by pool), replays (by pool, where there is a target), peaks (by card) and routing
    (`routing.of_day`).
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


def entered(sheets: Sequence[Timesheet], settings: Settings, series: Series) -> list[Day]:
    """The days of timesheets that meet, in the books: their time and energy at the prices that the
    settings declare; `series` has the price series that they name."""
    whole = together(sheets)
    spent = account(whole, settings, series)
    leaves = rollup.priced(whole.leaves, spent.money)
    cells = _cells(whole, spent, leaves, pl.concat([sheet.emitted for sheet in sheets]))
    leaves = shared(leaves, cells)
    alone = pl.col("request") == NO_REQUEST
    cells = _with_unattributed(cells, leaves.filter(alone))
    leaves = leaves.filter(~alone)
    days = []
    for number, sheet in enumerate(sheets):
        own, worked = (within(frame, sheet) for frame in (cells, leaves))
        worked = worked.with_columns(request=own_number(number))
        days.append(_day(sheet, own, worked, _facts(sheet, spent, settings)))
    return days


def _day(
    sheet: Timesheet, cells: pl.DataFrame, leaves: pl.DataFrame, facts: Mapping[str, Any]
) -> Day:
    costs = rollup.costs(leaves, sheet.requests, sheet.cards)
    ended = sheet.details  # and not the sheet with it

    def details(name: str, columns: Sequence[str]) -> pl.DataFrame:
        source = Held({"costs": costs}) if name == "costs" else ended
        return source(name, columns)

    return Day(
        name=sheet.name,
        from_ns=sheet.from_ns,
        to_ns=sheet.to_ns,
        cells=_owned(cells),
        work=_owned(rollup.work(costs)),
        tallies=_owned(sheet.tallies),
        ends=_owned(sheet.ends),
        facts={
            **sheet.facts,
            **facts,
            "replays": replay.priced(sheet.facts["replays"], cells, sheet.cards),
            "routing": routing.of_day(sheet, cells, leaves),
        },
        details=details,
    )


def _owned(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame in memory of its own: a text taken from another frame keeps all that was read with
    it, and a day outlives what it was made of."""
    return pl.read_ipc(frame.write_ipc(None).getvalue())


def _cells(
    whole: Capacity, spent: Money, leaves: pl.DataFrame, emitted: pl.DataFrame
) -> pl.DataFrame:
    alone = pl.col("request") == NO_REQUEST
    none = pl.when(alone & (pl.col("state") == "busy"))
    sums = leaves.with_columns(
        unattributed_ns=none.then("ns").otherwise(0),
        unattributed_nano=none.then("nano").otherwise(0),
    )
    summed = ["ns", *rollup.SPENT, "unattributed_ns", "unattributed_nano"]
    time = sums.group_by(CELL).agg(pl.col(summed).sum())
    length = pl.col("end_ns") - pl.col("start_ns")
    off = whole.segments.group_by(CELL).agg(
        length.filter("host_off").sum().alias("host_off_ns"),
    )
    cards = whole.card_energy.rename({"ns": "known_ns"})
    told = pl.col("energy_uj").is_not_null()
    host = spent.host_energy.places.group_by(CELL).agg(
        pl.col("energy_uj").sum().alias("host_uj"),
        pl.col("energy_uj").filter("metered").sum().alias("host_metered_uj"),
        pl.col("ns").filter(told).sum().alias("host_known_ns"),
        pl.col("ns").filter("metered").sum().alias("wall_ns"),
    )
    work = rollup.by_kind(leaves.filter(~alone), CELL[:2])
    # A request of no length puts out its tokens in no time.
    done = work.join(emitted, on=CELL[:2], how="full", coalesce=True)
    cells = time.join(done.with_columns(state=pl.lit("busy")), on=CELL, how="full", coalesce=True)
    for more in (off, cards, host):
        cells = cells.join(more, on=CELL, how="left")
    cells = cells.with_columns(pl.col(SUMS).fill_null(0))
    cells = cells.join(rollup.pools(whole.cards), on="card", how="left")
    return _rated(cells, spent.rates).sort(CELL)


def _rated(cells: pl.DataFrame, rates: Mapping[int, Rate]) -> pl.DataFrame:
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


def _facts(sheet: Timesheet, spent: Money, settings: Settings) -> dict[str, Any]:
    alone = within(spent.unassigned, sheet).group_by("category").agg(pl.col("nano").sum())
    nano = dict(alone.iter_rows())
    places, buckets = spent.host_energy.places, spent.host_energy.buckets
    return {
        "unassigned_nano": {name: nano.get(name, 0) for name in rollup.CATEGORIES},
        "unassigned": _unassigned(within(places, sheet), spent.rates),
        "rent_unknown_ns": unwitnessed_ns(settings, sheet.seen, sheet.from_ns, sheet.to_ns),
        **_host(within(buckets, sheet), sheet.wall),
    }


def _unassigned(places: pl.DataFrame, rates: Mapping[int, Rate]) -> dict[str, int | None]:
    """The energy that is known of the time without a card in service: uj (metered_uj of it by the
    wall), known_ns, unpriced_uj and carbon_ug (None where undeclared)."""
    told = places.filter(state=UNASSIGNED).drop_nulls("energy_uj")
    drawn = (
        told.group_by("bucket_ns").agg(pl.col("energy_uj").sum()).filter(pl.col("energy_uj") != 0)
    )
    rated = [(rates.get(at, NO_RATE), uj) for at, uj in drawn.iter_rows()]
    carbon = [rate.carbon_ug(uj) for rate, uj in rated]
    return {
        "uj": int(told["energy_uj"].sum()),
        "metered_uj": int(told.filter("metered")["energy_uj"].sum()),
        "known_ns": int(told["ns"].sum()),
        "unpriced_uj": sum(rate.unpriced_uj(uj) for rate, uj in rated),
        "carbon_ug": None if None in carbon else sum(ug for ug in carbon if ug is not None),
    }


def _host(buckets: pl.DataFrame, wall: Wall) -> dict[str, int | None]:
    """Time of the rig in which it drew power and the host's part is not known (host_undeclared_ns)
    or a declared meter was silent (wall_silent_ns, and wall_constant_ns where the constant stood
    in for it); the wall's energy, what the power supply gave of it, and the cards' part of that;
    the buckets in which it told less than the cards."""
    metered, told = pl.col("metered"), pl.col("energy_uj").is_not_null()
    meant = pl.Series(inside(wall.declared, buckets["bucket_ns"].to_numpy()), dtype=pl.Boolean)
    found = buckets.with_columns(meant=meant)
    silent = found.filter(~metered, "meant")
    return {
        "host_undeclared_ns": int(found.filter(~metered, ~told, ~pl.col("meant"))["ns"].sum()),
        "wall_silent_ns": int(silent.filter(~told)["ns"].sum()),
        "wall_constant_ns": int(silent.filter(told)["ns"].sum()),
        "wall_uj": sum(wall.energy_uj.values()) if wall.energy_uj else None,
        "supplied_uj": int(found["supplied_uj"].sum()),
        "wall_cards_uj": int(found["cards_uj"].sum()),
        "negative_buckets": len(found.filter(metered, pl.col("energy_uj") < 0)),
    }


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
