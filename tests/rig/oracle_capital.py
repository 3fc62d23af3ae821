"""The second set's assets and other costs: value day by day, in Fractions.

Every date of an asset is a local midnight, so its value is even within a local day, and the cost
of capital is the sum of its days. Shares no code with `analytics`.
"""

import datetime as dt
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any

from collector.settings import Settings

Spent = Callable[[int], int]  # up to an instant ns → nano-units booked
Line = tuple[str, str, list[str], Spent]  # name, category, cards (none: all), amount
HOUR = 3_600 * 10**9
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@cache
def nano(amount: str | None) -> Fraction:
    return Fraction(amount or "0") * 10**9


def lines(settings: Settings, up: Callable[[int, int], int]) -> Iterator[Line]:
    """Every cost but electricity; `up` tells how long the host was up between two instants."""
    calendar = Calendar(settings)
    for asset in settings.hardware:
        if asset.method == "rented":
            yield asset.name, "capital", list(asset.cards), _rented(asset, calendar, up)
        else:
            yield asset.name, "capital", list(asset.cards), _written_off(asset, calendar)
    for cost in settings.other_costs:
        yield cost.name, "other", [], _other(cost, settings, calendar)


class Calendar:
    """Local days as instants."""

    def __init__(self, settings: Settings) -> None:
        self.zone = settings.zone
        self.midnight = cache(self._midnight)

    def _midnight(self, day: dt.date) -> int:
        local = dt.datetime(day.year, day.month, day.day, tzinfo=self.zone).astimezone(dt.UTC)
        return (local - EPOCH) // dt.timedelta(microseconds=1) * 1000

    def day(self, at: int) -> dt.date:
        moment = EPOCH + dt.timedelta(microseconds=at // 1000)
        return moment.astimezone(self.zone).date()


def value(asset: Any, calendar: Calendar, at: int) -> Fraction:
    """What an asset that is in service is worth at an instant."""
    if asset.method == "rented":
        return Fraction(0)
    points = _points(asset)
    earlier = [(calendar.midnight(d), v) for d, v in points if calendar.midnight(d) <= at]
    later = [(calendar.midnight(d), v) for d, v in points if calendar.midnight(d) > at]
    if not later:
        return earlier[-1][1]
    (a, low), (b, high) = earlier[-1], later[0]
    return (low * (b - at) + high * (at - a)) / (b - a)


def _points(asset: Any) -> list[tuple[dt.date, Fraction]]:
    if id(asset) not in _known:
        _known[id(asset)] = asset, _worth(asset)
    return _known[id(asset)][1]


_known: dict[int, tuple[Any, list[tuple[dt.date, Fraction]]]] = {}


def _worth(asset: Any) -> list[tuple[dt.date, Fraction]]:
    price, rest = nano(asset.price), nano(asset.residual)
    points = [(asset.in_service, price)]
    if asset.method == "market":
        told = asset.market_values.items()
        return points + sorted((dt.date.fromisoformat(day), nano(v)) for day, v in told)
    life = asset.life_years
    if asset.method == "straight_line":
        return [*points, (_years_on(asset.in_service, life), rest)]
    rate = Fraction(asset.rate_per_year) if asset.rate_per_year else Fraction(2, life)
    left = price
    for year in range(1, life + 1):
        by_rate, evenly = left * rate, (left - rest) / (life - year + 1)
        left = max(rest, left - by_rate if by_rate > evenly else left - evenly)
        points.append((_years_on(asset.in_service, year), left))
    return points


def _years_on(day: dt.date, years: int) -> dt.date:
    leap_day_lost = (day.month, day.day) == (2, 29) and (day.year + years) % 4 != 0
    return dt.date(day.year + years, 3, 1) if leap_day_lost else day.replace(year=day.year + years)


def _written_off(asset: Any, calendar: Calendar) -> Spent:
    start = calendar.midnight(asset.in_service)
    gone = calendar.midnight(asset.retired) if asset.retired else None

    def spent(at: int) -> int:
        if at <= start:
            return 0
        if gone is not None and at > gone:
            return math.floor(nano(asset.price) - nano(asset.proceeds))
        return math.floor(nano(asset.price) - value(asset, calendar, at))

    return spent


def _rented(asset: Any, calendar: Calendar, up: Callable[[int, int], int]) -> Spent:
    start = calendar.midnight(asset.in_service)
    end = calendar.midnight(asset.retired) if asset.retired else None

    def until(at: int) -> int:
        return at if end is None else min(at, end)

    if asset.rate_per_month is not None:
        return lambda at: math.floor(
            nano(asset.rate_per_month) * _months(start, until(at), calendar)
        )
    rate = nano(asset.rate_per_hour)
    if asset.billed == "always":
        return lambda at: math.floor(rate * max(until(at) - start, 0) / HOUR)

    def today(at: int) -> int:
        """Of the local day that ends at or after an instant: a day is floored by itself."""
        day = calendar.midnight(calendar.day(at - 1))
        return math.floor(rate * up(max(day, start), until(at)) / HOUR)

    first = calendar.day(start)
    whole = [0]  # up to the end of each day

    def spent(at: int) -> int:
        days = (calendar.day(at - 1) - first).days
        while len(whole) <= days:
            whole.append(whole[-1] + today(calendar.midnight(first + dt.timedelta(len(whole)))))
        return whole[days] + today(at) if days >= 0 else 0

    return spent


def _months(start: int, end: int, calendar: Calendar) -> Fraction:
    """Whole months and shares of months between two instants."""
    if end <= start:
        return Fraction(0)
    found, month = Fraction(0), calendar.day(start).replace(day=1)
    while calendar.midnight(month) < end:
        following = (month + dt.timedelta(days=31)).replace(day=1)
        a, b = calendar.midnight(month), calendar.midnight(following)
        found += Fraction(min(b, end) - max(a, start), b - a)
        month = following
    return found


def _other(cost: Any, settings: Settings, calendar: Calendar) -> Spent:
    start = calendar.midnight(cost.from_)
    end = calendar.midnight(cost.until) if cost.until else None
    if cost.amount is not None:
        return lambda at: int(nano(cost.amount)) if at > start else 0

    def until(at: int) -> int:
        return at if end is None else min(at, end)

    if cost.per_month is not None:
        return lambda at: math.floor(nano(cost.per_month) * _months(start, until(at), calendar))
    rate = Fraction(cost.per_year_of_capital)
    assets = [_Bound(asset, calendar, start) for asset in settings.hardware]
    return lambda at: math.floor(rate * sum(asset.years(until(at)) for asset in assets))


class _Bound:
    """The capital that an asset binds, in nano-units × years, from `since` on."""

    def __init__(self, asset: Any, calendar: Calendar, since: int) -> None:
        self.asset, self.calendar = asset, calendar
        self.start = max(since, calendar.midnight(asset.in_service))
        self.end = calendar.midnight(asset.retired) if asset.retired else None
        self.whole = [Fraction(0)]  # up to the end of each day

    def years(self, at: int) -> Fraction:
        at = at if self.end is None else min(at, self.end)
        if at <= self.start:
            return Fraction(0)
        first, day = self.calendar.day(self.start), self.calendar.day(at - 1)
        while len(self.whole) <= (day - first).days:
            full = first + dt.timedelta(days=len(self.whole) - 1)
            end = self.calendar.midnight(full + dt.timedelta(days=1))
            self.whole.append(self.whole[-1] + self._part(full, end))
        return self.whole[(day - first).days] + self._part(day, at)

    def _part(self, day: dt.date, end: int) -> Fraction:
        begin, year = self.calendar.midnight(day), day.year
        length = self.calendar.midnight(dt.date(year + 1, 1, 1)) - self.calendar.midnight(
            dt.date(year, 1, 1)
        )
        mean = (value(self.asset, self.calendar, begin) + value(self.asset, self.calendar, end)) / 2
        return mean * Fraction(end - begin, length)
