"""`estimate` against the figures that were worked out by hand, and its break-even as algebra."""

import argparse
import json
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from analytics.breakeven import Root, decimal
from analytics.cli import add_commands
from analytics.estimate import Assumptions, Purchase, Rent, break_even, estimate

RIG = {
    "price": "17000",
    "life-years": "4",
    "full-watts": "1700",
    "tokens-per-second": "600",
    "hours-per-day": "24",
    "price-per-kwh": "0.20",
}


def flags(**changes: str | None) -> list[str]:
    chosen = RIG | {name.replace("_", "-"): value for name, value in changes.items()}
    return [f"--{name}={value}" for name, value in chosen.items() if value is not None]


def command(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--config")
    add_commands(parser.add_subparsers())
    args = parser.parse_args(["estimate", *arguments])
    return args.run(args)


def answer(capsys: pytest.CaptureFixture[str], **changes: str | None) -> dict[str, object]:
    assert command("--json", *flags(**changes)) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("changes", "cost"),
    [
        ({"price_per_kwh": "0.12"}, "0.318902"),
        ({"price_per_kwh": "0.15"}, "0.342513"),
        ({"price_per_kwh": "0.20"}, "0.381865"),
        ({"hours_per_day": "2"}, "2.850895"),
        ({"hours_per_day": "1.25"}, "4.466987"),
        ({"hours_per_day": "1"}, "5.544382"),
        ({"hours_per_day": "2", "tokens_per_second": "300", "full_watts": "850"}, "5.544382"),
    ],
)
def test_the_golden_costs_per_million_output_tokens(capsys, changes, cost):
    result = answer(capsys, **changes)
    assert result["fixed_per_month"] == "354.166666667"
    assert round(Decimal(result["cost_per_mtok_output"]), 6) == Decimal(cost)


FLASH = "deepseek/deepseek-v4.1-flash"


@pytest.mark.parametrize(
    ("changes", "off_peak", "peak"),
    [
        # What the golden rig costs, in times of DeepSeek's 0.60 off-peak and 1.20 at peak.
        ({}, "0.64", "0.32"),
        ({"hours_per_day": "2"}, "4.75", "2.38"),
        ({"hours_per_day": "1.25"}, "7.44", "3.72"),
        ({"hours_per_day": "1"}, "9.24", "4.62"),
        ({"hours_per_day": "2", "tokens_per_second": "300", "full_watts": "850"}, "9.24", "4.62"),
    ],
)
def test_the_golden_rig_beside_deepseek(capsys, changes, off_peak, peak):
    # A Wednesday in November: 12:00 UTC is off-peak, 02:00 UTC is 10:00 in Beijing.
    for at, price, times in (("12", "0.6", off_peak), ("02", "1.2", peak)):
        instant = f"2026-11-25T{at}:00:00Z"
        result = answer(capsys, sheet=FLASH, at=instant, **changes)
        assert result["api_output_price"] == price
        ratio = Decimal(result["cost_per_mtok_output"]) / Decimal(price)
        assert round(ratio, 2) == Decimal(times)
    assert command(*flags(sheet=FLASH, at=instant, **changes)) == 0
    text = capsys.readouterr().out
    assert f"{FLASH}, output: 1.2000 at 2026-11-25 02:00 UTC; otherwise 0.6000." in text


def test_an_always_on_rented_card_breaks_even_at_nine_percent(capsys):
    """6.8445 an hour is 5,000 a month of 730.5 hours; 2,000 tokens a second at 10.5625 a million
    earn 76.05 an hour, of which 9 % are 6.8445."""
    rented = {"price": None, "life_years": None, "rent_per_hour": "6.8445", "full_watts": "0"}
    told = {"tokens_per_second": "2000", "api_output_price": "10.5625", "hours_per_day": "1"}
    result = answer(capsys, **rented, **told)
    assert round(Decimal(result["fixed_per_month"])) == 5000
    assert result["break_even"]["utilization"] == "0.09"
    assert result["break_even"]["hours_per_day"] == "2.16"


def test_the_full_month_of_the_golden_rig(capsys):
    result = answer(capsys)
    assert result["energy_per_month"] == "248.37"  # 1.7 kW x 24 h x 30.4375 days x 0.20
    assert result["tokens_per_month"] == 1_577_880_000
    assert result["break_even"] is None
    assert result["reason"] is None


