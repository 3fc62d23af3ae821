"""What-ifs of the worked day of docs/definitions.md, by hand; and against other computations."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from rig.ledger import START
from rig.worked_day import shelf_of

from analytics.breakeven import Bought, UsedDay, break_even
from analytics.comparison import comparison
from analytics.estimate import Assumptions, Purchase, estimate
from analytics.periods import day_at
from analytics.used_day import beside
from analytics.what_if import Change, average_day, changed, figures, levels, parsed

PAGE = (Path(__file__).parent.parent / "docs/definitions.md").read_text(encoding="utf-8")
BILL_NANO = 751_200_000
BILL = {
    "headline_nano": BILL_NANO,
    "headline_bound": "exactly",
    "headline_nano_per_mtok": BILL_NANO,
}
NO_BILL = dict.fromkeys(BILL)
MILLION = 1_000_000


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[UsedDay, dict[str, Any]]:
    """The average day, and what `compare` tells of the same day."""
    shelf = shelf_of(PAGE, tmp_path_factory.mktemp("worked"))
    period = day_at(START, shelf.settings.zone)
    day = average_day(shelf, period)
    assert day is not None
    return day, comparison(shelf, period, ["an API"])


def test_without_a_change_it_tells_what_compare_tells(
    found: tuple[UsedDay, dict[str, Any]],
) -> None:
    day, told = found
    (sheet,) = told["sheets"]
    here = figures(day, sheet, Change())
    assert sheet["headline_nano"] == BILL_NANO
    assert here["cost_nano"] == told["cost_nano"]["full"] == 25_080_000_000
    assert here["full_nano_per_mtok"] == told["per_mtok_nano"]["full"]
    assert here["bill_nano"] == sheet["headline_nano"]
    assert here["bill_nano_per_mtok"] == sheet["headline_nano_per_mtok"]
    assert here["saved_nano"] == sheet["savings_full_nano"]
    assert here["break_even"] == sheet["break_even"]


@pytest.mark.parametrize(
    ("change", "cost", "tokens"),
    [
        # The box 24, energy without work 0.96, and 0.12 for the two hours of work.
        ({}, "25.08", 1),
        ({"hours_per_day": "4"}, "25.20", 2),
        ({"hours_per_day": "1"}, "25.02", "0.5"),
        ({"hardware_price": "17532"}, "13.08", 1),
        ({"hardware_price": "0"}, "1.08", 1),
        ({"price_per_kwh": "0.40"}, "26.16", 1),
        ({"price_per_kwh": "0"}, "24", 1),
        # 12, 1.92, and 0.48 for four hours.
        ({"hours_per_day": "4", "hardware_price": "17532", "price_per_kwh": "0.4"}, "14.40", 2),
    ],
)
def test_a_day_by_hand(
    found: tuple[UsedDay, dict[str, Any]], change: dict[str, str], cost: str, tokens: float | str
) -> None:
    here = figures(found[0], BILL, parsed(change))
    cost_nano = int(Fraction(cost) * 10**9)
    bill_nano = int(BILL_NANO * Fraction(tokens))
    assert here["cost_nano"] == cost_nano
    assert here["full_nano_per_mtok"] == cost_nano / Fraction(tokens)
    assert here["bill_nano"] == bill_nano
    assert here["bill_nano_per_mtok"] == BILL_NANO
    assert here["saved_nano"] == bill_nano - cost_nano
    assert {name: here[name] for name in change} == {n: float(v) for n, v in change.items()}


def test_what_a_month_was_measured_with(found: tuple[UsedDay, dict[str, Any]]) -> None:
    was = levels(found[0])
    told = (was.hours_per_day, was.hardware_price, was.price_per_kwh)
    assert told == (2, 35064, Fraction(1, 5))
    here = figures(found[0], BILL, Change())
    assert [here[n] for n in ("hours_per_day", "hardware_price", "price_per_kwh")] == [
        2,
        35064,
        0.2,
    ]


def test_an_unknown_bill_leaves_own_cost(found: tuple[UsedDay, dict[str, Any]]) -> None:
    here = figures(found[0], NO_BILL, parsed({"hours_per_day": "4"}))
    assert here["cost_nano"] == 25_200_000_000
    for unknown in ("bill_nano", "bill_nano_per_mtok", "saved_nano", "break_even"):
        assert here[unknown] is None


def test_a_day_without_known_hours_is_refused(found: tuple[UsedDay, dict[str, Any]]) -> None:
    for unknown in (replace(found[0], hour_cost=None), replace(found[0], hour_tokens=None)):
        with pytest.raises(ValueError, match="is not known"):
            figures(unknown, BILL, Change())


def test_no_hours_have_no_price(found: tuple[UsedDay, dict[str, Any]]) -> None:
    here = figures(found[0], BILL, parsed({"hours_per_day": "0"}))
    assert here["full_nano_per_mtok"] is None
    assert here["cost_nano"] == 24_960_000_000


def test_what_has_no_known_effect_is_left(found: tuple[UsedDay, dict[str, Any]]) -> None:
    day = found[0]
    assert day.bought is not None
    market = replace(day, bought=replace(day.bought, follows_price=False))
    for rig in (market, replace(day, bought=None)):
        here = figures(rig, BILL, parsed({"hardware_price": "1"}))
        assert here["hardware_price"] is None
        assert here["cost_nano"] == 25_080_000_000
    free = replace(day, standing=day.cost, energy=Fraction(0), hour_cost=Fraction(0))
    here = figures(free, BILL, parsed({"price_per_kwh": "1"}))
    assert here["price_per_kwh"] is None
    assert here["cost_nano"] == 25_080_000_000


HERE = Assumptions(
    hardware=Purchase(price=Fraction(17000), life_years=Fraction(4)),
    full_watts=Fraction(1700),
    idle_watts=Fraction(150),
    tokens_per_second=Fraction(600),
    hours_per_day=Fraction(2),
    price_per_kwh=Fraction("0.20"),
)


def assumed(given: Assumptions) -> UsedDay:
    """An average day of the assumptions, from `estimate`'s figures and the watts."""
    month, price = estimate(given), given.price_per_kwh
    days = Fraction("30.4375")
    fixed = month.fixed_per_month / days
    energy = month.energy_per_month / days
    return UsedDay(
        standing=fixed + given.idle_watts * 24 / 1000 * price,
        hours=given.hours_per_day,
        hour_cost=(given.full_watts - given.idle_watts) / 1000 * price,
        hour_bill=Fraction(0),
        hour_tokens=3600 * given.tokens_per_second,
        busy=Fraction(1),
        cost=fixed + energy,
        energy=energy,
        kwh=energy / price,
        bought=Bought(price=Fraction(17000), residual=Fraction(0), per_day=fixed),
        days=days,
    )


