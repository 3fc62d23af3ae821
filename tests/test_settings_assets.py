"""Entries of assets and other costs that cannot be: each refused with its line and a remedy."""

import datetime as dt
from pathlib import Path

import pytest

from collector.settings import Settings, SettingsError
from collector.settings_file import parse

HEAD = '[[hardware]]\nname = "box"\nin_service = 2026-10-01\n'
BOUGHT = HEAD + 'price = "17000"\n'
LINE = BOUGHT + "life_years = 4\n"
RENT = HEAD + 'method = "rented"\n'
MARKET = BOUGHT + 'method = "market"\n'
COST = '[[other_costs]]\nname = "space"\n'


def read(text: str) -> Settings:
    return parse(text, str(Path("rig.toml")))


@pytest.mark.parametrize(
    ("text", "line", "key", "words"),
    [
        (HEAD + "life_years = 4\n", 1, "hardware.price", 'missing for method "straight_line"; add'),
        (BOUGHT, 1, "hardware.life_years", "add it, like life_years = 4"),
        (
            BOUGHT + 'method = "declining_balance"\n',
            1,
            "hardware.life_years",
            'missing for method "declining_balance"',
        ),
        (BOUGHT + "life_years = -1\n", 5, "hardware.life_years", "-1 must be >= 1"),
        (BOUGHT + 'method = "units"\n', 5, "hardware.method", "write one of straight_line, decl"),
        (LINE + 'rate_per_year = "0.4"\n', 6, "hardware.rate_per_year", '"declining_balance"'),
        (LINE + 'rate_per_hour = "1"\n', 6, "hardware.rate_per_hour", 'write method = "rented"'),
        (LINE + 'market_values = { 2027-10-01 = "1" }\n', 6, "hardware.market_values", '"market"'),
        (
            LINE + 'method = "declining_balance"\nrate_per_year = "0.0"\n',
            7,
            "hardware.rate_per_year",
            "nothing is written off",
        ),
        (
            LINE + 'method = "declining_balance"\nrate_per_year = "40"\n',
            7,
            "hardware.rate_per_year",
            "write a share of at most 1",
        ),
        (LINE + 'residual = "17000.01"\n', 6, "hardware.residual", "is above the price 17000"),
        (LINE + "retired = 2026-10-01\n", 6, "hardware.retired", "not after its first day"),
        (LINE + "retired = 2020-01-01\n", 6, "hardware.retired", "write the first day on which"),
        (LINE + 'proceeds = "5"\n', 6, "hardware.proceeds", "add the day it went"),
        (LINE.replace("17000", "5000000000"), 4, "hardware.price", "is above 4,000,000,000"),
        (MARKET, 1, "hardware.market_values", "like market_values = {"),
        (
            MARKET + 'life_years = 4\nmarket_values = { 2027-10-01 = "1" }\n',
            6,
            "hardware.life_years",
            'write method = "straight_line" or "declining_balance"',
        ),
        (
            MARKET + 'market_values = { 2026-10-01 = "1" }\n',
            6,
            "hardware.market_values",
            "the value on the first day is the price",
        ),
        (
            MARKET + 'market_values = { 2027-2-1 = "1" }\n',
            6,
            "hardware.market_values",
            "'2027-2-1' is no date",
        ),
        (
            MARKET + "market_values = { 2027-10-01 = 11000 }\n",
            6,
            "hardware.market_values.2027-10-01",
            "write dates and amounts in quotes",
        ),
        (RENT, 1, "hardware.rate_per_hour", "what is rented has no rate; write rate_per_hour or"),
        (
            RENT + 'rate_per_hour = "1"\nrate_per_month = "1"\n',
            5,
            "hardware.rate_per_hour",
            "what is rented has two rates",
        ),
        (
            RENT + 'rate_per_month = "1"\nbilled = "while_up"\n',
            6,
            "hardware.billed",
            "a monthly rent runs whether the host is up or not",
        ),
        (
            RENT + 'rate_per_hour = "1"\nbilled = "sometimes"\n',
            6,
            "hardware.billed",
            "write always or while_up",
        ),
        (
            RENT + 'rate_per_hour = "1"\nprice = "1"\n',
            6,
            "hardware.price",
            '"rented" has no',
        ),
        (
            COST,
            2,
            "other_costs.name",
            "'space' has no amount; write one of per_month, am",
        ),
        (
            COST + 'per_month = "1"\namount = "1"\n',
            2,
            "other_costs.name",
            "has per_month and amount",
        ),
        (COST + 'amount = "1"\n', 1, "other_costs.from", "add the day on which"),
        (
            COST + 'amount = "1"\nfrom = 2026-10-01\nuntil = 2026-11-01\n',
            5,
            "other_costs.until",
            "an amount is paid once",
        ),
        (
            COST + 'per_month = "1"\nfrom = 2026-10-01\nuntil = 2026-10-01\n',
            5,
            "other_costs.until",
            "is not after its first day",
        ),
        (COST + "per_month = 10\n", 3, "other_costs.per_month", "write a decimal amount in quotes"),
        (
            COST + 'per_year_of_capital = "5 %"\n',
            3,
            "other_costs.per_year_of_capital",
            "write a share of at most 1",
        ),
    ],
)
def test_a_refusal_names_line_key_and_remedy(text: str, line: int, key: str, words: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        read(text)
    told = str(refusal.value)
    assert told.startswith(f"rig.toml:{line}: {key}: ")
    assert words in told
    assert "; " in told
    assert "\n" not in told


def test_what_can_be_is_read() -> None:
    made = read(
        LINE
        + "retired = 2028-03-01\n"
        + 'proceeds = "5200"\n'
        + MARKET
        + '[hardware.market_values]\n2028-04-01 = "9000"\n2027-10-01 = "11000"\n'
        + RENT
        + 'rate_per_hour = "1.2"\nbilled = "while_up"\n'
        + COST
        + 'per_month = "10"\n'
    )
    line, market, rent = made.hardware
    assert line.proceeds_nano == 5_200 * 10**9
    assert market.valued == [
        (dt.date(2027, 10, 1), 11_000 * 10**9),
        (dt.date(2028, 4, 1), 9_000 * 10**9),
    ]
    assert (rent.billed, rent.rate_per_hour, rent.price_nano) == ("while_up", "1.2", 0)
    assert made.other_costs[0].from_ == dt.date(2000, 1, 1)
