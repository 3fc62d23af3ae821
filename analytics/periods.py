"""Periods of the books: local months and days as UTC nanoseconds, daylight saving and all."""

import datetime as dt
import re
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from collector.clock import from_ns, to_ns


@dataclass(frozen=True)
class Period:
    """[from_ns, to_ns) with the name that people call it by."""

    name: str
    from_ns: int
    to_ns: int


def month_of(name: str, zone: ZoneInfo) -> Period:
    """The local month `YYYY-MM`. Raises ValueError for any other text."""
    if not re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])", name):
        raise ValueError(f"{name!r} is no month; write it as YYYY-MM, for example 2026-10")
    first = dt.date(int(name[:4]), int(name[5:]), 1)
    following = (first + dt.timedelta(days=32)).replace(day=1)
    return Period(name, _midnight_ns(first, zone), _midnight_ns(following, zone))


def month_at(at_ns: int, zone: ZoneInfo) -> Period:
    """The local month that an instant lies in."""
    return month_of(f"{from_ns(at_ns).astimezone(zone):%Y-%m}", zone)


def month_before(period: Period, zone: ZoneInfo) -> Period:
    """The local month before a month."""
    return month_at(period.from_ns - 1, zone)


def day_at(at_ns: int, zone: ZoneInfo) -> Period:
    """The local day that an instant lies in."""
    day = from_ns(at_ns).astimezone(zone).date()
    following = day + dt.timedelta(days=1)
    return Period(day.isoformat(), _midnight_ns(day, zone), _midnight_ns(following, zone))


def year_starts(start_ns: int, end_ns: int, zone: ZoneInfo) -> list[int]:
    """The new years of a zone around a span: the last at or before it to the first after it."""
    first, last = (from_ns(at).astimezone(zone).year for at in (start_ns, end_ns))
    return [_midnight_ns(dt.date(year, 1, 1), zone) for year in range(first, last + 2)]


def span_of(first: str, last: str | None, zone: ZoneInfo, now_ns: int) -> Period:
    """Local days or months from a first to a last one, both included; without a last, to today.

    Raises ValueError for other texts, and where the last lies before the first.
    """
    start = _named(first, zone)
    end = day_at(max(now_ns, start.from_ns), zone) if last is None else _named(last, zone)
    if end.to_ns <= start.from_ns:
        raise ValueError(f"{last} lies before {first}; turn the two around")
    name = start.name if start == end else f"{start.name} to {end.name}"
    return Period(name, start.from_ns, end.to_ns)


def _named(text: str, zone: ZoneInfo) -> Period:
    """A day or a month by its name."""
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        return month_of(text, zone)
    try:
        day = dt.date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is no day; write it as YYYY-MM-DD") from None
    return day_at(_midnight_ns(day, zone), zone)


def _midnight_ns(day: dt.date, zone: ZoneInfo) -> int:
    """Convert first, subtract later: aware datetimes of one zone subtract by the wall clock."""
    return to_ns(dt.datetime.combine(day, dt.time(), tzinfo=zone).astimezone(dt.UTC))
