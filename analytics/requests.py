"""A day's requests one by one: what each was, what it took, and what it cost that day.

A row for every attempt that ended in the day or worked in it, so that what they cost adds up to
the day's requests. One that ends on the next day has its tokens counted there.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from zoneinfo import ZoneInfo

import polars as pl

from analytics.day import Day
from analytics.rollup import KINDS, SPENT, WORK, known_sum

NAME: Final = ["source", "event_id"]
LISTED: Final = [
    *NAME, "model", "project", "session", "status", "received_ns", "end_ns", "input_tokens",
    "cache_read_tokens", "output_tokens", "card", "is_request", "is_carded",
]  # fmt: skip
TOLD: Final = [*LISTED, "key", "operation", "recomputed_tokens", "is_odd"]
NONE: Final = "(none)"
CHOICES: Final = ("model", "project", "session", "card", "status")
ORDERS: Final = ("newest", "dearest", "longest", "most output")


@dataclass(frozen=True)
class Wanted:
    """What of a day is looked at; None takes all. `from_hour` and `to_hour` are of the wall clock,
    the second one excluded; labels that were not told go by the name `NONE`."""

    model: str | None = None
    project: str | None = None
    session: str | None = None
    card: str | None = None
    status: str | None = None
    from_hour: int = 0
    to_hour: int = 24


def requests(day: Day, later: Day | None) -> pl.DataFrame:
    """The day's attempts by the instant of their arrival; `later` is the day after it, if begun.

    Beside `LISTED`: took_ns and `ends_later`; ns and nano, of this day alone, None where the
    attempt ran on no card that the books know.
    """
    costs = _costs(day)
    rows = _beside(_told(day, later, costs), costs)
    return rows.with_columns(
        *_known("ns", "nano"),
        ends_later=pl.col("ends_later").fill_null(True),
        took_ns=pl.col("end_ns") - pl.col("received_ns"),
    )


def _told(day: Day, later: Day | None, costs: pl.DataFrame) -> pl.DataFrame:
    """What was told of the attempts that ended in the day or worked in it, in order."""
    told = day.ended(*LISTED).with_columns(ends_later=pl.lit(False))
    if later is not None:
        over = later.ended(*LISTED).filter(pl.col("received_ns") < day.to_ns)
        over = over.join(costs, on=NAME, how="semi").with_columns(ends_later=pl.lit(True))
        told = pl.concat([told, over])
    return told.sort("received_ns", *NAME)


def request(day: Day, source: str, event_id: str) -> dict[str, Any] | None:
    """An attempt that ended in the day, as `requests` has it; with the rest of `TOLD`, `WORK` and
    `SPENT`. None where there is none of the name."""
    name = {"source": source, "event_id": event_id}
    told = day.ended(*TOLD).filter(**name)
    if told.is_empty():
        return None
    costs = day.costs(*NAME, *WORK, *SPENT).filter(**name)
    sums = costs.select(
        pl.col(*WORK, *SPENT).sum(),
        ns=pl.sum_horizontal(f"{kind}_ns" for kind in KINDS).sum(),
        nano=pl.sum_horizontal(SPENT).sum(),
    )
    row = told.hstack(sums if len(costs) else sums.clear(1))
    row = row.with_columns(
        *_known("ns", "nano", *WORK, *SPENT), took_ns=pl.col("end_ns") - pl.col("received_ns")
    )
    return row.row(0, named=True)


def _known(*figures: str) -> list[pl.Expr]:
    """Nothing told of the time of what ran on a card of the rig is none of it."""
    is_carded = pl.col("is_carded").fill_null(True)
    return [pl.when(is_carded).then(pl.col(name).fill_null(0)) for name in figures]


def _beside(told: pl.DataFrame, costs: pl.DataFrame) -> pl.DataFrame:
    """What was told of the attempts beside what they cost; a busy day's columns are not copied."""
    names = costs.select(NAME).with_row_index("place")
    place = told.select(NAME).join(names, on=NAME, how="left", maintain_order="left")["place"]
    found = costs.drop(NAME).select(pl.all().gather(place))
    rows = told.hstack(found)
    alone = costs.filter(~names["place"].is_in(place.drop_nulls().implode())).sort(NAME)
    return rows if alone.is_empty() else pl.concat([alone, rows], how="diagonal")


def _costs(day: Day) -> pl.DataFrame:
    """What each request took (ns) and cost (nano) in the day, on all its cards together."""
    times = [f"{kind}_ns" for kind in KINDS]
    by_card = day.costs(*NAME, *times, *SPENT).select(
        *NAME, ns=pl.sum_horizontal(times), nano=pl.sum_horizontal(SPENT)
    )
    return by_card.group_by(NAME).agg(pl.col("ns", "nano").sum())


def choices(rows: pl.DataFrame) -> dict[str, list[str]]:
    """What each filter may be set to, in order."""
    return {name: sorted(_named(rows, name).unique().to_list()) for name in CHOICES}


def chosen(rows: pl.DataFrame, wanted: Wanted, zone: ZoneInfo) -> pl.DataFrame:
    """The rows of `requests` that are looked at."""
    if wanted == Wanted():
        return rows  # a busy day is not gone through for nothing
    hour = pl.from_epoch("received_ns", "ns").dt.replace_time_zone("UTC")
    hour = hour.dt.convert_time_zone(zone.key).dt.hour()
    wall = hour.is_between(wanted.from_hour, wanted.to_hour - 1).fill_null(True)
    asked = {name: getattr(wanted, name) for name in CHOICES}
    labels = [
        pl.col(name).fill_null(NONE) == value for name, value in asked.items() if value is not None
    ]
    return rows.filter(wall, *labels)


def first(rows: pl.DataFrame, order: str, count: int) -> pl.DataFrame:
    """At most `count` rows of `requests`, by `ORDERS`; what is not known comes last."""
    by = {
        "newest": "received_ns",
        "dearest": "nano",
        "longest": "took_ns",
        "most output": "output_tokens",
    }[order]
    known = rows[by].drop_nulls()
    if len(known) > count:  # only those that can be among them are put in order
        rows = rows.filter(pl.col(by) >= known.top_k(count).min())
    return rows.sort(by, *NAME, descending=[True, False, False], nulls_last=True).head(count)


def totals(rows: pl.DataFrame) -> dict[str, Any]:
    """Rows of `requests` added up: attempts, requests (earlier tries left out) and output_tokens
    of those that ended in the day, nano of what all cost in it; None where nothing is known."""
    ended = ~pl.col("ends_later")
    sums = rows.select(
        attempts=ended.sum(),
        requests=(ended & pl.col("is_request")).sum(),
        output_tokens=known_sum(pl.col("output_tokens").filter(ended)),
        nano=known_sum(pl.col("nano")),
    )
    return sums.row(0, named=True)


def _named(rows: pl.DataFrame, name: str) -> pl.Series:
    return rows[name].fill_null(NONE)


def days_with_requests(days: Sequence[Day]) -> list[dt.date]:
    """The days in which any attempt ended or worked, in order."""
    return [
        dt.date.fromisoformat(day.name)
        for day in days
        if int(day.tallies["attempts"].sum()) or len(day.work)
    ]
