"""Electricity: what the host draws beyond its cards, and what all of it costs at the leaf.

The wall contains the cards: where it was read, the host is the wall less the cards, and what may
be negative stays so. Elsewhere a declared constant counts while the host is known to be up; with
neither, the host's energy is unknown. While no card is in service it is `unassigned`. All energy
here is what comes out of the power supply, so that cards and host together are the wall times the
supply's efficiency.
"""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import polars as pl

from analytics.allocate import largest_remainder
from analytics.cost import CELL, PLACE, on_leaves, split
from analytics.intervals import inside
from analytics.states import BUCKET_NS, UNASSIGNED
from analytics.tariff import NO_RATE, Rate
from analytics.wall import Wall, cut_at

AMOUNTS = ("supplied_uj", "cards_uj", "energy_uj")
LINES = ("cards' electricity", "host's electricity", "host's electricity, metered")


@dataclass(frozen=True)
class HostEnergy:
    """The host's energy, once by place and once for the whole rig.

    places: card, bucket_ns, state, metered (else declared), ns, energy_uj; of `unassigned` the
    card is "". buckets: bucket_ns, metered, ns, energy_uj and, where metered, what the power
    supply gave (supplied_uj) and the cards' part of it (cards_uj). energy_uj is None where nothing
    tells it.
    """

    places: pl.DataFrame
    buckets: pl.DataFrame


def host_energy(
    segments: pl.DataFrame,
    card_energy: pl.DataFrame,
    wall: Wall,
    rates: Mapping[int, Rate],
    span: tuple[int, int],
) -> HostEnergy:
    """The draw beyond the cards in a span, spread over the cards' capacity while it is told;
    `segments` (`states.partition`) have the time without any card too (`states.out_of_service`)."""
    cut = cut_at(segments, [wall.known, wall.pending])
    at = cut["start_ns"].to_numpy()
    cut = cut.with_columns(
        metered=pl.Series(inside(wall.known, at), dtype=pl.Boolean),
        pending=pl.Series(inside(wall.pending, at), dtype=pl.Boolean),
        ns=pl.col("end_ns") - pl.col("start_ns"),
    )
    drawing = cut.filter(pl.col("metered") | (pl.col("host_known") & ~pl.col("pending")))
    buckets = _disjoint(drawing)
    cards = dict(card_energy.group_by("bucket_ns").agg(pl.col("energy_uj").sum()).iter_rows())
    amounts = [
        _metered(bucket, cards.get(bucket, 0), wall, rates, span)
        if metered
        else (None, None, _declared(bucket, ns, rates))
        for bucket, metered, ns in buckets.iter_rows()
    ]
    energy = pl.DataFrame(amounts, schema=dict.fromkeys(AMOUNTS, pl.Int64), orient="row")
    buckets = pl.concat([buckets, energy], how="horizontal")
    whole = buckets.select("bucket_ns", "metered", "energy_uj")
    places = drawing.group_by(*CELL, "metered").agg(pl.col("ns").sum())
    places = places.join(whole, on=["bucket_ns", "metered"]).sort(*CELL, "metered")
    told = places.drop_nulls("energy_uj")
    share = largest_remainder(
        told, amount="energy_uj", weight="ns", by=["bucket_ns", "metered"], order=["card", "state"]
    )
    silent = places.filter(pl.col("energy_uj").is_null())
    return HostEnergy(pl.concat([told.with_columns(energy_uj=share), silent]), buckets)


def _disjoint(segments: pl.DataFrame) -> pl.DataFrame:
    """The length of the union of segments per bucket, metered or not: bucket_ns, metered, ns."""
    by = ["bucket_ns", "metered"]
    ordered = segments.sort(*by, "start_ns")
    reached = pl.col("end_ns").cum_max().shift(1).over(by).fill_null(0)
    gained = pl.col("end_ns") - pl.max_horizontal("start_ns", reached)
    ordered = ordered.with_columns(ns=pl.max_horizontal(gained, 0))
    return ordered.group_by(by).agg(pl.col("ns").sum()).sort(by)


