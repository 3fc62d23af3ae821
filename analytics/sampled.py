"""The readings that bear on some days, without reading more of them than it takes.

Whole UTC days are read, as the sampling period and the series that counts are told per day, with
one day before, since a day's first interval begins there. Only a card that was silent around
either end needs more: as far as a counter bridges (`energy.BRIDGED_NS`).
"""

import polars as pl

from analytics.energy import BRIDGED_NS, MOST_MW, readings
from analytics.host import HostFacts
from analytics.read import Ledger
from analytics.states import BUCKET_NS
from analytics.wall import MOST_MW as MOST_AT_WALL_MW

DAY_NS = 96 * BUCKET_NS
MOST = {"samples": MOST_MW, "wall_samples": MOST_AT_WALL_MW}


def of_cards(ledger: Ledger, host: HostFacts, days: tuple[int, int], now_ns: int) -> pl.DataFrame:
    """The intervals between the cards' readings (`energy.readings`) that meet [from, to) `days`,
    and more."""
    return _sampled(ledger, "samples", host, days, now_ns)


def of_wall(ledger: Ledger, host: HostFacts, days: tuple[int, int], now_ns: int) -> pl.DataFrame:
    """The same of the wall meters."""
    return _sampled(ledger, "wall_samples", host, days, now_ns)


def _sampled(
    ledger: Ledger, query: str, host: HostFacts, days: tuple[int, int], now_ns: int
) -> pl.DataFrame:
    first, last = days
    near = (_floor_day(first) - DAY_NS, _floor_day(last) + DAY_NS)
    far = (_floor_day(first - BRIDGED_NS), _floor_day(last + BRIDGED_NS) + DAY_NS)
    found = readings(ledger.frame(query, *near), host, MOST[query])
    reaches = (pl.col("from_ns").min() < first) & (
        (pl.col("at_ns").max() >= last) | pl.lit(near[1] > now_ns)
    )
    there = set(found.group_by("card").agg(reaches.alias("it")).filter("it")["card"])
    # Whoever has readings only further away may have been silent throughout.
    if there.issuperset(ledger.frame("sampled", *far).filter(query=query)["card"]):
        return found
    return readings(ledger.frame(query, *far), host, MOST[query])


def _floor_day(at_ns: int) -> int:
    return at_ns // DAY_NS * DAY_NS