def test_break_even_of_the_golden_rig_against_deepseek_off_peak(capsys):
    # A worked hour saves 2.16 x 0.60 - 1.7 x 0.20 = 0.956; a day ages 17000 / 48 / 30.4375.
    hours = Decimal(17000) / 48 / Decimal("30.4375") / Decimal("0.956")
    result = answer(capsys, api_output_price="0.60")["break_even"]
    assert result["verdict"] == "at"
    assert Decimal(result["hours_per_day"]) == round(hours, 9)
    assert Decimal(result["utilization"]) == round(hours / 24, 9)
    assert result["tokens_per_day"] == int(hours * 2_160_000) + 1


def test_the_other_axes_of_the_golden_rig(capsys):
    """Two hours a day: the API bills 131.49 million tokens a month."""
    result = answer(capsys, hours_per_day="2", api_output_price="0.60")["break_even"]
    # 78.894 billed less 20.6975 of energy leaves 58.1965 a month, over 48 months.
    assert result["hardware_price"] == "2793.432"
    # Even free energy leaves 354.17 to pay against 78.89.
    assert (result["price_per_kwh"], result["verdicts"]["price_per_kwh"]) == (None, "never")
    assert Decimal(result["payback_months"]) == round(Decimal(17000) / Decimal("58.1965"), 9)


def test_a_dear_api_is_met_by_a_dear_kwh(capsys):
    result = answer(capsys, hours_per_day="2", api_output_price="6")["break_even"]
    # (788.94 - 354.166667) / 103.4875 kWh
    kwh = (Decimal("788.94") - Decimal(17000) / 48) / Decimal("103.4875")
    assert Decimal(result["price_per_kwh"]) == round(kwh, 9)
    rented = answer(capsys, price=None, life_years=None, rent_per_hour="1", api_output_price="6")
    assert rented["break_even"]["hardware_price"] is None
    assert rented["break_even"]["payback_months"] is None


def test_an_unused_rig_never_pays_for_itself(capsys):
    result = answer(capsys, hours_per_day="0", api_output_price="6")["break_even"]
    assert result["verdict"] == "at"
    assert result["verdicts"]["payback_months"] == "never"
    assert result["hardware_price"] == "0"


def test_rent_is_due_around_the_clock(capsys):
    result = answer(capsys, price=None, life_years=None, rent_per_hour="2", hours_per_day="1")
    assert result["fixed_per_month"] == "1461"  # 2 x 24 x 30.4375


def test_a_residual_is_never_spread(capsys):
    assert answer(capsys, residual="5000")["fixed_per_month"] == "250"


def test_idle_watts_are_drawn_in_the_hours_not_worked(capsys):
    result = answer(capsys, hours_per_day="4", idle_watts="100")
    # (4 h x 1.7 kW + 20 h x 0.1 kW) x 30.4375 days x 0.20
    assert result["energy_per_month"] == "53.57"


def test_without_tokens_there_is_no_price_but_a_reason(capsys):
    result = answer(capsys, hours_per_day="0", api_output_price="0.60")
    assert result["cost_per_mtok_output"] is None
    assert "hours" in result["reason"]
    assert result["fixed_per_month"] == "354.166666667"
    assert "tokens per second" in answer(capsys, tokens_per_second="0")["reason"]


def test_text_says_the_answer_first(capsys):
    assert command(*flags(hours_per_day="2", api_output_price="0.60")) == 0
    first, *rest = capsys.readouterr().out.splitlines()
    assert first == "A million output tokens cost 2.8509, 4.75 times the API's 0.6000."
    assert any(line.split() == ["fixed", "per", "month", "354.1667"] for line in rest)


