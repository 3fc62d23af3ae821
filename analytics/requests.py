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
from analytics.rollup import KINDS, LABELS, SPENT, WORK, known_sum

NAME: Final = ["source", "event_id"]
TOKENS: Final = [
    "input_tokens", "cache_read_tokens", "recomputed_tokens", "output_tokens",
]  # fmt: skip
TOLD: Final = [
    *NAME, *LABELS, "operation", "status", "received_ns", "end_ns", *TOKENS,
    "card", "is_request", "is_carded", "is_odd",
]  # fmt: skip
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

    Beside `TOLD`: took_ns and `ends_later`; ns and nano in all, `WORK` and `SPENT`, of this day
    alone, None where the attempt ran on no card that the books know.
    """
    rows, figures = _rows(day, later), ["ns", "nano", *WORK, *SPENT]
    known = pl.when(pl.col("is_carded").fill_null(True)).then(pl.col(figures).fill_null(0))
    return rows.with_columns(
        known.name.keep(),
        ends_later=pl.col("ends_later").fill_null(True),
        took_ns=pl.col("end_ns") - pl.col("received_ns"),
    ).sort("received_ns", *NAME)


def _rows(day: Day, later: Day | None) -> pl.DataFrame:
    """What was told of the attempts beside what they cost; a busy day's columns are not copied."""
    told = day.ended(*TOLD).with_columns(ends_later=pl.lit(False))
    costs = _costs(day).with_row_index("place")
    if later is not None:
        over = later.ended(*TOLD).filter(pl.col("received_ns") < day.to_ns)
        over = over.join(costs, on=NAME, how="semi").with_columns(ends_later=pl.lit(True))
        told = pl.concat([told, over])
    names = costs.select("place", *NAME)
    place = told.select(NAME).join(names, on=NAME, how="left", maintain_order="left")["place"]
    found = costs.drop("place", *NAME).select(pl.all().gather(place))
    alone = costs.filter(~pl.col("place").is_in(place.drop_nulls().implode())).drop("place")
    return pl.concat([told.hstack(found), alone], how="diagonal")


def _costs(day: Day) -> pl.DataFrame:
    """What each request took and cost in the day, on all its cards together."""
    sums = day.costs(*NAME, *WORK, *SPENT).group_by(NAME).agg(pl.col(*WORK, *SPENT).sum())
    return sums.with_columns(
        ns=pl.sum_horizontal(f"{kind}_ns" for kind in KINDS), nano=pl.sum_horizontal(SPENT)
    )


def choices(rows: pl.DataFrame) -> dict[str, list[str]]:
    """What each filter may be set to, in order."""
    return {name: sorted(_named(rows, name).unique().to_list()) for name in CHOICES}


def chosen(rows: pl.DataFrame, wanted: Wanted, zone: ZoneInfo) -> pl.DataFrame:
    """The rows of `requests` that are looked at."""
    hour = pl.from_epoch("received_ns", "ns").dt.replace_time_zone("UTC")
    hour = hour.dt.convert_time_zone(zone.key).dt.hour()
    wall = hour.is_between(wanted.from_hour, wanted.to_hour - 1).fill_null(True)
    asked = {name: getattr(wanted, name) for name in CHOICES}
    labels = [
        pl.col(name).fill_null(NONE) == value for name, value in asked.items() if value is not None
    ]
    these = rows.select(pl.all_horizontal(wall, *labels)).to_series()
    return rows if these.all() else rows.filter(these)  # a busy day is not copied for nothing


def first(rows: pl.DataFrame, order: str, count: int) -> pl.DataFrame:
    """At most `count` rows of `requests`, by `ORDERS`; what is not known comes last."""
    by = {
        "newest": pl.col("received_ns"),
        "dearest": pl.col("nano"),
        "longest": pl.col("took_ns"),
        "most output": pl.col("output_tokens"),
    }[order]
    ordered = rows.lazy().sort(by, *NAME, descending=[True, False, False], nulls_last=True)
    return ordered.head(count).collect()  # lazily, so that the rest is not ordered


def totals(rows: pl.DataFrame) -> dict[str, Any]:
    """Rows of `requests` added up: attempts, requests (earlier tries left out) and output_tokens
    of those that ended in the day, nano of what all cost in it; None where nothing is known."""
    ended = rows.filter(~pl.col("ends_later"))
    return {
        "attempts": len(ended),
        "requests": int(ended["is_request"].sum()),
        "output_tokens": ended.select(known_sum(pl.col("output_tokens"))).item(),
        "nano": rows.select(known_sum(pl.col("nano"))).item(),
    }


def _named(rows: pl.DataFrame, name: str) -> pl.Series:
    return rows[name].fill_null(NONE)


def days_with_requests(days: Sequence[Day]) -> list[dt.date]:
    """The days in which any attempt ended or worked, in order."""
    return [
        dt.date.fromisoformat(day.name)
        for day in days
        if int(day.tallies["attempts"].sum()) or len(day.work)
    ]
