"""Whether the conditions of an override hold: for one request, and for a column of them.

Windows are half open and may pass midnight; the day of a request is that of its own instant. Public
holidays are a country's official days off, also where they fall on a weekend. A weekend on which
a country works in exchange for a holiday is a weekend here: no price sheet says otherwise.
"""

import datetime as dt
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import cache
from zoneinfo import ZoneInfo

import polars as pl

from analytics.prices.sheet import DAYS, Sheet, When

DAY_MINUTES = 24 * 60


@cache
def public_holidays(country: str, year: int) -> frozenset[dt.date]:
    """The official days off of a country in a year. Raises NotImplementedError for an unknown one.

    Where a country moves days every year by decree, as China does, years that are not decreed yet
    hold only the days that the law fixes.
    """
    import holidays  # noqa: PLC0415 (few sheets need it, and it is slow)

    return frozenset(holidays.country_holidays(country, years=year))


def knows_holidays(country: str) -> bool:
    """Whether `public_holidays` knows a country; to look up its code loads none."""
    from holidays.registry import EntityLoader  # noqa: PLC0415

    if country in EntityLoader.get_country_codes():
        return True
    try:
        return bool(public_holidays(country, 2026))
    except NotImplementedError:
        return False


def ratio_of(sheet: Sheet) -> tuple[int, int]:
    """The provider's tokens for each of ours, as numerator and denominator."""
    return int(Decimal(sheet.tokenizer_ratio) * 10_000), 10_000


def holds(
    when: When, at: dt.datetime, tokens: int, ratio: tuple[int, int], terms: Mapping[str, str]
) -> bool:
    """Whether all conditions hold for one request of `tokens` of input at an aware instant."""
    local = at.astimezone(ZoneInfo(when.tz))
    day = at.astimezone(ZoneInfo(when.day_zone)).date()
    above = when.input_tokens_above
    return (
        (above is None or tokens * ratio[0] > above * ratio[1])
        and (not when.windows or any(_inside(w, local.time()) for w in when.windows))
        and (not when.days or DAYS[day.weekday()] in when.days)
        and (not when.dates or day in when.dates)
        and day not in when.except_dates
        and (when.holidays is None or day in public_holidays(when.holidays, day.year))
        and (
            when.except_holidays is None
            or day not in public_holidays(when.except_holidays, day.year)
        )
        and all(terms.get(name) == value for name, value in when.terms.items())
    )


def _inside(window: str, clock: dt.time) -> bool:
    start, end = (dt.time.fromisoformat(text.replace("24:00", "23:59")) for text in _ends(window))
    late = window.endswith("24:00")
    if late or start < end:
        return start <= clock and (late or clock < end)
    return clock >= start or clock < end


def _ends(window: str) -> list[str]:
    return window.split("-")


def holding(
    when: When, years: Iterable[int], ratio: tuple[int, int], terms: Mapping[str, str]
) -> pl.Expr:
    """The same of a frame with `received_ns` and `input_tokens`, whose instants lie in `years`.

    A condition on tokens that are not known is null.
    """
    if any(terms.get(name) != value for name, value in when.terms.items()):
        return pl.lit(False)
    instant = pl.col("received_ns").cast(pl.Datetime("ns", "UTC"))
    local = instant.dt.convert_time_zone(when.tz)
    minute = local.dt.hour().cast(pl.Int32) * 60 + local.dt.minute()
    day_at = instant.dt.convert_time_zone(when.day_zone)
    day = day_at.dt.date()
    conditions = [pl.lit(True)]
    if when.input_tokens_above is not None:
        tokens = pl.col("input_tokens").cast(pl.Int128) * ratio[0]
        conditions.append(tokens > when.input_tokens_above * ratio[1])
    if when.windows:
        conditions.append(pl.any_horizontal(*(_within(w, minute) for w in when.windows)))
    if when.days:
        numbers = [DAYS.index(name) + 1 for name in when.days]
        conditions.append(day_at.dt.weekday().is_in(numbers))
    if when.dates:
        conditions.append(day.is_in(when.dates))
    if when.except_dates:
        conditions.append(~day.is_in(when.except_dates))
    if when.holidays is not None:
        conditions.append(day.is_in(_all(when.holidays, years)))
    if when.except_holidays is not None:
        conditions.append(~day.is_in(_all(when.except_holidays, years)))
    return pl.all_horizontal(*conditions)


def _within(window: str, minute: pl.Expr) -> pl.Expr:
    start, end = (int(text[:2]) * 60 + int(text[3:]) for text in _ends(window))
    if start < end:
        return (minute >= start) & (minute < end)
    return (minute >= start) | (minute < end)


def _all(country: str, years: Iterable[int]) -> list[dt.date]:
    return sorted(day for year in years for day in public_holidays(country, year))
