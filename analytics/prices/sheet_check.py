"""What no single field of a sheet can tell: periods out of order, zones and countries unknown."""

from collections.abc import Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from analytics.prices.conditions import knows_holidays
from analytics.prices.sheet import Override, Period, Prices, Sheet, When
from collector.settings_check import Fault

Path = tuple[str | int, ...]


def faults(sheets: list[Sheet]) -> Iterator[Fault]:
    """Every contradiction in the sheets of one file, in their order."""
    names: set[str] = set()
    for number, sheet in enumerate(sheets):
        path: Path = ("sheets", number)
        for name in (sheet.id, *sheet.aliases):
            if name in names:
                key = "id" if name == sheet.id else "aliases"
                remedy = "give each sheet names of its own; new prices are a new period of it"
                yield Fault((*path, key), f"{name!r} is the name of another sheet", remedy)
            names.add(name)
        if sheet.tokenizer_ratio.strip("0.") == "":
            remedy = "write the provider's tokens for each of yours, 1 where they are the same"
            yield Fault((*path, "tokenizer_ratio"), "a ratio of 0", remedy)
        yield from _periods(sheet.periods, path)


def _periods(periods: list[Period], path: Path) -> Iterator[Fault]:
    for number, period in enumerate(periods):
        here = (*path, "periods", number)
        before = periods[number - 1] if number else None
        if before and period.from_ is None:
            yield Fault((*here, "from"), "missing", "say from which instant these prices count")
        elif before and period.from_ and _overlap(before, period.from_):
            remedy = "put the periods in order, and end each before the next begins"
            yield Fault((*here, "from"), f"{_told(period.from_)} lies in the period before", remedy)
        if period.from_ and period.to and period.to <= period.from_:
            yield Fault((*here, "to"), "this period ends before it begins", "write a later instant")
        if period.input is None and period.output is None:
            remedy = "write its prices per million tokens in quotes"
            yield Fault((*here, "input"), "neither input nor output has a price", remedy)
        for index, override in enumerate(period.overrides):
            yield from _override(override, (*here, "overrides", index))


def _overlap(before: Period, start: datetime) -> bool:
    if before.to is not None:
        return start < before.to
    return before.from_ is not None and start <= before.from_


def _told(instant: datetime) -> str:
    return f"{instant.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _override(override: Override, path: Path) -> Iterator[Fault]:
    if override.set == Prices() and not override.multiply:
        remedy = 'say what it changes: set = {input = "…"} or multiply = {"*" = "…"}'
        yield Fault(path, "this override changes nothing", remedy)
    if override.when == When():
        remedy = "say when it counts, or write its prices into the period"
        yield Fault((*path, "when"), "this override has no condition", remedy)
    if override.set.storage_mtok_hour is not None:
        remedy = "write it into the period"
        yield Fault((*path, "set"), "the price of storage has no conditions", remedy)
    yield from _when(override.when, (*path, "when"))


def _when(when: When, path: Path) -> Iterator[Fault]:
    for key, zone in (("tz", when.tz), ("day_tz", when.day_zone)):
        try:
            ZoneInfo(zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            remedy = 'write it like "Asia/Shanghai"'
            yield Fault((*path, key), f"{zone!r} is no time zone", remedy)
    for key, country in (
        ("holidays", when.holidays),
        ("except_holidays", when.except_holidays),
    ):
        if country is not None and not knows_holidays(country):
            remedy = 'write the two letters of a country, like "CN"'
            yield Fault((*path, key), f"the holidays of {country!r} are not known", remedy)
    for window in when.windows:
        start, _, end = window.partition("-")
        if start == end:
            remedy = "leave the windows out where the whole day counts"
            yield Fault((*path, "windows"), f"{window} has no length", remedy)
