"""Sheets and costs as the command line tells them."""

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from typing import Any

from analytics.prices.cost import Cost, Usage, cost
from analytics.prices.inforce import InForce
from analytics.prices.sheet import Sheet
from collector.clock import from_ns

LISTED = ("sheet", "currency", "input", "cached", "output")


def listed(sheet: Sheet, now: dt.datetime | None = None) -> list[str | None]:
    """A row of the list: name, currency and the prices in force, None where there are none."""
    prices = cost(sheet, Usage(0, 0), now or dt.datetime.now(dt.UTC)).prices
    told = (prices.input, prices.cache_read, prices.output) if prices else (None, None, None)
    return [sheet.id, sheet.currency, *(None if price is None else text(price) for price in told)]


def as_json(sheet: Sheet, found: Cost, at: dt.datetime) -> dict[str, Any]:
    """A cost with all that it follows from; `cost` is null where `why` says why."""
    start, end = found.period or (None, None)
    return {
        "cost": None if found.amount is None else decimal(found.amount),
        "currency": found.currency,
        "period": {"from": _iso(start), "to": _iso(end)},
        "sheet": sheet.id,
        "at": at.isoformat().replace("+00:00", "Z"),
        "overrides": list(found.overrides),
        "prices": {} if found.prices is None else _prices(found.prices),
        "notes": list(found.notes),
        "why": found.why,
    }


def as_text(told: dict[str, Any]) -> str:
    """The same in a few lines."""
    if told["cost"] is None:
        return f"{told['sheet']} cannot price this: {told['why']}."
    lines = [f"{told['cost']} {told['currency']} at {told['sheet']}, {told['at']}"]
    if told["overrides"]:
        lines.append(f"in force: {', '.join(told['overrides'])}")
    return "\n".join([*lines, *told["notes"]])


def decimal(amount: Fraction) -> str:
    """An amount as decimal text, exactly: prices and ratios have decimal places only."""
    places = 0
    while (amount * 10**places).denominator != 1:
        places += 1
    digits = f"{int(amount * 10**places):0{places + 1}d}"
    return f"{digits[:-places]}.{digits[-places:]}" if places else digits


def text(price: Decimal) -> str:
    """A price without zeros at its end."""
    return f"{price.normalize():f}"


def _prices(prices: InForce) -> dict[str, Any]:
    """The prices that there are, per million tokens; of a request, each."""
    plain = {
        name: text(price)
        for name in ("input", "cache_read", "output", "reasoning", "per_request")
        if (price := getattr(prices, name)) is not None
    }
    written = {ttl: text(price) for ttl, price in prices.cache_write.items()}
    return {**plain, **({"cache_write": written} if written else {})}


def _iso(instant_ns: int | None) -> str | None:
    return None if instant_ns is None else from_ns(instant_ns).isoformat().replace("+00:00", "Z")
