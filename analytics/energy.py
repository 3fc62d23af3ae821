"""Energy: from readings to µJ per card, bucket and state.

Between two readings the energy counter tells the energy where there is one, else the trapezoid
of power does. A gap of more than three sampling periods is unknown to the trapezoid, and so is
any interval in which the host was off or its clock was set; a counter bridges it for up to two
days, spread evenly. A counter that fell, or grew by more than a card can draw, began anew; one
that did not move while power was drawn does not count there.
Within an interval the time without requests receives the card's idle draw, the rest belongs to
the requests. Intervals are cut at local midnight, so that no day's energy waits for another day.
"""

from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from analytics.allocate import added, largest_remainder
from analytics.evidence import GAP_PERIODS
from analytics.host import UNDISTURBED, HostFacts
from analytics.intervals import Ints, distinct
from analytics.states import BUCKET_NS, STATES
from collector.clock import SECOND_NS

BRIDGED_NS = 2 * 96 * BUCKET_NS
# No card draws more; a card whose own power reading is higher may. A fifth is left for jumps.
MOST_MW = 1_500_000
# A card's counter moves some ten times a second; a wall meter's may take minutes for a step.
STILL_NS = SECOND_NS // 2
IDLE_STATES = ("stranded", "headroom", "idle")
OUTSIDE = "outside"  # of all service, and of the span
READ = ("power_mw", "energy_uj_total", "util_pct", "foreign_processes")


def readings(
    samples: pl.DataFrame,
    host: HostFacts = UNDISTURBED,
    most_mw: int = MOST_MW,
    still_ns: int = STILL_NS,
) -> pl.DataFrame:
    """The intervals between each card's samples that read anything, of time told once; `samples`
    are in the order of time.

    A counter that grew by more than `most_mw` would, began anew; one that did not move for
    `still_ns` or longer, while both ends told power, is not believed. Wall meters stand as cards.
    Columns: card, from_ns, at_ns, energy_uj (None: unknown), gap, reset, still, util_pct,
    foreign_processes and power_mw (of the later sample).
    """
    # One card after the other: what stands beside its readings takes several times their room.
    cards = samples["card"].unique().sort()
    each = [samples.filter(card=card) for card in cards] or [samples]
    return pl.concat([_of_card(some, host, most_mw, still_ns) for some in each])


def _of_card(samples: pl.DataFrame, host: HostFacts, most_mw: int, still_ns: int) -> pl.DataFrame:
    read = _metered(host.once(samples.filter(~pl.all_horizontal(pl.col(READ).is_null()))))
    parts = np.searchsorted(host.breaks, read["at_ns"].to_numpy(), side="right")
    read = read.with_columns(part=pl.Series(parts, dtype=pl.Int64))
    rows = read.with_columns(pl.all().shift(1).name.prefix("_"))
    rows = rows.with_columns(dt=pl.col("at_ns") - pl.col("_at_ns")).filter(pl.col("dt") > 0)
    day = pl.col("at_ns") // (96 * BUCKET_NS)
    # A longer interval is a gap whatever the period, and may begin before what was read.
    usual = pl.col("dt").filter(pl.col("dt") <= BUCKET_NS)
    period = usual.quantile(0.5, interpolation="lower").over(day).cast(pl.Int64)
    counted = pl.col("energy_uj_total") - pl.col("_energy_uj_total")
    drawn_mw = pl.max_horizontal("power_mw", "_power_mw", pl.lit(most_mw)).cast(pl.Int128)
    most = drawn_mw * pl.col("dt") * 12 // 10_000_000
    drawing = (pl.col("power_mw") > 0) & (pl.col("_power_mw") > 0)
    same = (pl.col("counter_epoch") == pl.col("_counter_epoch")).fill_null(True)
    alike = (pl.col("source") == pl.col("_source")) & (pl.col("sensor") == pl.col("_sensor"))
    powered = (pl.col("power_mw") + pl.col("_power_mw")).cast(pl.Int128) * pl.col("dt") // 2_000_000
    rows = rows.with_columns(
        gap=(pl.col("dt") > GAP_PERIODS * period)
        | (pl.col("dt") > BUCKET_NS)
        | (pl.col("part") != pl.col("_part")),
        # Whether a longer one is seen at all depends on how far back was read.
        reset=alike
        & (pl.col("dt") <= BRIDGED_NS)
        & (~counted.is_between(0, most).fill_null(True) | ~same),
        still=(alike & (counted == 0) & drawing & (pl.col("dt") >= still_ns)).fill_null(False),
        alike=alike,
    )
    energy = (
        pl.when(
            counted.is_not_null() & pl.col("alike"),
            ~pl.col("reset"),
            ~pl.col("still"),
            pl.col("dt") <= BRIDGED_NS,
        )
        .then(counted)
        .when(~pl.col("gap"))
        .then(powered.cast(pl.Int64))
    )
    return rows.with_columns(energy_uj=energy).select(
        "card", pl.col("_at_ns").alias("from_ns"), "at_ns", "energy_uj", "gap", "reset",
        "still", "util_pct", "foreign_processes", "power_mw",
    )  # fmt: skip


