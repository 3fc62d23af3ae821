"""Numbers into words: money, shares, time spans, counts. Unknown stays the word `unknown`."""

import datetime as dt
from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal

from analytics.render.rounding import in_units, three_digits

NANO = 1_000_000_000
HOUR_NS = 3600 * NANO
UNKNOWN = "unknown"
MINUS = "\N{MINUS SIGN}"
THREE_DIGITS = Context(prec=3, rounding=ROUND_HALF_EVEN)
headline = three_digits  # as the report has it


def brief(nano: int) -> str:
    """An amount where there is little room: 4.47, 17,000, 407k, 1M, 40.6M, 1.23B."""
    amount = THREE_DIGITS.create_decimal(nano).scaleb(-9)  # rounded first: 999,999 is 1M
    for least, power, sign in ((9, 9, "B"), (6, 6, "M"), (5, 3, "k")):
        if abs(amount) >= 10**least:
            return _signed(f"{amount.scaleb(-power).normalize():,f}{sign}")
    return headline(nano)


def cents(nano: int | None, decimals: int = 2) -> str:
    """An amount for tables: 1,234.56."""
    if nano is None:
        return UNKNOWN
    return _signed(f"{Decimal(nano) / NANO:,.{decimals}f}")


def amount(nano: int | None) -> str:
    """An amount within a sentence, to the cent: 0.08, less than 0.01."""
    if nano is not None and 0 < nano < NANO // 200:
        return "less than 0.01"
    return cents(nano)


def known_part(nano: int | None, *, at_least: bool) -> str:
    """An amount within a sentence that is all, or at least what is known: at least 0.08, at least
    0.00432."""
    if not at_least or nano is None:
        return amount(nano)
    return f"at least {headline(nano) if 0 < nano < NANO // 200 else cents(nano)}"


def change(nano: int | None) -> str:
    """A difference with its sign: +37.10, −412."""
    if nano is None:
        return UNKNOWN
    return ("+" if nano > 0 else "") + headline(nano)


def decimals_for(nano: int) -> int:
    """Decimals that show an amount with three significant digits, at least cents."""
    amount = Decimal(abs(nano)) / NANO
    return 2 if amount >= 1 or not amount else min(6, 2 - amount.adjusted())


def parts(amounts: Sequence[int], decimals: int) -> list[str]:
    """Amounts, in nano-units, as they are printed beside their sum: the print adds up too."""
    unit = 10 ** (9 - decimals)
    return [cents(units * unit, decimals) for units in in_units(amounts, unit)]


def least(decimals: int) -> str:
    """The smallest amount that prints with so many decimals: 0.01."""
    return str(Decimal(1).scaleb(-decimals))


def share(ratio: float | None) -> str:
    """A ratio as a percentage: 9.3 %, 0.42 %, 55 %."""
    if ratio is None:
        return UNKNOWN
    percent = ratio * 100
    decimals = 0 if percent >= 10 or percent == 0 else 1 if percent >= 1 else 2
    return f"{percent:.{decimals}f} %"


def span(ns: int) -> str:
    """A time span in two units at most: 42 s, 15 min, 7 h 30 min, 12 d 4 h."""
    seconds = round(ns / NANO)
    if seconds < 60:
        return f"{seconds} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def hours(ns: int) -> str:
    """A time span in hours: 1,204 h, 7.5 h, 0.25 h."""
    value = ns / NANO / 3600
    decimals = 0 if value >= 100 or not ns else 1 if value >= 1 else 2
    return f"{value:,.{decimals}f} h"


def minutes(ns: int) -> str:
    """A time span in minutes: 7.5 min, 15 min."""
    return f"{ns / NANO / 60:g} min"


def count(number: int | None, noun: str = "") -> str:
    """A count with its noun: 1 request, 12,403 requests, 1.24 million tokens."""
    if number is None:
        return UNKNOWN
    plural = f" {noun}{'' if number == 1 else 's'}" if noun else ""
    if abs(number) < 1_000_000:
        return f"{number:,}{plural}"
    rounded = THREE_DIGITS.create_decimal(number)
    power, name = (9, "billion") if abs(rounded) >= 10**9 else (6, "million")
    return f"{rounded.scaleb(-power).normalize():,f} {name}{plural}"


def rate(per_second: float) -> str:
    """Tokens per second, none of them as nothing: 1,365, 42, 3.9, 0.083."""
    return f"{per_second:,.0f}" if per_second >= 10 else f"{per_second:.2g}"


def clock(ns: int, zone: dt.tzinfo) -> str:
    """The wall clock of the rig: 14:10."""
    return dt.datetime.fromtimestamp(ns // NANO, zone).strftime("%H:%M")


def month_name(month: str) -> str:
    """`2026-10` as October 2026."""
    return dt.date.fromisoformat(f"{month}-01").strftime("%B %Y")


def day_name(day: str) -> str:
    """`2026-10-03` as Saturday, 3 October 2026."""
    date = dt.date.fromisoformat(day)
    return f"{date:%A}, {date.day} {date:%B %Y}"


def _signed(text: str) -> str:
    return text.replace("-", MINUS)
