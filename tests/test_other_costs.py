"""Costs by the month, at once and of capital: by hand, day by day, and on the cards."""

import datetime as dt
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rig import oracle_capital
from rig.assets import assets as random_assets
from rig.assets import other_costs as random_costs

from analytics import other_costs
from analytics.periods import month_of
from collector.settings import Hardware, OtherCost, RigSettings, Settings
from collector.settings_check import faults

NANO = 10**9
FIRST = dt.date(2026, 10, 1)


def settings(cost: dict[str, Any], *assets: dict[str, Any], zone: str = "UTC") -> Settings:
    made = Settings(
        rig=RigSettings(time_zone=zone),
        hardware=[Hardware(**({"name": "box", "in_service": FIRST} | each)) for each in assets],
        other_costs=[OtherCost(**({"name": "cost"} | cost))],
    )
    assert not list(faults(made))
    return made


def spent(made: Settings, first: str, last: str) -> int:
    """From the midnight that begins one day to the midnight that begins another, nano-units."""
    start, end = (made.midnight_ns(dt.date.fromisoformat(day)) for day in (first, last))
    return sum(line.booked(end) - line.booked(start) for line in other_costs.lines(made, end))


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Australia/Lord_Howe"])
def test_every_whole_local_month_costs_the_same(zone: str) -> None:
    made = settings({"per_month": "10"}, zone=zone)
    for name in ("2026-02", "2026-03", "2026-10", "2028-02"):
        span = month_of(name, made.zone)
        (line,) = other_costs.lines(made, span.to_ns)
        assert line.booked(span.to_ns) - line.booked(span.from_ns) == 10 * NANO


def test_a_month_that_is_not_whole_costs_its_elapsed_share() -> None:
    made = settings(
        {"per_month": "31", "from_": dt.date(2026, 10, 16), "until": dt.date(2026, 12, 2)}
    )
    assert spent(made, "2026-10-01", "2026-11-01") == 16 * NANO
    assert spent(made, "2026-11-01", "2026-12-01") == 31 * NANO
    assert spent(made, "2026-12-01", "2027-06-01") == 1 * NANO


def test_an_amount_is_paid_on_its_day() -> None:
    made = settings({"amount": "120.5", "from_": dt.date(2026, 11, 1)})
    assert spent(made, "2026-10-01", "2026-11-01") == 0
    assert spent(made, "2026-11-01", "2026-11-02") == 120_500_000_000
    assert spent(made, "2026-11-02", "2030-01-01") == 0


def test_an_unchanged_value_costs_its_rate_in_every_year_leap_or_not() -> None:
    kept = {"price": "10000", "residual": "10000", "life_years": 9}
    made = settings({"per_year_of_capital": "0.05"}, kept)
    assert spent(made, "2027-01-01", "2028-01-01") == 500 * NANO
    assert spent(made, "2028-01-01", "2029-01-01") == 500 * NANO
    # 92 of 2026's 365 days, since the asset is there; and 31 of 2028's 366.
    assert spent(made, "2026-01-01", "2027-01-01") == 500 * NANO * 92 // 365
    assert spent(made, "2028-01-01", "2028-02-01") in (
        500 * NANO * 31 // 366,
        500 * NANO * 31 // 366 + 1,
    )


def test_capital_costs_by_the_value_that_is_left() -> None:
    # 1461 over 1461 days: 1369 are left when 2027 begins, 92 days on, and 1004 when it ends: 1186.5
    # in the mean, at a tenth a year.
    bought = {"price": "1461", "life_years": 4}
    made = settings({"per_year_of_capital": "0.1"}, bought)
    assert spent(made, "2027-01-01", "2028-01-01") in (118_650_000_000, 118_649_999_999)
    # Sold after half of the year that 2 July begins (182 of 365 days): 1369 falls to 1187, 1278 in
    # the mean, for 182/365 of a year. What it is sold for does not matter.
    sold = bought | {"retired": dt.date(2027, 7, 2), "proceeds": "500"}
    made = settings({"per_year_of_capital": "0.1"}, sold)
    exact = Fraction(1278 * NANO, 10) * Fraction(182, 365)
    assert abs(spent(made, "2027-01-01", "2029-01-01") - exact) < 1
    # Two assets bind what both are worth; one that is rented binds nothing.
    rented = {"method": "rented", "rate_per_hour": "3"}
    both = settings({"per_year_of_capital": "0.1"}, bought, bought, rented)
    assert spent(both, "2027-01-01", "2028-01-01") == 237_300_000_000


def test_no_asset_binds_no_capital() -> None:
    assert spent(settings({"per_year_of_capital": "0.1"}), "2020-01-01", "2030-01-01") == 0


instants = st.integers(1_735_689_600 * NANO, 1_830_297_600 * NANO)  # 2025 to 2027


@given(
    st.randoms(use_true_random=False),
    st.sampled_from(["UTC", "America/New_York", "Australia/Lord_Howe"]),
    st.lists(instants, min_size=1, max_size=4),
)
def test_every_cost_equals_the_second_computation(dice: Any, zone: str, at: list[int]) -> None:
    made = Settings(
        rig=RigSettings(time_zone=zone),
        hardware=random_assets(dice, dt.date(2026, 3, 1), "AB"),
        other_costs=random_costs(dice, dt.date(2026, 3, 1)),
    )
    lines = list(other_costs.lines(made, max(at)))
    second = [each for each in oracle_capital.lines(made, lambda a, b: 0) if each[1] == "other"]
    for line, (name, _, cards, amount) in zip(lines, second, strict=True):
        assert (line.name, line.cards) == (name, tuple(cards))
        assert [line.booked(instant) for instant in at] == [amount(instant) for instant in at]