def _metered(samples: pl.DataFrame) -> pl.DataFrame:
    """One series of a card's readings per UTC day, in time order: of those told, the one that
    knows most, and of its readings those that tell energy, or else power, if any does."""
    day = (pl.col("at_ns") // (96 * BUCKET_NS)).alias("day")
    series = ["day", "source", "sensor"]
    counted, powered = pl.col("energy_uj_total"), pl.col("power_mw")
    told = samples.with_columns(day)
    known = told.group_by(series).agg(counters=counted.count(), powers=powered.count())
    known = known.sort(
        "counters", "powers", "source", "sensor", descending=[True, True, False, False]
    )
    best = known.unique("day", keep="first", maintain_order=True)
    told = told.join(best, on=series, maintain_order="left")
    tells = (
        pl.when(pl.col("counters") > 0)
        .then(counted.is_not_null())
        .when(pl.col("powers") > 0)
        .then(powered.is_not_null())
        .otherwise(True)
    )
    return told.filter(tells).drop("day", "counters", "powers")


def by_state(intervals: pl.DataFrame, segments: pl.DataFrame, zone: ZoneInfo) -> pl.DataFrame:
    """Each interval's energy on the states that it meets.

    Columns: card, bucket_ns, state, ns (time whose energy is known), energy_uj, idle_uj (what
    the idle draw alone would have taken in that time; None where no idle draw is known),
    mixed_ns (busy or not, in an interval with both whose idle draw is unknown).
    """
    # Segments may be none at all: then every reading lies outside of them.
    first, last = segments["start_ns"].min() or 0, segments["end_ns"].max() or 0
    known = intervals.filter(
        pl.col("energy_uj").is_not_null(), pl.col("at_ns") > first, pl.col("from_ns") < last
    )
    pieces = _pieces(_cut(known, zone).with_row_index("interval"), segments)
    pieces = pieces.with_columns(day=_local("from_ns", zone).dt.date())
    pieces = pieces.join(_idle_draw(pieces), on=["card", "day"], how="left")
    pieces = _parted(pieces)
    pieces = pieces.with_columns(
        share=largest_remainder(
            pieces,
            amount="amount",
            weight="ns",
            by=["interval", "idle_part"],
            order=["bucket_ns", "state"],
        )
    )
    idle_uj = (pl.col("idle_mw").cast(pl.Int128) * pl.col("ns") // 1_000_000).cast(pl.Int64)
    unsure = pl.col("idle_mw").is_null() & pl.col("mixed")
    return (
        pieces.filter(pl.col("state") != OUTSIDE)
        .with_columns(idle_uj=idle_uj, mixed_ns=pl.when(unsure).then("ns").otherwise(0))
        .group_by("card", "bucket_ns", pl.col("state").cast(pl.String))
        .agg(
            pl.col("ns").sum(),
            pl.col("share").sum().alias("energy_uj"),
            pl.when(pl.col("idle_uj").is_null().any()).then(None).otherwise(pl.col("idle_uj").sum())
            .alias("idle_uj"),
            pl.col("mixed_ns").sum(),
        )
        .sort("card", "bucket_ns", "state")
    )  # fmt: skip


def _cut(intervals: pl.DataFrame, zone: ZoneInfo) -> pl.DataFrame:
    """Cut bridged gaps at every bucket bound and all others at local midnight, by time."""
    start, end = pl.col("from_ns"), pl.col("at_ns")
    low, high = start // BUCKET_NS + 1, (end - 1) // BUCKET_NS + 1
    rows = intervals.with_row_index("_row")
    crossed = rows.filter(high > low).with_columns(bound=pl.int_ranges(low, high)).explode("bound")
    crossed = crossed.with_columns(bound=pl.col("bound") * BUCKET_NS)
    # Where the clocks skip midnight, the day begins at one.
    day, before = (_local(at, zone).dt.date() for at in ("bound", pl.col("bound") - 1))
    inner = crossed.filter(pl.col("gap") | (day != before)).select("_row", "bound")
    cut = pl.concat([rows.select("_row", bound=start), inner]).sort("_row", "bound")
    cut = cut.join(rows, on="_row", maintain_order="left")
    is_last = pl.col("_row") != pl.col("_row").shift(-1)
    until = pl.when(is_last.fill_null(True)).then(end).otherwise(pl.col("bound").shift(-1))
    whole = (end - start).cast(pl.Int128)

    def upto(edge: pl.Expr) -> pl.Expr:
        return (pl.col("energy_uj").cast(pl.Int128) * (edge - start) // whole).cast(pl.Int64)

    cut = cut.with_columns(until=until)
    return cut.with_columns(energy_uj=upto(pl.col("until")) - upto(pl.col("bound"))).select(
        "card", pl.col("bound").alias("from_ns"), pl.col("until").alias("at_ns"),
        "energy_uj", "gap", "power_mw",
    )  # fmt: skip


def _pieces(intervals: pl.DataFrame, segments: pl.DataFrame) -> pl.DataFrame:
    """Time of each interval by bucket and state, beside the interval's own columns and what its
    pieces tell of it; what no segment covers is `outside`."""
    parts = [pl.DataFrame(schema=_PIECES)]
    for key, part in intervals.group_by("card"):
        own = segments.filter(pl.col("card") == key[0]).sort("start_ns")
        parts.append(_overlap(part.sort("from_ns"), own))
    pieces = pl.concat(parts)
    at = pieces["interval"].to_numpy()
    busy, idle = (pieces["state"].is_in(some).to_numpy() for some in (["busy"], IDLE_STATES))
    busy_ns = added(pieces["ns"].to_numpy()[busy], at[busy], len(intervals))
    works, rests, stirs = (np.zeros(len(intervals), dtype=bool) for _ in range(3))
    works[at[busy]], rests[at[~busy]], stirs[at[~idle]] = True, True, True
    told = intervals.with_columns(
        busy_ns=pl.Series(busy_ns), mixed=pl.Series(works & rests), quiet=pl.Series(~stirs)
    )
    return pieces.hstack(told.drop("interval")[at])


_STATE = pl.Enum(sorted((*STATES, OUTSIDE)))  # in the order of ties
_STATES = pl.Series(_STATE.categories, dtype=_STATE)
_PIECES: dict[str, pl.DataType] = {
    "interval": pl.UInt32(),
    "bucket_ns": pl.Int64(),
    "state": _STATE,
    "ns": pl.Int64(),
}


def _overlap(intervals: pl.DataFrame, segments: pl.DataFrame) -> pl.DataFrame:
    """The pieces of one card, by interval, bucket and state."""
    start, end = intervals["from_ns"].to_numpy(), intervals["at_ns"].to_numpy()
    low, high = segments["start_ns"].to_numpy(), segments["end_ns"].to_numpy()
    edges = distinct(np.concatenate((start, end, low, high)))
    at, length = edges[:-1], np.diff(edges)
    within, which = _located(start, end, at)
    at, length, which = at[within], length[within], which[within]
    covered, segment = _located(low, high, at)
    names = pl.concat([segments["state"], pl.Series([OUTSIDE])]).cast(_STATE)
    state = names.to_physical().to_numpy()[np.where(covered, segment, len(segments))]
    bucket = at // BUCKET_NS
    begins = np.flatnonzero(np.diff(which, prepend=-1) | np.diff(bucket, prepend=-1))
    spell = np.repeat(np.arange(len(begins)), np.diff(begins, append=len(at)))
    found, place = np.unique(spell * len(_STATES) + state, return_inverse=True)
    first = begins[found // len(_STATES)]
    return pl.DataFrame(
        {
            "interval": intervals["interval"].to_numpy()[which[first]],
            "bucket_ns": bucket[first] * BUCKET_NS,
            "state": _STATES[found % len(_STATES)],
            "ns": added(length, place, len(found)),
        },
        schema=_PIECES,
    )


def _located(start: Ints, end: Ints, at: Ints) -> tuple[np.ndarray, Ints]:
    """Which of the disjoint intervals holds each point, if any does."""
    which = np.searchsorted(start, at, side="right") - 1
    return (which >= 0) & (at < end[which]) if len(end) else np.zeros(len(at), bool), which


def _idle_draw(pieces: pl.DataFrame) -> pl.DataFrame:
    """The median power of each card and local day while nothing ran on it, mW."""
    measured = pl.col("energy_uj") * 1_000_000 // (pl.col("at_ns") - pl.col("from_ns"))
    return (
        pieces.filter(pl.col("quiet"), ~pl.col("gap"))
        .unique("interval")
        .group_by("card", "day")
        .agg(
            pl.coalesce("power_mw", measured)
            .quantile(0.5, interpolation="lower")
            .cast(pl.Int64)
            .alias("idle_mw")
        )
    )


def _local(at: str | pl.Expr, zone: ZoneInfo) -> pl.Expr:
    instant = pl.from_epoch(at, time_unit="ns").dt.replace_time_zone("UTC")
    return instant.dt.convert_time_zone(zone.key)


def _parted(pieces: pl.DataFrame) -> pl.DataFrame:
    """Each interval's energy in two parts: `idle_part` says which, `amount` how much (µJ).

    The time without requests takes the idle draw, the requests the rest. Without busy time,
    without a known idle draw, or where less was drawn than idle alone would have taken, the
    energy is one part and goes by time.
    """
    quiet_ns = pl.col("at_ns") - pl.col("from_ns") - pl.col("busy_ns")
    idle_uj = (pl.col("idle_mw").cast(pl.Int128) * quiet_ns // 1_000_000).cast(pl.Int64)
    rest = pl.col("energy_uj") - idle_uj
    applies = (pl.col("mixed") & (rest > 0)).fill_null(False)
    idle_part = applies & (pl.col("state") != "busy")
    amount = (
        pl.when(idle_part).then(idle_uj).when(applies).then(rest).otherwise(pl.col("energy_uj"))
    )
    return pieces.with_columns(idle_part=idle_part, amount=amount)
