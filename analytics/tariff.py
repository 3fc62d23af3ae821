"""What a kWh costs in each 15-minute bucket: flat, by windows of the local day, or by a series.

A window holds where the local clock shows its hours: an hour that the clocks live through twice
counts twice, one that they skip not at all. It belongs to the day on which it begins, so that a
Friday's 22-6 ends on Saturday at 6. The first window that holds counts, whatever comes after it.
Where a price changes inside a bucket, the bucket's energy is split by time.
"""

import datetime as dt
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

from analytics.states import BUCKET_NS
from collector.clock import SECOND_NS, from_ns
from collector.price_series import PriceSeries
from collector.settings import Electricity, Settings
from collector.settings_power import HOLIDAYS, WEEKDAYS, Window

MINUTE_NS = 60 * SECOND_NS
UJ_PER_KWH = 3_600_000_000_000
Piece = tuple[int, int | None]  # ns, nano-units per kWh (None: no price is known)


@dataclass(frozen=True)
class Rate:
    """What holds in one bucket, or in the part of it that has passed.

    A µJ that comes out of the power supply costs `nano` ÷ `per` nano-units, where energy without
    a price costs nothing; `unpriced_ns` of `ns` have none. `entry` is the declaration in force.
    """

    nano: int = 0
    per: int = 1
    ns: int = 1
    unpriced_ns: int = 1
    entry: Electricity | None = None

    def money_nano(self, energy_uj: int) -> int:
        """The price of energy behind the power supply, rounded half up."""
        return (2 * energy_uj * self.nano + self.per) // (2 * self.per)

    def unpriced_uj(self, energy_uj: int) -> int:
        """The part of it that has no price, rounded half up."""
        return (2 * energy_uj * self.unpriced_ns + self.ns) // (2 * self.ns)

    def carbon_ug(self, energy_uj: int) -> int | None:
        """Its emissions, µg, rounded half up; None where the grid's carbon is not declared."""
        if self.entry is None or self.entry.carbon_g_per_kwh is None:
            return None
        per = UJ_PER_KWH * self.entry.psu_efficiency_e4
        product = energy_uj * self.entry.carbon_g_per_kwh * 1_000_000 * self.entry.overhead_e4
        return (2 * product + per) // (2 * per)


NO_RATE = Rate()
Series = Mapping[str, PriceSeries]


def rates(settings: Settings, series: Series, bounds: Sequence[int]) -> dict[int, Rate]:
    """The rate of every bucket, by its start; `bounds` are the buckets' bounds, both ends cut.

    `series` has the content of every price series that the settings name.
    """
    entries = sorted(settings.electricity, key=lambda entry: entry.from_)
    since = [settings.midnight_ns(entry.from_) for entry in entries]
    found = {}
    for start, end in pairwise(bounds):
        number = bisect_right(since, start) - 1
        if number >= 0:
            pieces = list(prices(entries[number], settings, series, start, end))
            found[start // BUCKET_NS * BUCKET_NS] = _rate(entries[number], pieces)
    return found


def prices(
    entry: Electricity, settings: Settings, series: Series, start: int, end: int
) -> Iterator[Piece]:
    """The prices of an entry within one bucket [start, end), in order; Σ ns is its length."""
    if entry.series is not None:
        yield from _of_series(series[entry.series], start, end)
    elif entry.windows:
        yield from _of_windows(entry, settings, start, end)
    else:
        yield end - start, entry.price_nano_per_kwh


def _rate(entry: Electricity, pieces: Sequence[Piece]) -> Rate:
    ns = sum(length for length, _ in pieces)
    weighted = sum(length * price for length, price in pieces if price is not None)
    return Rate(
        nano=weighted * entry.overhead_e4,
        per=ns * entry.psu_efficiency_e4 * UJ_PER_KWH,
        ns=ns,
        unpriced_ns=sum(length for length, price in pieces if price is None),
        entry=entry,
    )


def _of_series(series: PriceSeries, start: int, end: int) -> Iterator[Piece]:
    number = max(bisect_right(series.starts_ns, start) - 1, 0)
    at = start
    while at < end:
        while number < len(series.starts_ns) and series.ends_ns[number] <= at:
            number += 1
        begins = series.starts_ns[number] if number < len(series.starts_ns) else end
        if begins > at:
            stop, price = min(begins, end), None
        else:
            stop, price = min(series.ends_ns[number], end), series.prices_nano[number]
        yield stop - at, price
        at = stop


def _of_windows(entry: Electricity, settings: Settings, start: int, end: int) -> Iterator[Piece]:
    """Within a bucket the offset from UTC does not change, so the local clock runs evenly."""
    bucket = start // BUCKET_NS * BUCKET_NS
    local = from_ns(bucket).astimezone(settings.zone)
    first = local.hour * 60 + local.minute
    marks = {mark for window in entry.windows for mark in window.minutes}
    inner = sorted(mark - first for mark in marks if 0 < mark - first < BUCKET_NS // MINUTE_NS)
    cuts = [start, *(bucket + minute * MINUTE_NS for minute in inner), end]
    days = _kinds(local.date(), entry.holidays), _kinds(_before(local.date()), entry.holidays)
    for a, b in pairwise(cuts):
        low, high = max(a, start), min(b, end)
        if high > low:
            yield high - low, _price(entry, *days, first + (low - bucket) // MINUTE_NS)


def _price(
    entry: Electricity, today: frozenset[str], yesterday: frozenset[str], minute: int
) -> int | None:
    """The price at a minute of the local day, by what kinds of day today and yesterday are."""
    for window in entry.windows:
        begins, ends, kinds, price = _declared(window)
        if begins < ends:
            holds = bool(kinds & today) and begins <= minute < ends
        else:
            late = bool(kinds & today) and minute >= begins
            holds = late or (bool(kinds & yesterday) and minute < ends)
        if holds:
            return price
    return entry.price_nano_per_kwh


@cache
def _declared(window: Window) -> tuple[int, int, frozenset[str], int]:
    return *window.minutes, window.kinds, window.price_nano_per_kwh


def _kinds(day: dt.date, code: str | None) -> frozenset[str]:
    """What windows call a day: its weekday, and `holidays` where it is one."""
    name = {WEEKDAYS[day.weekday()]}
    if code is not None and day in _calendar(code, day.year):
        name.add(HOLIDAYS)
    return frozenset(name)


@cache
def _calendar(code: str, year: int) -> Any:
    from holidays import country_holidays  # noqa: PLC0415 (few need it, and it is slow)

    country, _, region = code.partition("-")
    return country_holidays(country, subdiv=region or None, years=year)


def _before(day: dt.date) -> dt.date:
    return day - dt.timedelta(days=1)
