"""Months and days in their zone: the hours are those of the almanac."""

import datetime as dt
from zoneinfo import ZoneInfo

import pytest

from analytics.periods import day_at, month_at, month_before, month_of
from collector.clock import to_ns

HOUR_NS = 3_600_000_000_000


@pytest.mark.parametrize(
    ("name", "zone", "hours"),
    [
        ("2026-03", "Europe/Berlin", 743),
        ("2026-10", "Europe/Berlin", 745),
        ("2026-03", "America/New_York", 743),
        ("2026-11", "America/New_York", 721),
        ("2026-10", "Australia/Lord_Howe", 743.5),
        ("2026-04", "Australia/Lord_Howe", 720.5),
        ("2028-02", "UTC", 696),
        ("2026-12", "Asia/Kathmandu", 744),
    ],
)
def test_a_month_has_the_hours_of_its_zone(name: str, zone: str, hours: float) -> None:
    period = month_of(name, ZoneInfo(zone))
    assert period.to_ns - period.from_ns == hours * HOUR_NS


def test_months_meet_without_gap_or_overlap() -> None:
    zone = ZoneInfo("America/Los_Angeles")
    period = month_of("2026-12", zone)
    before = month_before(period, zone)
    assert (before.name, before.to_ns) == ("2026-11", period.from_ns)
    assert month_at(period.from_ns, zone) == period
    assert month_at(period.from_ns - 1, zone) == before
    assert month_at(period.to_ns, zone).name == "2027-01"


def test_a_local_day_starts_at_local_midnight() -> None:
    zone = ZoneInfo("Europe/Berlin")
    day = day_at(to_ns(dt.datetime(2026, 3, 29, 12, tzinfo=dt.UTC)), zone)
    assert day.name == "2026-03-29"
    assert day.to_ns - day.from_ns == 23 * HOUR_NS


@pytest.mark.parametrize("name", ["2026", "2026-13", "2026-1", "last", "2026-10-01"])
def test_anything_else_is_refused_with_an_example(name: str) -> None:
    with pytest.raises(ValueError, match="YYYY-MM"):
        month_of(name, ZoneInfo("UTC"))
