"""Cost at the leaf: line × bucket × card × state × request, rounded there and nowhere else.

Lines are the assets (`capital`), other costs (`other`), and the cards' and the host's electricity
(`energy`). Whoever
groups, groups leaves.
"""

from collections.abc import Sequence

import polars as pl

from analytics.allocate import largest_remainder
from analytics.lines import Line, by_card
from collector.settings import Electricity, Settings

NO_REQUEST = -1
LEAF = ["card", "bucket_ns", "state", "request", "kind"]
UJ_PER_KWH = 3_600_000_000_000


def time_leaves(segments: pl.DataFrame, shares: pl.DataFrame) -> pl.DataFrame:
    """Capacity cut to leaves: `LEAF` columns and ns; Σ ns per card and bucket is its capacity.

    Busy time goes to the requests by card time; what none of them computed in is a busy leaf
    without a request (`NO_REQUEST`, kind `unattributed`).
    """
    states = _time(segments, ["card", "bucket_ns", "state"])
    taken = shares.group_by("card", "bucket_ns").agg(pl.col("ns").sum().alias("taken"))
    states = states.join(taken, on=["card", "bucket_ns"], how="left")
    rest = pl.when(pl.col("state") == "busy").then(pl.col("taken").fill_null(0)).otherwise(0)
    kind = pl.when(pl.col("state") == "busy").then(pl.lit("unattributed")).otherwise(pl.lit(""))
    alone = states.with_columns(
        ns=pl.col("ns") - rest, request=pl.lit(NO_REQUEST, dtype=pl.Int64), kind=kind
    ).filter(pl.col("ns") != 0)
    own = shares.with_columns(state=pl.lit("busy")).filter(pl.col("ns") > 0)
    columns = [*LEAF, "ns"]
    return pl.concat([alone.select(columns), own.select(columns)]).sort(LEAF)


def line_leaves(
    lines: Sequence[Line], leaves: pl.DataFrame, bounds: Sequence[int]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Assets and other costs on the leaves by time (line, category, `LEAF`, nano), and the
    unassigned (line, category, bucket_ns, nano)."""
    capacity = _sum(leaves, ["card", "bucket_ns"], "ns")
    assigned, unassigned = by_card(lines, capacity, bounds)
    cost = assigned.join(leaves, on=["card", "bucket_ns"])
    nano = largest_remainder(
        cost, amount="nano", weight="ns", by=["number", "card", "bucket_ns"], order=LEAF[2:]
    )
    cost = cost.with_columns(nano=nano)
    return cost.select("line", "category", *LEAF, "nano"), unassigned.drop("number")


def host_energy(segments: pl.DataFrame, settings: Settings) -> pl.DataFrame:
    """The declared draw beyond the cards, by card, bucket and state (energy_uj).

    It runs while the host is known to be up, and is spread over the cards' capacity in that time.
    """
    up = segments.filter("host_known")
    span = up.unique(["bucket_ns", "start_ns", "end_ns"])
    span = _disjoint(span).with_columns(watts=_in_force(settings, "host_watts"))
    span = span.with_columns(amount=pl.col("watts") * pl.col("ns") // 1000)
    places = _time(up, ["card", "bucket_ns", "state"]).join(
        span.select("bucket_ns", "amount"), on="bucket_ns"
    )
    share = largest_remainder(
        places, amount="amount", weight="ns", by=["bucket_ns"], order=["card", "state"]
    )
    return places.with_columns(energy_uj=share).select("card", "bucket_ns", "state", "energy_uj")


def energy_on_leaves(energy: pl.DataFrame, leaves: pl.DataFrame) -> pl.DataFrame:
    """Energy of a card, bucket and state on its leaves by time: `LEAF` columns and energy_uj."""
    drawn = energy.select("card", "bucket_ns", "state", "energy_uj")
    found = drawn.join(leaves, on=["card", "bucket_ns", "state"])
    share = largest_remainder(
        found,
        amount="energy_uj",
        weight="ns",
        by=["card", "bucket_ns", "state"],
        order=["request", "kind"],
    )
    return found.with_columns(energy_uj=share).select(*LEAF, "energy_uj")


def electricity_leaves(line: str, energy: pl.DataFrame, settings: Settings) -> pl.DataFrame:
    """What the leaves' energy costs (line, category, `LEAF`, nano): rounded once per card and
    bucket, then split by energy."""
    drawn = energy.filter(pl.col("energy_uj") > 0)
    money = _sum(drawn, ["card", "bucket_ns"], "energy_uj").with_columns(
        nano=money_nano(pl.col("energy_uj"), settings)
    )
    cost = drawn.join(money.select("card", "bucket_ns", "nano"), on=["card", "bucket_ns"])
    share = largest_remainder(
        cost, amount="nano", weight="energy_uj", by=["card", "bucket_ns"], order=LEAF[2:]
    )
    cost = cost.with_columns(nano=share, line=pl.lit(line), category=pl.lit("energy"))
    return cost.select("line", "category", *LEAF, "nano")


def money_nano(energy_uj: pl.Expr, settings: Settings) -> pl.Expr:
    """The price of energy behind the power supply in the row's bucket, nano-units, rounded half
    up: µJ × price per kWh ÷ efficiency."""
    price = _in_force(settings, "price_nano_per_kwh").cast(pl.Int128)
    efficiency = _in_force(settings, "psu_efficiency_e4", default=10_000).cast(pl.Int128)
    divisor = efficiency * UJ_PER_KWH
    product = energy_uj.cast(pl.Int128) * price * 10_000
    return ((2 * product + divisor) // (2 * divisor)).cast(pl.Int64)


def priced(settings: Settings) -> pl.Expr:
    """Whether a tariff is in force in the row's bucket: without one energy has no price."""
    days = [settings.midnight_ns(entry.from_) for entry in settings.electricity]
    return pl.col("bucket_ns") >= min(days) if days else pl.lit(False)


def _in_force(settings: Settings, name: str, default: int = 0) -> pl.Expr:
    """A dated electricity setting as a function of bucket_ns: the last one in force counts."""
    dated: list[Electricity] = sorted(settings.electricity, key=lambda entry: entry.from_)
    value: pl.Expr = pl.lit(default, dtype=pl.Int64)
    for entry in dated:
        since = settings.midnight_ns(entry.from_)
        value = pl.when(pl.col("bucket_ns") >= since).then(getattr(entry, name)).otherwise(value)
    return value


def _time(segments: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    timed = segments.with_columns(ns=pl.col("end_ns") - pl.col("start_ns"))
    return _sum(timed, by, "ns").sort(by)


def _sum(frame: pl.DataFrame, by: Sequence[str], column: str) -> pl.DataFrame:
    return frame.group_by(by).agg(pl.col(column).sum())


def _disjoint(segments: pl.DataFrame) -> pl.DataFrame:
    """The length of the union of segments per bucket: bucket_ns and ns."""
    ordered = segments.sort("bucket_ns", "start_ns")
    reached = pl.col("end_ns").cum_max().shift(1).over("bucket_ns").fill_null(0)
    gained = pl.col("end_ns") - pl.max_horizontal("start_ns", reached)
    ordered = ordered.with_columns(ns=pl.max_horizontal(gained, 0))
    return _sum(ordered, ["bucket_ns"], "ns").sort("bucket_ns")
