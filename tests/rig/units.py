"""Figures of the JSON as people read them, rounded by hand from exact decimals.

What a page prints is worked out here anew, from the rules of docs/definitions.md; nothing is taken
from the program. All round half to even, as decimals do.
"""

import datetime as dt
from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

MINUS = "\N{MINUS SIGN}"
UTC = ZoneInfo("UTC")


def known(unit: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A unit whose None reads `unknown`."""
    return lambda value: "unknown" if value is None else unit(value)


def fixed(value: Decimal, places: int) -> str:
    return f"{value:,.{places}f}".replace("-", MINUS)


def headline(nano: int) -> str:
    """Three digits of an amount, six decimals at most."""
    if not nano:
        return "0.00"
    three = Context(prec=3).plus(Decimal(nano).scaleb(-9))
    return fixed(three, max(0, min(6, 2 - three.adjusted())))


def brief(nano: int) -> str:
    """An amount where there is little room: from a hundred thousand on in thousands or millions."""
    units = abs(nano) // 10**9
    if units < 100_000:
        return headline(nano)
    size, sign = (10**6, "M") if units >= 10**6 else (1000, "k")
    return headline(whole(Decimal(nano) / size)) + sign


def cents(nano: int, places: int = 2) -> str:
    return fixed(Decimal(nano).scaleb(-9), places)


def amount(nano: int) -> str:
    """An amount in a sentence: what would print as nothing says so."""
    return "less than 0.01" if 0 < nano < 5_000_000 else cents(nano)


def change(nano: int) -> str:
    return ("+" if nano > 0 else "") + headline(nano)


def more(nano: int) -> str:
    """A loss, told as what was paid more."""
    return headline(-nano)


def share(ratio: float | Fraction) -> str:
    exact = Fraction(ratio) * 100
    percent = Decimal(exact.numerator) / Decimal(exact.denominator)
    places = 0 if percent >= 10 or not percent else 1 if percent >= 1 else 2
    return f"{percent:.{places}f} %"


def whole(value: Decimal) -> int:
    return int(value.to_integral_value())


def span(ns: int) -> str:
    seconds = whole(Decimal(ns).scaleb(-9))
    minutes = whole(Decimal(seconds) / 60)
    if seconds < 60:
        return f"{seconds} s"
    if minutes < 60:
        return f"{minutes} min"
    (days, hours), rest = divmod(minutes // 60, 24), minutes % 60
    if minutes < 48 * 60:
        return f"{minutes // 60} h" + f" {rest} min" * bool(rest)
    return f"{days} d" + f" {hours} h" * bool(hours)


def short(ns: int) -> str:
    seconds = Decimal(ns).scaleb(-9)
    return span(ns) if seconds >= 600 else f"{seconds:.{2 if seconds < 10 else 1}f} s"


def hours(ns: int) -> str:
    value = Decimal(ns).scaleb(-9) / 3600
    return f"{value:,.{0 if value >= 100 or not ns else 1 if value >= 1 else 2}f} h"


def minutes(ns: int) -> str:
    return f"{(Decimal(ns).scaleb(-9) / 60).normalize():f} min"


def kwh(uj: int) -> str:
    value = Decimal(uj) / 3_600_000_000_000
    return f"{value:,.{0 if value >= 100 or not uj else 1 if value >= 10 else 2}f} kWh"


def count(number: int) -> str:
    for size, name in ((10**9, "billion"), (10**6, "million")):
        if number >= size:
            return f"{Context(prec=3).plus(Decimal(number) / size).normalize():f} {name}"
    return f"{number:,}"


def printed(amounts: Sequence[int], places: int) -> list[str]:
    """Amounts beside their sum: each to `places`, so that what is printed adds up, too. What the
    rounded sum lacks goes to those that lost most."""
    unit = 10 ** (9 - places)
    units = [nano // unit for nano in amounts]
    lacking = whole(Decimal(sum(amounts)) / unit) - sum(units)
    losers = sorted(range(len(amounts)), key=lambda at: amounts[at] % unit, reverse=True)
    for at in losers[:lacking]:
        units[at] += 1
    return [cents(each * unit, places) for each in units]


def places_for(nano: int) -> int:
    """Decimals with which a sum and its parts are printed: three digits, at least cents."""
    return max(2, min(6, 2 - Decimal(nano).scaleb(-9).adjusted()))


def clock(instant: str, zone: ZoneInfo = UTC) -> str:
    return f"{dt.datetime.fromisoformat(instant).astimezone(zone):%H:%M}"


def daily(hours_a_day: float) -> str:
    """Hours a day: two digits below ten."""
    return f"{Decimal(hours_a_day):.2g}" if hours_a_day < 10 else f"{Decimal(hours_a_day):.0f}"


def rate(per_second: float) -> str:
    """Tokens per second: whole from ten on, else two digits."""
    return f"{Decimal(per_second):,.0f}" if per_second >= 10 else f"{Decimal(per_second):.2g}"


def ms(value: int) -> str:
    """Milliseconds, told as seconds to three digits."""
    return f"{Context(prec=3).plus(Decimal(value) / 1000).normalize():f} s"


def later(value: int) -> str:
    return f"{short(abs(value) * 10**6)} {'later' if value > 0 else 'sooner'}"


UNITS: dict[str, Callable[[Any], Any]] = {
    **{unit.__name__: known(unit) for unit in (
        headline, cents, amount, change, more, share, span, short, hours, minutes, kwh, count,
        daily, rate, ms, later,
    )},
    "one": lambda value: f"{Decimal(value):,.1f}",
    "part": lambda value: share(Fraction(value)),
    "price": lambda value: headline(whole(Decimal(value).scaleb(9))),
    "exact": lambda nano: cents(nano, places_for(nano)),
    "tenths": lambda ms: f"{Decimal(ms) / 1000:.1f}",
    "hundredths": lambda ms: f"{Decimal(ms) / 1000:.2f}",
    "thousandths": lambda ms: None if ms is None else ms / 1000,
    # Cells and marks hold floats, which the browser formats.
    "units": lambda nano: None if nano is None else nano / 10**9,
    "as_hours": lambda ns: None if ns is None else ns / (3600 * 10**9),
    "seconds": lambda ns: None if ns is None else ns / 10**9,
    "same": lambda value: value,
}  # fmt: skip
