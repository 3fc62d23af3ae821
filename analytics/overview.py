"""The overview page's frames: the month, the cards' day, and the months before."""

from dataclasses import dataclass
from typing import Any

import polars as pl

from analytics.cost import CELL
from analytics.day import Day, spent
from analytics.month import account
from analytics.periods import Period, day_at, month_before
from analytics.read import Ledger
from analytics.shelf import Shelf
from collector.settings import Settings

TREND_MONTHS = 12


@dataclass(frozen=True)
class Overview:
    """month: the document of `month.summarize`; strips: the last day's leaves by state (card,
    bucket_ns, state, ns, cost_nano)."""

    month: dict[str, Any]
    strips: pl.DataFrame
    strips_day: str


def overview(ledger: Ledger, settings: Settings, period: Period, now_ns: int) -> Overview:
    """Account for a period that has begun, and cut out its last day that has passed."""
    shelf = Shelf(ledger, settings, now_ns)
    last = day_at(min(period.to_ns, now_ns) - 1, settings.zone)
    (day,) = shelf.days(max(last.from_ns, period.from_ns), min(last.to_ns, period.to_ns))
    return Overview(
        month=account(shelf, period),
        strips=strips(day),
        strips_day=day.name,
    )


def strips(day: Day) -> pl.DataFrame:
    """Time and cost by card, 15-minute bucket and state on one day."""
    return day.cells.select(*CELL, "ns", spent().alias("cost_nano")).sort(CELL)


def trend(ledger: Ledger, settings: Settings, period: Period, now_ns: int) -> list[dict[str, Any]]:
    """The period's month and up to eleven before it that had requests as `entry` tells them,
    oldest first."""
    shelf = Shelf(ledger, settings, now_ns)
    months: list[dict[str, Any]] = []
    for _ in range(TREND_MONTHS):
        if shelf.had_requests(period.from_ns, period.to_ns):
            months.append(entry(account(shelf, period)))
        period = month_before(period, settings.zone)
    return months[::-1]


def entry(month: dict[str, Any]) -> dict[str, Any]:
    """A month's document as the trend tells it: the full price and the API lines."""
    return {
        "month": month["period"]["name"],
        "full_nano_per_mtok": month["cost_per_mtok"]["full"]["output"],
        "compare": {sheet["sheet"]: sheet["headline_nano_per_mtok"] for sheet in month["compare"]},
        "provisional": month["period"]["provisional"],
    }
