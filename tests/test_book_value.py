"""What assets cost: worked by hand for each method, and what must hold for any of them."""

import datetime as dt
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rig import oracle_capital
from rig.assets import assets as random_assets

from analytics import capital
from analytics.book_value import book_value
from analytics.intervals import EMPTY
from analytics.lines import Line, by_card
from analytics.periods import month_of
from collector.settings import Hardware, RigSettings, Settings
from collector.settings_check import faults

NANO = 10**9
HOUR_NS = 3_600 * NANO
BUCKET_NS = 900 * NANO
ALWAYS = np.array([[0, 2**62]], dtype=np.int64)
RIG: dict[str, Any] = {"name": "box", "price": "17000", "in_service": dt.date(2026, 10, 1)}


def settings(asset: dict[str, Any], zone: str = "UTC") -> Settings:
    made = Settings(rig=RigSettings(time_zone=zone), hardware=[Hardware(**(RIG | asset))])
    assert not list(faults(made))
    return made


def spent(made: Settings, from_ns: int, to_ns: int, up: Any = ALWAYS) -> int:
    """What the assets cost from one instant to another, nano-units."""
    lines = list(capital.lines(made, up, to_ns))
    return sum(line.booked(to_ns) - line.booked(from_ns) for line in lines)


def month(made: Settings, name: str) -> int:
    span = month_of(name, made.zone)
    return spent(made, span.from_ns, span.to_ns)


def days(made: Settings, first: str, last: str) -> int:
    """From the midnight that begins one day to the midnight that begins another."""
    bounds = (made.midnight_ns(dt.date.fromisoformat(day)) for day in (first, last))
    return spent(made, *bounds)


def test_october_of_17000_over_four_years_is_about_361() -> None:
    # 2026-10-01 to 2030-10-01 are 4·365 + 1 = 1461 days (29 February 2028); 17000 · 31 / 1461.
    made = settings({"life_years": 4})
    assert month(made, "2026-10") == 17_000 * NANO * 31 // 1461 == 360_711_841_204
    # Twelve months of 31, 30 … days add up to 365 of the 1461 days.
    year = [f"2026-{n}" for n in (10, 11, 12)] + [f"2027-{n:02}" for n in range(1, 10)]
    assert sum(month(made, name) for name in year) == 17_000 * NANO * 365 // 1461
    assert month(made, "2026-09") == month(made, "2030-10") == 0


def test_a_life_that_begins_on_29_february_ends_on_1_march() -> None:
    # 2028-02-29 to 2029-03-01: 366 days, 1 each. February has one day of it, March 2028 31.
    made = settings({"price": "366", "in_service": dt.date(2028, 2, 29), "life_years": 1})
    assert month(made, "2028-02") == 1 * NANO
    assert month(made, "2028-03") == 31 * NANO
    assert month(made, "2029-02") == 28 * NANO
    assert month(made, "2029-03") == 0
    # A life of four years ends on the 29 February that there is, 1461 days on: 31 of January and
    # 28 of February lie in 2032.
    made = settings({"price": "1461", "in_service": dt.date(2028, 2, 29), "life_years": 4})
    assert days(made, "2032-01-01", "2032-02-29") == 59 * NANO
    assert days(made, "2032-02-29", "2033-01-01") == 0


@pytest.mark.parametrize(
    ("zone", "in_service", "life_hours", "name", "hours"),
    [
        # Two years from 1 March 2026 with one 29 February: 731 days, 17,544 h.
        ("Europe/Berlin", dt.date(2026, 3, 1), 17_544, "2026-03", 743),
        ("Europe/Berlin", dt.date(2026, 3, 1), 17_544, "2026-10", 745),
        ("America/New_York", dt.date(2026, 3, 1), 17_544, "2026-11", 721),
        ("America/New_York", dt.date(2026, 3, 1), 17_544, "2026-04", 720),
    ],
)
def test_a_month_is_as_long_as_its_clocks_say(
    zone: str, in_service: dt.date, life_hours: int, name: str, hours: int
) -> None:
    asset = {"price": str(life_hours), "in_service": in_service, "life_years": 2}
    assert month(settings(asset, zone), name) == hours * NANO


