"""The readings that bear on some days, without reading more of them than it takes.

Whole UTC days are read, as the sampling period and the series that counts are told per day, with
one day before, since a day's first interval begins there. Only a card that was silent around
either end needs more: as far as a counter bridges (`energy.BRIDGED_NS`).
"""

import polars as pl

from analytics.energy import BRIDGED_NS, MOST_MW, STILL_NS, readings
from analytics.host import HostFacts
from analytics.read import Ledger
from analytics.states import BUCKET_NS
from analytics.wall import MOST_MW as MOST_AT_WALL_MW

DAY_NS = 96 * BUCKET_NS
# What a counter may grow by, and for how long it may stand still while power is drawn.
BOUNDS = {"samples": (MOST_MW, STILL_NS), "wall_samples": (MOST_AT_WALL_MW, BRIDGED_NS + 1)}


def sampled(
    ledger: Ledger, host: HostFacts, days: tuple[int, int], now_ns: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The intervals between the readings (`energy.readings`) of the cards, and of the wall meters,
    that meet [from, to) `days`, and more."""
    near = (_floor_day(days[0]) - DAY_NS, _floor_day(days[1]) + DAY_NS)
    far = (_floor_day(days[0] - BRIDGED_NS), _floor_day(days[1] + BRIDGED_NS) + DAY_NS)
    away = pl.concat(
        ledger.frame("sampled", *span) for span in ((far[0], near[0]), (near[1], far[1]))
    )

    def read(query: str) -> pl.DataFrame:
        samples = ledger.frame(query, *near)
        found = readings(samples, host, *BOUNDS[query])
        ends = found.group_by("card").agg(pl.col("from_ns").min(), pl.col("at_ns").max())
        before = ends.filter(pl.col("from_ns") < days[0])["card"]
        after = ends.filter((pl.col("at_ns") >= days[1]) | pl.lit(near[1] > now_ns))["card"]
        # Whoever has readings only further away may have been silent throughout.
        told = {*away.filter(query=query)["card"], *samples["card"].unique()}
        low = near[0] if told.issubset(before) else far[0]
        high = near[1] if told.issubset(after) else far[1]
        if (low, high) == near:
            return found
        del samples, found
        return readings(ledger.frame(query, low, high), host, *BOUNDS[query])

    return read("samples"), read("wall_samples")


def _floor_day(at_ns: int) -> int:
    return at_ns // DAY_NS * DAY_NS
