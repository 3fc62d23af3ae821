"""Rates between currencies: dated, exact, rounded once."""

import datetime as dt
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.prices.rates import NoRate, convert, convert_each, rate_at
from collector.clock import to_ns
from collector.settings import SettingsError
from collector.settings_file import parse

TOML = """\
[rig]
time_zone = "Asia/Shanghai"

[currencies]
"CNY/USD" = [{from = 2026-10-01, rate = "0.1405"}, {from = 2026-11-01, rate = "0.1389"}]
"EUR/USD" = [
  {from = 2026-10-01, rate = "1.25"},
]
"""
SETTINGS = parse(TOML, "rig.toml")


def ns(text: str) -> int:
    return to_ns(dt.datetime.fromisoformat(text))


def test_a_rate_counts_from_midnight_of_the_rig():
    before = rate_at(SETTINGS, "CNY", "USD", ns("2026-10-31T15:59:59Z"))
    since = rate_at(SETTINGS, "CNY", "USD", ns("2026-10-31T16:00:00Z"))
    assert (before.rate, before.from_) == (Fraction("0.1405"), dt.date(2026, 10, 1))
    assert (since.rate, since.from_) == (Fraction("0.1389"), dt.date(2026, 11, 1))


def test_amounts_are_rounded_half_up_once():
    at = ns("2026-10-15T00:00Z")
    # 0.158 yuan at 0.1405 is 0.022199 dollars; 10 nano-units are 1.405; 1000 are 140.5
    assert convert(158_000_000, "CNY", "USD", at, SETTINGS) == 22_199_000
    assert convert(10, "CNY", "USD", at, SETTINGS) == 1
    assert convert(1_000, "CNY", "USD", at, SETTINGS) == 141
    assert convert(-1_000, "CNY", "USD", at, SETTINGS) == -140


def test_a_pair_is_turned_over_exactly():
    # a dollar is 1 / 1.25 = 0.8 euros, a yuan declared at 0.1405 dollars
    assert convert(1_000_000_000, "USD", "EUR", ns("2026-12-01T00:00Z"), SETTINGS) == 800_000_000
    assert rate_at(SETTINGS, "USD", "CNY", ns("2026-10-15T00:00Z")).rate == Fraction(10_000, 1_405)


def test_the_same_currency_needs_no_rate():
    assert convert(7, "USD", "USD", 0, SETTINGS) == 7
    assert rate_at(SETTINGS, "JPY", "JPY", 0).from_ is None


def test_without_a_rate_there_is_no_amount_but_a_remedy():
    with pytest.raises(NoRate, match=r'add it to \[currencies\], like "JPY/USD" = '):
        convert(7, "JPY", "USD", 0, SETTINGS)
    with pytest.raises(NoRate, match=r'"CNY/USD" counts from 2026-10-01; add an earlier one'):
        convert(7, "CNY", "USD", ns("2026-09-30T15:59Z"), SETTINGS)


amounts = st.tuples(
    st.none() | st.integers(-(10**15), 10**15), st.integers(ns("2026-09-20T00:00Z"), 2 * 10**18)
)


@given(st.lists(amounts, max_size=5), st.sampled_from(["CNY", "USD", "EUR", "JPY"]))
def test_a_column_is_converted_like_its_amounts(rows, source):
    frame = pl.DataFrame(rows, schema={"nano": pl.Int64, "received_ns": pl.Int64}, orient="row")
    expected = []
    for nano, at in rows:
        try:
            expected.append(None if nano is None else convert(nano, source, "USD", at, SETTINGS))
        except NoRate:
            expected.append(None)
    assert convert_each(frame, source, "USD", SETTINGS).to_list() == expected


@pytest.mark.parametrize(
    ("old", "new", "line", "key", "word"),
    [
        ('"CNY/USD" =', '"CNYUSD" =', 5, "currencies.CNYUSD", 'like "CNY/USD"'),
        ('"CNY/USD" =', '"CNY/CNY" =', 5, "currencies.CNY/CNY", "no pair"),
        ('"EUR/USD" =', '"USD/CNY" =', 5, "currencies.CNY/USD", "keep one"),
        ('"1.25"', "1.25", 6, "currencies.EUR/USD.rate", "in quotes"),
        ('"1.25"', '"0.0"', 6, "currencies.EUR/USD.rate", "a rate of 0"),
        ("2026-11-01", "2026-10-01", 5, "currencies.CNY/USD.from", "two rates"),
        ("{from = 2026-11-01", "{since = 2026-11-01", 5, "currencies.CNY/USD.since", "known here"),
    ],
)
def test_what_is_no_rate_is_refused_with_its_line(old, new, line, key, word):
    with pytest.raises(SettingsError) as refusal:
        parse(TOML.replace(old, new), "rig.toml")
    assert str(refusal.value).startswith(f"rig.toml:{line}: {key}: ")
    assert word in str(refusal.value)