def test_the_declining_balance_ends_exactly_at_the_residual() -> None:
    # 17,000 at 2/4 a year: 8500, 4250, then 4250/2 = 2125 either way, then all that is left.
    made = settings({"life_years": 4, "method": "declining_balance"})
    bounds = ["2026-10-01", "2027-10-01", "2028-10-01", "2029-10-01", "2030-10-01"]
    years = [days(made, *pair) for pair in pairwise(bounds)]
    assert years == [8500 * NANO, 4250 * NANO, 2125 * NANO, 2125 * NANO]
    # Within a year of life by elapsed time: 8500 · 31/365.
    assert month(made, "2026-10") == 8500 * NANO * 31 // 365
    # 10,000 to 1000 in five years at 0.4: 4000, 2400, 1440 (a third of 2600 is less), 864 (half
    # of 1160 is less), and the 296 that are left above the residual, not 0.4 · 1296 = 518.4.
    declared = {"price": "10000", "life_years": 5, "residual": "1000", "rate_per_year": "0.4"}
    made = settings({"method": "declining_balance"} | declared)
    bounds.append("2031-10-01")
    years = [days(made, *pair) for pair in pairwise(bounds)]
    assert years == [4000 * NANO, 2400 * NANO, 1440 * NANO, 864 * NANO, 296 * NANO]
    # 4000 in four years at 0.1: an equal part of what is left, 1000, is always more.
    made = settings(
        {"price": "4000", "life_years": 4, "method": "declining_balance", "rate_per_year": "0.1"}
    )
    years = [days(made, *pair) for pair in pairwise(bounds[:5])]
    assert years == [1000 * NANO] * 4


def test_the_market_tells_the_drop_and_the_rise() -> None:
    # January to June are 181 days: 10,000 to 8190 is 10 a day. Then ten days up by 10 each.
    values = {"2026-07-11": "8290", "2026-07-01": "8190"}
    made = settings(
        {
            "price": "10000",
            "in_service": dt.date(2026, 1, 1),
            "method": "market",
            "market_values": values,
        }
    )
    assert month(made, "2026-01") == 310 * NANO
    assert days(made, "2026-06-30", "2026-07-01") == 10 * NANO
    assert days(made, "2026-07-01", "2026-07-11") == -100 * NANO
    assert days(made, "2026-07-11", "2030-01-01") == 0


@pytest.mark.parametrize(
    ("retired", "proceeds", "before", "loss"),
    [
        # 1461 over 1461 days is 1 a day. October to February are 151 days, so 1310 are left.
        (dt.date(2027, 3, 1), "1000", 151, 310),
        (dt.date(2027, 3, 15), "1000", 165, 296),
        (dt.date(2027, 3, 15), "0", 165, 1296),
        (dt.date(2027, 3, 15), "1400", 165, -104),
        (dt.date(2031, 1, 1), "20", 1461, -20),  # after its life: nothing was left
    ],
)
def test_the_rest_of_the_value_goes_at_the_instant_of_retirement(
    retired: dt.date, proceeds: str, before: int, loss: int
) -> None:
    made = settings({"price": "1461", "life_years": 4, "retired": retired, "proceeds": proceeds})
    end = made.midnight_ns(retired)
    assert spent(made, 0, end) == before * NANO
    assert spent(made, end, end + BUCKET_NS) == loss * NANO
    assert spent(made, end + 1, end + 10 * 365 * 24 * HOUR_NS) == 0
    # It belongs to the month that begins then, or that it lies in.
    name = f"{retired:%Y-%m}"
    elapsed = max(0, retired.day - 1) if retired.year == 2027 else 0
    assert month(made, name) == (elapsed + loss) * NANO


def test_an_hourly_rent_runs_by_the_hour_until_it_is_handed_back() -> None:
    rented = {"price": None, "method": "rented", "rate_per_hour": "1.2"}
    made = settings(rented | {"in_service": dt.date(2026, 3, 1)}, "Europe/Berlin")
    assert month(made, "2026-03") == 743 * 1_200_000_000
    made = settings(rented | {"retired": dt.date(2026, 10, 16)})
    assert month(made, "2026-10") == 15 * 24 * 1_200_000_000
    assert month(made, "2026-11") == 0


def test_a_monthly_rent_is_the_elapsed_share_of_each_local_month() -> None:
    rented = {"price": None, "method": "rented", "rate_per_month": "310"}
    made = settings(rented | {"in_service": dt.date(2026, 10, 15)}, "Europe/Berlin")
    # October 2026 has 745 h in Berlin; from the 15th on 17 days and one hour more: 409 h.
    assert month(made, "2026-10") == 310 * NANO * 409 // 745
    # A whole month costs the rate, but for the nano that October's floor left.
    assert month(made, "2026-11") in (310 * NANO, 310 * NANO + 1)
    made = settings(rented | {"retired": dt.date(2027, 2, 15)})
    assert month(made, "2027-02") == 155 * NANO