@pytest.mark.parametrize(
    ("changes", "flag"),
    [
        ({"price": "a lot"}, "--price"),
        ({"price": "-1"}, "--price"),
        ({"price": "NaN"}, "--price"),
        ({"price": None}, "--price"),
        ({"residual": "17001"}, "--residual"),
        ({"life_years": "0"}, "--life-years"),
        ({"life_years": None}, "--life-years"),
        ({"rent_per_hour": "2"}, "--rent-per-hour"),
        ({"full_watts": None}, "--full-watts"),
        ({"idle_watts": "1701"}, "--idle-watts"),
        ({"tokens_per_second": "1e3"}, "--tokens-per-second"),
        ({"hours_per_day": "24.5"}, "--hours-per-day"),
        ({"price_per_kwh": "0,20"}, "--price-per-kwh"),
        ({"api_output_price": ""}, "--api-output-price"),
        ({"api_output_price": "1", "sheet": FLASH}, "--sheet"),
        ({"at": "2026-11-25T12:00:00Z"}, "--at"),
        ({"sheet": FLASH, "at": "yesterday"}, "--at"),
        ({"sheet": "deepseek/deepseek-flsh"}, "deepseek/deepseek-flash"),
    ],
)
def test_a_flag_that_cannot_be_used_is_named_in_one_sentence(capsys, changes, flag):
    assert command(*flags(**changes)) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert flag in printed.err
    assert printed.err.count("\n") == 1


def decimals(least: int, most: int, scale: int) -> st.SearchStrategy[Fraction]:
    return st.integers(least, most).map(lambda units: Fraction(units, scale))


amounts = decimals(0, 10**9, 10_000)
above_zero = decimals(1, 10**9, 10_000)


@st.composite
def rigs(draw):
    full = draw(amounts)
    bought = Purchase(price=draw(amounts), life_years=draw(above_zero))
    return Assumptions(
        hardware=draw(st.sampled_from([bought, Rent(per_hour=draw(amounts))])),
        full_watts=full,
        idle_watts=full * draw(decimals(0, 10, 10)),
        tokens_per_second=draw(above_zero),
        hours_per_day=Fraction(8),
        price_per_kwh=draw(amounts),
    )


def cost_at(rig: Assumptions, hours: Fraction) -> Fraction | None:
    changed = Assumptions(**{**vars(rig), "hours_per_day": hours})
    return estimate(changed).cost_per_mtok_output


def verdict_at(rig: Assumptions, price: Fraction) -> str | None:
    meet = break_even(rig, price).hours_per_day
    return meet and meet.verdict


@given(rigs(), decimals(1, 2400, 100))
def test_at_the_break_even_the_cost_is_the_apis_price_exactly(rig, hours):
    price = cost_at(rig, hours)
    meet = break_even(rig, price)
    # Where nothing is paid for an unworked day, every hour costs the same and none is the root.
    assume(cost_at(rig, Fraction(24)) != cost_at(rig, Fraction(12)))
    assert meet.hours_per_day == Root("at", hours)
    assert meet.utilization == Root("at", hours / 24)
    assert meet.tokens_per_day == Root("at", hours * 3600 * rig.tokens_per_second)


@given(rigs(), amounts)
def test_the_verdict_follows_the_sign_at_both_ends(rig, price):
    shortest, fullest = cost_at(rig, Fraction(1, 10**30)), cost_at(rig, Fraction(24))
    verdict = verdict_at(rig, price)
    if fullest > price:
        assert verdict == "never"
    elif shortest < price:
        assert verdict == "always"
    else:
        assert verdict == "at"


def test_a_free_rig_is_always_or_never_cheaper_and_level_at_its_own_price():
    rig = Assumptions(
        hardware=Rent(per_hour=Fraction(0)),
        full_watts=Fraction(1800),
        idle_watts=Fraction(0),
        tokens_per_second=Fraction(500),
        hours_per_day=Fraction(8),
        price_per_kwh=Fraction(1, 2),
    )
    # 0.9 an hour for 1.8 million tokens: 0.50 a million, whatever the hours.
    assert verdict_at(rig, Fraction(51, 100)) == "always"
    assert verdict_at(rig, Fraction(49, 100)) == "never"
    assert verdict_at(rig, Fraction(1, 2)) == "at"


@given(rigs(), decimals(1, 1200, 100))
def test_more_hours_never_cost_more_per_token(rig, hours):
    assert cost_at(rig, hours * 2) <= cost_at(rig, hours)


@given(st.integers(min_value=0, max_value=10**24))
def test_decimals_keep_every_nano_unit(nano):
    assert Decimal(decimal(Fraction(nano, 10**9))) == Decimal(nano).scaleb(-9)
