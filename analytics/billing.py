"""What each day's requests come to on each price sheet: worked out once, then kept."""

from collections.abc import Iterator, Sequence

import polars as pl

from analytics import bill_shelf
from analytics.counterfactual import BILLED, KEYS, Bill, billed, reach_ns
from analytics.day import Day
from analytics.periods import day_at
from analytics.prices.sheet import Sheet
from analytics.shelf import Shelf

PLAIN = [name for name in BILLED if name not in KEYS]


def bills(shelf: Shelf, days: Sequence[Day], sheets: Sequence[Sheet]) -> Iterator[list[Bill]]:
    """For each day its bill on each sheet, in the sheets' order."""
    for day in days:
        kept = [bill_shelf.take(shelf, day, sheet) for sheet in sheets]
        missing = [sheet for sheet, bill in zip(sheets, kept, strict=True) if bill is None]
        made = _made(shelf, day, missing)
        yield [next(made) if bill is None else bill for bill in kept]


def alone(shelf: Shelf, day: Day, source: str, event_id: str, sheet: Sheet) -> Bill:
    """The bill of one attempt that ended in a day, which is its part of the day's bill.

    An earlier try of a request is billed with the try that counts, and is none by itself.
    """
    attempts = day.ended("source", "event_id", *BILLED).with_row_index("place")
    it = attempts.filter(source=source, event_id=event_id)
    arrived, place = it["received_ns"].item(), it["place"].item()
    # Of those that arrived in the same instant, the ones told before it are cached already.
    sooner = pl.col("received_ns") < arrived
    level = (pl.col("received_ns") == arrived) & (pl.col("place") < place)
    own = it.select(BILLED)
    earlier = _earlier(shelf, day, own, reach_ns(sheet))
    return billed(pl.concat([earlier, attempts.filter(sooner | level).select(BILLED)]), own, sheet)


def _made(shelf: Shelf, day: Day, sheets: Sequence[Sheet]) -> Iterator[Bill]:
    """The bills of a day, its attempts read once; those that can be kept are."""
    if not sheets:
        return
    attempts = day.ended(*(BILLED if any(map(reach_ns, sheets)) else PLAIN))
    for sheet in sheets:
        bill = billed(_earlier(shelf, day, attempts, reach_ns(sheet)), attempts, sheet)
        bill_shelf.put(shelf, day, sheet, bill)
        yield bill


def _earlier(shelf: Shelf, day: Day, attempts: pl.DataFrame, reach: int) -> pl.DataFrame:
    """What a cache may still remember of the days before, where any request told its prefixes."""
    if not reach or not attempts["prefix"].explode().count():
        return attempts.clear()
    since = day_at(day.from_ns - reach, shelf.settings.zone).from_ns
    before = shelf.days(since, day.from_ns)
    return pl.concat([attempts.clear(), *(each.ended(*BILLED) for each in before)])