def test_a_rent_while_up_counts_only_the_time_that_the_host_is_known_up() -> None:
    rented = {"price": None, "method": "rented", "rate_per_hour": "2.4", "billed": "while_up"}
    made = settings(rented)
    noon = made.midnight_ns(dt.date(2026, 10, 2)) + 12 * HOUR_NS
    up = np.array([[noon, noon + HOUR_NS], [noon + 2 * HOUR_NS, noon + 7 * HOUR_NS // 2]])
    # One hour and one and a half, at 2.40 each.
    assert spent(made, noon - HOUR_NS, noon + 20 * HOUR_NS, up) == 6 * NANO
    assert spent(made, noon + 3 * HOUR_NS, noon + 4 * HOUR_NS, up) == 1_200_000_000
    assert spent(made, noon, noon + HOUR_NS, EMPTY) == 0


def test_each_day_of_a_rent_while_up_costs_the_same_whatever_is_read_with_it() -> None:
    rented = {"price": None, "method": "rented", "rate_per_hour": "0.000000007"}
    made = settings(rented | {"billed": "while_up"})
    midnight = made.midnight_ns(dt.date(2026, 10, 2))
    # A quarter of an hour up on each of two days: 1.75 nano each, floored by itself.
    up = np.array(
        [[midnight + n * 24 * HOUR_NS, midnight + n * 24 * HOUR_NS + BUCKET_NS] for n in (0, 1)]
    )
    assert spent(made, midnight, midnight + 48 * HOUR_NS, up) == 1 + 1
    assert spent(made, midnight + 24 * HOUR_NS, midnight + 48 * HOUR_NS, up[1:]) == 1


@st.composite
def cases(draw: st.DrawFn) -> Settings:
    """An asset of any method, or several, in some zone."""
    zone = draw(st.sampled_from(["UTC", "Europe/Berlin", "Australia/Lord_Howe", "Asia/Kathmandu"]))
    dice = draw(st.randoms(use_true_random=False))
    made = random_assets(dice, dt.date(2026, 3, 1), "AB")
    return Settings(rig=RigSettings(time_zone=zone), hardware=made)


EPOCH_2024, EPOCH_2034 = 1_704_067_200 * NANO, 2_019_686_400 * NANO
instants = st.integers(EPOCH_2024, EPOCH_2034)


@given(cases(), st.lists(instants, min_size=2, max_size=12), st.data())
def test_any_cut_of_a_span_adds_up(made: Settings, cuts: list[int], data: st.DataObject) -> None:
    cuts = sorted(at // BUCKET_NS * BUCKET_NS for at in cuts)
    lines = list(capital.lines(made, ALWAYS, cuts[-1]))
    whole = sum(line.booked(cuts[-1]) - line.booked(cuts[0]) for line in lines)
    weights = st.integers(0, BUCKET_NS)
    capacity = pl.DataFrame(
        [(card, at, data.draw(weights)) for card in "AB" for at in dict.fromkeys(cuts[:-1])],
        schema={"card": pl.String, "bucket_ns": pl.Int64, "ns": pl.Int64},
        orient="row",
    )
    assert total(lines, capacity, cuts) == whole
    # Leaving bounds out moves cost between buckets and changes no total.
    assert total(lines, capacity, [cuts[0], cuts[-1]]) == whole


def total(lines: Sequence[Line], capacity: pl.DataFrame, bounds: list[int]) -> int:
    assigned, unassigned = by_card(lines, capacity, bounds)
    return int(assigned["nano"].sum()) + int(unassigned["nano"].sum())


@given(cases())
def test_a_whole_life_costs_the_price_less_what_comes_back(made: Settings) -> None:
    for asset in made.hardware:
        alone = Settings(rig=made.rig, hardware=[asset])
        life = spent(alone, 0, EPOCH_2034)
        if asset.retired is not None and asset.method != "rented":
            assert life == asset.price_nano - asset.proceeds_nano
        elif asset.method in ("straight_line", "declining_balance"):
            assert life == asset.price_nano - asset.residual_nano
        elif asset.method == "market":
            assert life == asset.price_nano - asset.valued[-1][1]


@given(cases(), instants, instants)
def test_value_never_rises_but_by_the_market_and_never_falls_below_the_residual(
    made: Settings, one: int, other: int
) -> None:
    early, late = sorted((one, other))
    for asset in made.hardware:
        if asset.method not in ("straight_line", "declining_balance"):
            continue
        value = book_value(asset, made)
        if early >= made.midnight_ns(asset.in_service):
            assert value.upto(late) <= value.since(early)
        alive = asset.retired is None or late < made.midnight_ns(asset.retired)
        if alive and late > made.midnight_ns(asset.in_service):
            assert asset.residual_nano <= value.upto(late) <= asset.price_nano


@given(cases(), st.lists(instants, min_size=1, max_size=5))
def test_every_method_equals_the_second_computation(made: Settings, at: list[int]) -> None:
    lines = list(capital.lines(made, ALWAYS, EPOCH_2034))
    second = list(oracle_capital.lines(made, lambda a, b: max(b - a, 0)))
    for line, (name, category, cards, amount) in zip(lines, second, strict=True):
        assert (line.name, line.category, list(line.cards)) == (name, category, cards)
        assert [line.booked(instant) for instant in at] == [amount(instant) for instant in at]


def test_an_unchanged_value_is_known_exactly() -> None:
    made = settings({"life_years": 3, "residual": "17000"})
    assert book_value(made.hardware[0], made).upto(EPOCH_2034) == Fraction(17_000 * NANO)
    assert spent(made, 0, EPOCH_2034) == 0