@pytest.mark.parametrize("hours", ["0.5", "2", "7.25", "24"])
@pytest.mark.parametrize("price", ["0", "9000", "25000"])
@pytest.mark.parametrize("kwh", ["0.08", "0.45"])
def test_a_what_if_is_what_estimate_tells_of_it(hours: str, price: str, kwh: str) -> None:
    bill_nano = 600 * 3600 * 2 * 600 * 487 // 16  # 0.60 per million, 30.4375 days of two hours
    change = {"hours_per_day": hours, "hardware_price": price, "price_per_kwh": kwh}
    here = figures(assumed(HERE), BILL | {"headline_nano": bill_nano}, parsed(change))
    there = estimate(
        replace(
            HERE,
            hardware=Purchase(price=Fraction(price), life_years=Fraction(4)),
            hours_per_day=Fraction(hours),
            price_per_kwh=Fraction(kwh),
        ),
        Fraction("0.60"),
    )
    assert there.cost_per_mtok_output is not None
    assert here["cost_nano"] == round((there.fixed_per_month + there.energy_per_month) * 10**9)
    assert here["full_nano_per_mtok"] == pytest.approx(there.cost_per_mtok_output * 10**9, abs=1)
    assert there.break_even is not None
    root = there.break_even.hours_per_day
    assert root is not None
    assert here["break_even"]["verdict"] == root.verdict
    if root.value is not None:
        assert Fraction(here["break_even"]["hours_per_day"]) == pytest.approx(root.value, abs=1e-9)


@pytest.mark.parametrize("axis", ["hours_per_day", "hardware_price", "price_per_kwh"])
def test_at_the_break_even_nothing_is_saved_and_nothing_lost(axis: str) -> None:
    day = beside(assumed(replace(HERE, hours_per_day=Fraction(13))), 600 * 10**9)
    root = getattr(break_even(day), axis)
    assert root.verdict == "at"
    there = changed(day, Change(**{axis: root.value}))
    assert there.cost == there.bill
