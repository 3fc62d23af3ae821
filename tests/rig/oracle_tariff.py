"""Prices, the wall and the host of the second set of books: minute by minute, in fractions.

Written from the definitions, sharing no code with `analytics`.
"""

import datetime as dt
from bisect import bisect_right
from collections import defaultdict
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import floor
from pathlib import Path
from typing import Any

import holidays

SECOND = 1_000_000_000
MINUTE, HOUR, BUCKET = 60 * SECOND, 3600 * SECOND, 900 * SECOND
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
NAMES = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
NANO = 10**9


def half_up(amount: Fraction) -> int:
    return floor(amount + Fraction(1, 2))


def entry_at(settings: Any, at: int) -> Any:
    """The [[electricity]] in force at an instant."""
    local = (EPOCH + dt.timedelta(microseconds=at // 1000)).astimezone(settings.zone).date()
    begun = [entry for entry in settings.electricity if entry.from_ <= local]
    return max(begun, key=lambda entry: entry.from_, default=None)


def price_at(settings: Any, at: int) -> Fraction | None:
    """Currency per kWh at the wall; None where nothing tells it."""
    entry = entry_at(settings, at)
    if entry is None:
        return None
    if entry.series is not None:
        return _series_at(entry.series, at)
    local = (EPOCH + dt.timedelta(microseconds=at // 1000)).astimezone(settings.zone)
    for window in entry.windows:
        if _holds(window, entry, local):
            return Fraction(window.price)
    return None if entry.price_per_kwh is None else Fraction(entry.price_per_kwh)


def _holds(window: Any, entry: Any, local: dt.datetime) -> bool:
    first, last = window.hours.split("-")
    clock = local.hour * 60 + local.minute
    if _minutes(first) < _minutes(last):
        return _minutes(first) <= clock < _minutes(last) and _meant(window, entry, local.date())
    if clock >= _minutes(first):
        return _meant(window, entry, local.date())
    yesterday = local.date() - dt.timedelta(days=1)
    return clock < _minutes(last) and _meant(window, entry, yesterday)


def _minutes(text: str) -> int:
    parts = [int(part) for part in text.split(":")]
    return parts[0] * 60 + (parts[1] if len(parts) > 1 else 0)


def _meant(window: Any, entry: Any, day: dt.date) -> bool:
    for part in window.days.split(","):
        word = part.strip()
        if word == "holidays":
            if day in _calendar(entry.holidays):
                return True
        elif "-" in word:
            first, last = word.split("-")
            week = NAMES[NAMES.index(first) :] + NAMES
            if NAMES[day.weekday()] in week[: week.index(last) + 1]:
                return True
        elif NAMES[day.weekday()] == word:
            return True
    return False


@cache
def _calendar(code: str) -> Any:
    country, _, region = code.partition("-")
    return holidays.country_holidays(country, subdiv=region or None)


_rows: dict[str, list[tuple[int, Fraction]]] = {}


def _series_at(path: str, at: int) -> Fraction | None:
    if path not in _rows:
        lines = [line.split(",") for line in Path(path).read_text().split()]
        per = 1000 if lines[0][1] == "price_per_mwh" else 1
        found = [(dt.datetime.fromisoformat(a), Fraction(p) / per) for a, p in lines[1:]]
        _rows[path] = sorted(((a - EPOCH) // dt.timedelta(seconds=1) * SECOND, p)
                              for a, p in found)  # fmt: skip
    rows = _rows[path]
    index = bisect_right(rows, at, key=lambda row: row[0]) - 1
    if index < 0:
        return None
    around = [b[0] - a[0] for a, b in pairwise(rows[max(index - 1, 0) : index + 2])]
    return rows[index][1] if at < rows[index][0] + min([HOUR, *around]) else None


def minutes(start: int, end: int) -> list[tuple[int, int]]:
    """[start, end) cut at whole minutes."""
    inner = range((start // MINUTE + 1) * MINUTE, end, MINUTE)
    return list(pairwise([start, *inner, end]))


def at_the_wall(settings: Any, at: int) -> Fraction:
    """What is paid for per unit of energy behind the power supply."""
    entry = entry_at(settings, at)
    if entry is None:
        return Fraction(1)
    return Fraction(entry.overhead) / Fraction(entry.psu_efficiency)


def money(settings: Any, energy_uj: int, start: int, end: int) -> int:
    """Nano-units for energy drawn evenly over [start, end) of one bucket, rounded half up."""
    total = Fraction(0)
    for a, b in minutes(start, end):
        price = price_at(settings, a)
        share = Fraction(energy_uj * (b - a), end - start)
        total += share * (price or 0) * NANO / 3_600_000_000_000
    return half_up(total * at_the_wall(settings, start))


def unpriced(settings: Any, energy_uj: int, start: int, end: int) -> int:
    """The part of it without a price, µJ."""
    without = sum(b - a for a, b in minutes(start, end) if price_at(settings, a) is None)
    return half_up(Fraction(energy_uj * without, end - start))


class Wall:
    """What the meters told within a set of books."""

    def __init__(self, books: Any) -> None:
        self.books = books
        names = {meter.name for meter in books.settings.meters}
        self.told = {
            name: [
                (a, b, energy) for a, b, _, energy, _ in books.told(name, 100_000_000, coarse=True)
            ]
            for name in names
        }
        self.energy: dict[int, int] = defaultdict(int)
        self.ns: dict[int, int] = defaultdict(int)
        edges = {t for own in self.told.values() for a, b, _ in own for t in (a, b)}
        low, high = books.start, books.end
        edges |= {low, high, *range(low // BUCKET * BUCKET + BUCKET, high, BUCKET)}
        for a, b in pairwise(sorted(t for t in edges if low <= t <= high)):
            if self.known(a):
                self.ns[a // BUCKET * BUCKET] += b - a
                self.energy[a // BUCKET * BUCKET] += sum(
                    self._between(name, a, b) for name in self.in_force(a)
                )
        self.ends = self._ends()

    def in_force(self, at: int) -> list[str]:
        """The meters declared for an instant."""
        settings = self.books.settings
        local = (EPOCH + dt.timedelta(microseconds=at // 1000)).astimezone(settings.zone).date()
        found = []
        for name in sorted(self.told):
            begun = [m for m in settings.meters if m.name == name and m.from_ <= local]
            if begun:
                latest = max(begun, key=lambda m: m.from_)
                if latest.until is None or local < latest.until:
                    found.append(name)
        return found

    def known(self, at: int) -> bool:
        """Whether every meter in force was read over an instant."""
        names = self.in_force(at)
        return bool(names) and all(self._around(name, at) for name in names)

    def _around(self, name: str, at: int) -> tuple[int, int, int] | None:
        """The interval of a meter that an instant lies in."""
        own = self.told[name]
        index = bisect_right(own, at, key=lambda told: told[0]) - 1
        return own[index] if index >= 0 and at < own[index][1] else None

    def _between(self, name: str, start: int, end: int) -> int:
        found = self._around(name, start)
        assert found is not None
        a, b, energy = found
        return energy * (end - a) // (b - a) - energy * (start - a) // (b - a)

    def waits(self, at: int) -> bool:
        """Whether an instant lies at the present end, before a reading that is not yet due."""
        end = self.books.end
        known = [b for b in self.ends if b <= end]
        if end % BUCKET == 0 or not known or at < max(known):
            return False
        usual = max(b - a for own in self.told.values() for a, b, _ in own if b == max(known))
        return end - max(known) <= 3 * usual

    def _ends(self) -> list[int]:
        """Where the wall was known up to an instant, within the books."""
        edges = {t for own in self.told.values() for a, b, _ in own for t in (a, b)}
        cuts = sorted({t for t in edges if self.books.start <= t <= self.books.end}
                      | {self.books.start, self.books.end})  # fmt: skip
        return [b for a, b in pairwise(cuts) if self.known(a)]


def host(books: Any) -> dict[bool, dict[tuple[str, int, str], int]]:
    """The host's energy by (card, bucket, state), declared (False) and metered (True); that of
    the time in which no card serves is of no card."""
    time: dict[tuple[bool, int], dict[tuple[str, int, str], int]] = defaultdict(
        lambda: defaultdict(int)
    )
    whole: dict[tuple[bool, int], set[tuple[int, int]]] = defaultdict(set)
    alive = books.alive()
    for card, a, b, state in [*_served(books), *_bare(books)]:
        metered = books.wall.known(a)
        counts = metered or (alive(a) and not books.host_off(a) and not books.wall.waits(a))
        if books.within(a) and counts:
            time[metered, a // BUCKET * BUCKET][card, a // BUCKET * BUCKET, state] += b - a
            whole[metered, a // BUCKET * BUCKET].add((a, b))
    found: dict[bool, dict[tuple[str, int, str], int]] = {False: {}, True: {}}
    for (metered, bucket), places in time.items():
        ns = sum(b - a for a, b in whole[metered, bucket])
        amount = _measured(books, bucket) if metered else _declared(books, bucket, ns)
        if amount is not None:
            found[metered] |= books.share_out(amount, places)
    return found


def _served(books: Any) -> list[tuple[str, int, int, str]]:
    return [(card, *segment) for card in books.cards for segment in books.segments[card]]


def _bare(books: Any) -> list[tuple[str, int, int, str]]:
    """The time in which no card serves, cut at every edge."""
    edges = sorted(e for e in books.edges() if books.start <= e <= books.end)
    return [
        ("", a, b, "unassigned")
        for a, b in pairwise(edges)
        if not any(books.serves(card, a) for card in books.cards)
    ]


def _declared(books: Any, bucket: int, ns: int) -> int | None:
    entry = entry_at(books.settings, bucket)
    watts = None if entry is None else entry.host_watts
    return None if watts is None else watts * ns // 1000


def _measured(books: Any, bucket: int) -> int:
    entry = entry_at(books.settings, bucket)
    efficiency = Fraction(1) if entry is None else Fraction(entry.psu_efficiency)
    cards = sum(uj for (_, at, _), uj in books.energy.items() if at == bucket)
    length = min(bucket + BUCKET, books.end) - max(bucket, books.start)
    part = half_up(Fraction(cards * books.wall.ns[bucket], length))
    return half_up(books.wall.energy[bucket] * efficiency) - part
