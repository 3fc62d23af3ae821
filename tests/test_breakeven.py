"""Break-even as algebra: roots meet, verdicts follow the signs, each axis holds the rest."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from analytics.breakeven import Bought, Excess, Root, UsedDay, as_json, break_even, solve

amounts = st.integers(-(10**6), 10**6).map(lambda units: Fraction(units, 1000))
at_least_zero = st.integers(0, 10**6).map(lambda units: Fraction(units, 1000))
above_zero = st.integers(1, 10**6).map(lambda units: Fraction(units, 1000))
shares = st.integers(1, 1000).map(lambda units: Fraction(units, 1000))


@given(amounts, amounts, above_zero)
def test_the_root_meets_exactly_and_a_unit_on_either_side_does_not(start, slope, most):
    excess = Excess(start, slope)
    root = solve(excess, most)
    unit = Fraction(1, 10**9)
    if root.verdict == "at":
        assert 0 <= root.value <= most
        assert excess(root.value) == 0
        if slope:
            assert excess(root.value - unit) * excess(root.value + unit) < 0
    else:
        sign = 1 if root.verdict == "never" else -1
        assert excess(Fraction(0)) * sign > 0
        assert excess(most) * sign > 0


@given(amounts, amounts)
def test_an_axis_of_use_is_judged_where_there_is_work(start, slope):
    root = solve(Excess(start, slope), 24, of_use=True)
    if start == 0 and slope != 0:
        assert root.verdict == ("never" if slope > 0 else "always")
    else:
        assert root == solve(Excess(start, slope), 24)


@st.composite
def used_days(draw):
    """Days that add up: cost, energy and capital are sums of what they are made of."""
    kwh, price = draw(above_zero), draw(at_least_zero)
    per_hour = draw(at_least_zero)
    hours = draw(st.integers(1, 24)) * Fraction(1)
    bought = Bought(price=draw(above_zero), residual=Fraction(0), per_day=draw(above_zero))
    energy = max(kwh * price, hours * per_hour)
    return UsedDay(
        standing=bought.per_day + energy - hours * per_hour,
        hours=hours,
        hour_cost=per_hour,
        hour_bill=draw(above_zero),
        hour_tokens=draw(above_zero),
        busy=draw(shares),
        cost=bought.per_day + energy,
        energy=energy,
        kwh=kwh,
        bought=bought,
    )


@given(used_days())
def test_each_root_makes_the_day_meet_its_bill(day):
    found = break_even(day)
    hours = found.hours_per_day
    if hours.verdict == "at":
        assert day.standing + hours.value * day.hour_cost == hours.value * day.hour_bill
        assert found.utilization == Root("at", hours.value * day.busy / 24)
        assert found.tokens_per_day == Root("at", hours.value * day.hour_tokens)
    if found.hardware_price.verdict == "at":
        # Capital is in proportion to the price where nothing remains of it.
        scaled = day.bought.per_day * found.hardware_price.value / day.bought.price
        assert day.cost - day.bought.per_day + scaled == day.bill
    else:
        assert day.cost - day.bought.per_day > day.bill
    if found.price_per_kwh.verdict == "at":
        assert day.cost - day.energy + found.price_per_kwh.value * day.kwh == day.bill
    if found.payback_days.verdict == "at":
        gain = day.bill - (day.cost - day.bought.per_day)
        assert found.payback_days.value * gain == day.bought.price


@given(used_days())
def test_hours_end_with_the_day_and_use_with_the_cards(day):
    """Held-back capacity can be used before more hours are: use has the wider domain."""
    found = break_even(day)
    whole = day.standing + (day.hour_cost - day.hour_bill) * 24
    assert (found.hours_per_day.verdict == "never") == (whole > 0)
    if found.utilization.verdict == "at":
        assert found.utilization.value <= 1
        assert found.tokens_per_day.value <= 24 / day.busy * day.hour_tokens


@given(used_days())
def test_what_is_not_known_has_no_root(day):
    found = as_json(break_even(replace(day, hour_cost=None, bought=None)))
    for axis in ("hours_per_day", "utilization", "tokens_per_day", "hardware_price"):
        assert found[axis] is None
        assert found["verdicts"][axis] is None
    assert found["verdicts"]["price_per_kwh"] is not None


def test_an_always_on_rented_card_breaks_even_at_nine_percent():
    """5,000 a month of 30.4375 days; at its peak, 2,000 tokens a second, the API's 10.56 a million
    would come to 2,000 x 86,400 x 30.4375 x 10.56 / 10^6 = 55,541.376 a month."""
    a_day = Fraction(5000) / Fraction(487, 16)
    hour_tokens = Fraction(2000 * 3600)
    day = UsedDay(
        standing=a_day,
        hours=Fraction(1),
        hour_cost=Fraction(0),
        hour_bill=hour_tokens * Fraction(1056, 100) / 10**6,
        hour_tokens=hour_tokens,
        busy=Fraction(1),
        cost=a_day,
        energy=Fraction(0),
        kwh=Fraction(0),
        bought=None,
    )
    found = as_json(break_even(day))
    assert found["verdict"] == "at"
    share = Decimal(5000) / Decimal("55541.376")
    assert Decimal(found["utilization"]) == round(share, 9)
    assert round(share, 4) == Decimal("0.0900")
    assert Decimal(found["hours_per_day"]) == round(share * 24, 9)