def _declared(bucket: int, ns: int, rates: Mapping[int, Rate]) -> int | None:
    entry = rates.get(bucket, NO_RATE).entry
    return None if entry is None or entry.host_watts is None else entry.host_watts * ns // 1000


def _metered(
    bucket: int, cards_uj: int, wall: Wall, rates: Mapping[int, Rate], span: tuple[int, int]
) -> tuple[int, int, int]:
    """Wall × efficiency, the cards' part of it, and the rest, which is the host's. Of a bucket that
    the wall knows in part, the cards' energy counts by time. Both are rounded half up."""
    entry = rates.get(bucket, NO_RATE).entry
    efficiency_e4 = 10_000 if entry is None else entry.psu_efficiency_e4
    whole_ns = min(bucket + BUCKET_NS, span[1]) - max(bucket, span[0])
    supplied = (2 * wall.energy_uj[bucket] * efficiency_e4 + 10_000) // 20_000
    taken = (2 * cards_uj * wall.known_ns[bucket] + whole_ns) // (2 * whole_ns)
    return supplied, taken, supplied - taken


def money(
    leaves: pl.DataFrame, card_energy: pl.DataFrame, host: HostEnergy, rates: Mapping[int, Rate]
) -> Iterator[pl.DataFrame]:
    """What the energy costs, a frame per line that drew any: `MONEY`."""
    declared, metered = ~pl.col("metered"), pl.col("metered")
    told = host.places.drop_nulls("energy_uj")
    drawn = (card_energy, told.filter(declared), told.filter(metered))
    lines = [each for each in zip(LINES, drawn, strict=True) if not each[1].is_empty()]
    with ThreadPoolExecutor() as pool:
        yield from pool.map(lambda each: _cost(each[0], each[1], leaves, rates), lines)


def unassigned(host: HostEnergy, rates: Mapping[int, Rate]) -> pl.DataFrame:
    """What the host's energy costs while no card is in service, rounded once per line and bucket:
    line, category, bucket_ns, nano."""
    drawn = host.places.filter(state=UNASSIGNED).drop_nulls("energy_uj")
    line = pl.when("metered").then(pl.lit(LINES[2])).otherwise(pl.lit(LINES[1]))
    cost = drawn.select(
        "bucket_ns", line=line, category=pl.lit("energy"), nano=priced(drawn, rates)
    )
    return cost.select("line", "category", "bucket_ns", "nano").filter(pl.col("nano") != 0)


def energy_leaves(energy: pl.DataFrame, leaves: pl.DataFrame) -> pl.DataFrame:
    """The leaves with their part, by time, of what a cell drew (`CELL`, energy_uj); None where
    that is not told."""
    found = on_leaves(energy.select(*CELL, "energy_uj"), leaves, "cell")
    told = found["energy_uj"].is_not_null()
    share = largest_remainder(
        found.filter(told), amount="energy_uj", weight="ns", by=["cell"], order=["leaf"]
    )
    return found.with_columns(energy_uj=found["energy_uj"].scatter(told.arg_true(), share))


def _cost(
    line: str, energy: pl.DataFrame, leaves: pl.DataFrame, rates: Mapping[int, Rate]
) -> pl.DataFrame:
    """Rounded once per card and bucket, then split by energy."""
    drawn = energy_leaves(energy, leaves)
    drawn = drawn.with_columns(size=pl.col("energy_uj").abs().fill_null(0))
    whole = drawn.filter(pl.col("size") > 0).group_by(PLACE).agg(pl.col("energy_uj").sum())
    cost = whole.select(
        *PLACE, line=pl.lit(line), category=pl.lit("energy"), nano=priced(whole, rates)
    )
    # Of one line, a card and a bucket all leaves have one sign.
    return split(cost, drawn, "place", "size")


def priced(energy: pl.DataFrame, rates: Mapping[int, Rate]) -> pl.Series:
    """The price of each row's energy in its bucket, nano-units; None where the energy is."""
    rows = energy.select("bucket_ns", "energy_uj").iter_rows()
    told = [None if uj is None else rates.get(at, NO_RATE).money_nano(uj) for at, uj in rows]
    return pl.Series("nano", told, dtype=pl.Int64)
