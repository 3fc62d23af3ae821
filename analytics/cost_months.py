"""What each of the last months cost, whether or not anybody used the rig in it."""

from typing import Any

from analytics.active_gap import reach_ns
from analytics.day import joined
from analytics.month import cost_of
from analytics.periods import Period, month_before
from analytics.quality import at_least, quality
from analytics.read import Ledger
from analytics.savings import months_since_purchase
from analytics.shelf import Shelf
from collector.settings import Settings

SHOWN_MONTHS = 12


def cost_months(
    ledger: Ledger, settings: Settings, period: Period, now_ns: int
) -> list[dict[str, Any]]:
    """The period's month and up to eleven before it since the first purchase or request, oldest
    first: month, provisional, cost_nano and its parts, at_least (not all of it is known)."""
    shelf = Shelf(ledger, settings, now_ns)
    since_ns = min((each.from_ns for each in months_since_purchase(shelf)), default=now_ns)
    months: list[dict[str, Any]] = []
    while len(months) < SHOWN_MONTHS and period.to_ns > since_ns:
        days = shelf.days(period.from_ns, period.to_ns)
        months.append(
            {
                "month": period.name,
                "provisional": now_ns < period.to_ns + reach_ns(settings.usage.active_gap_ns),
                "cost_nano": cost_of(joined(days, "cells"), days),
                "at_least": bool(at_least(quality(days, settings), settings)),
            }
        )
        period = month_before(period, settings.zone)
    return months[::-1]


def cost_entry(month: dict[str, Any]) -> dict[str, Any]:
    """A month's document among them."""
    return {
        "month": month["period"]["name"],
        "provisional": month["period"]["provisional"],
        "cost_nano": month["cost_nano"],
        "at_least": bool(month["at_least"]),
    }
