"""What an asset is worth in the books at any instant, by the method that its entry declares.

Every method is a curve of value from the in-service instant on, even between its knots:

straight_line: from the price to the residual at the anniversary that ends its life.
declining_balance: each year of life writes off a share of the value at its start (2 ÷ life unless
declared), or an equal part of what is left to write off over the years left, whichever is more,
and never goes below the residual; so it ends there exactly. Within a year of life it falls evenly.
market: from the price through the dated market values; after the last of them it stays. A rise is
a negative cost, and a value that is added moves the time since the one before it.
rented: nothing is bound.

From `retired` on the value is nothing.
"""

import datetime as dt
from collections.abc import Iterator
from fractions import Fraction

from analytics.curve import Curve, Knot
from collector.settings import Hardware, Settings


def book_value(asset: Hardware, settings: Settings) -> Curve:
    """The asset's value over time, nano-units: nothing before it is in service and once gone."""
    start = settings.midnight_ns(asset.in_service)
    knots = [(start, Fraction(0)), *_knots(asset, settings)]
    if asset.retired is None:
        return Curve(knots)
    end = settings.midnight_ns(asset.retired)
    last = Curve(knots).upto(end)
    before = [knot for knot in knots if knot[0] < end]
    return Curve([*before, (end, last), (end, Fraction(0))])


def written_off(asset: Hardware, settings: Settings) -> Curve:
    """What the asset has cost up to any instant: price less value, and less proceeds once gone.

    So what was not written off when it went is booked at that instant.
    """
    price = Fraction(asset.price_nano)
    _, *knots = book_value(asset, settings).knots
    lost = [(at, price - value) for at, value in knots]
    if asset.retired is not None:
        lost[-1] = (lost[-1][0], price - asset.proceeds_nano)
    return Curve(lost)


def _knots(asset: Hardware, settings: Settings) -> Iterator[Knot]:
    yield settings.midnight_ns(asset.in_service), Fraction(asset.price_nano)
    match asset.method:
        case "straight_line":
            end = anniversary(asset.in_service, asset.life_years or 0)
            yield settings.midnight_ns(end), Fraction(asset.residual_nano)
        case "declining_balance":
            for year, value in enumerate(_declining(asset), start=1):
                yield settings.midnight_ns(anniversary(asset.in_service, year)), value
        case "market":
            for day, value_nano in asset.valued:
                yield settings.midnight_ns(day), Fraction(value_nano)
        case "rented":
            pass


def _declining(asset: Hardware) -> Iterator[Fraction]:
    """The value at the end of each year of life."""
    life, residual = asset.life_years or 0, asset.residual_nano
    value = Fraction(asset.price_nano)
    for left in range(life, 0, -1):
        over = value - residual
        value -= min(over, max(value * asset.written_off_per_year, over / left))
        yield value


def anniversary(day: dt.date, years: int) -> dt.date:
    """The same day `years` later; 29 February becomes 1 March where the year has none."""
    try:
        return day.replace(year=day.year + years)
    except ValueError:
        return dt.date(day.year + years, 3, 1)
