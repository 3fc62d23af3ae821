"""Public price lists as sheets: each form of a key, by the prices that it must give."""

import datetime as dt
import json
from decimal import Decimal
from fractions import Fraction

import pytest

from analytics.prices import litellm, openrouter
from analytics.prices.cost import Usage, cost
from analytics.prices.read import parse_sheets
from analytics.prices.toml import as_toml

NOON = dt.datetime(2026, 11, 25, 12, tzinfo=dt.UTC)


def at(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


def million(sheet, when=NOON, *, tokens=1_000_000, **terms):
    """The price of a million tokens of input, worked out from a request of `tokens`."""
    return cost(sheet, Usage(tokens, 0), when, terms).amount * Fraction(1_000_000, tokens)


def of_litellm(**entry):
    told = json.loads(json.dumps({"house/model": entry}), parse_float=Decimal)
    (sheet,), left = litellm.sheets(told)
    assert sheet.id == "litellm/house/model"
    assert parse_sheets(as_toml([sheet]), "x") == [sheet]
    return sheet, [what for _, what in left]


def of_openrouter(**pricing):
    (sheet,), left = openrouter.sheets({"data": [{"id": "house/model", "pricing": pricing}]})
    assert sheet.id == "openrouter/house/model"
    assert parse_sheets(as_toml([sheet]), "x") == [sheet]
    return sheet, [what for _, what in left]


PLAIN = {"input_cost_per_token": 1.5e-07, "output_cost_per_token": 6e-07}


def test_litellms_prices_per_token_become_prices_per_million():
    sheet, left = of_litellm(
        **PLAIN,
        cache_read_input_token_cost=3e-09,
        cache_creation_input_token_cost=1.875e-07,
        cache_creation_input_token_cost_above_1hr=3e-07,
        output_cost_per_reasoning_token="1e-06",  # noqa: S106 (a price)
        input_cost_per_request=0.005,
        prompt_cache_min_tokens=1024,
    )
    assert left == []
    usage = Usage(1_000_000, 10_000, 400_000, 100_000, 5_000)
    # 0.5 M at 0.15, 0.4 M at 0.003, 0.1 M at 0.1875, 5,000 at 0.60 and 5,000 at 1, and 0.005
    plain = Fraction("0.075") + Fraction("0.0012") + Fraction("0.003") + Fraction("0.005")
    assert cost(sheet, usage, NOON).amount == plain + Fraction("0.01875") + Fraction("0.005")
    assert cost(sheet, usage, NOON, ttl="1h").amount == plain + Fraction("0.03") + Fraction("0.005")
    assert sheet.cache.min_prefix_tokens == 1024


def test_litellms_lengths_and_terms_stack_in_any_order():
    sheet, left = of_litellm(
        **PLAIN,
        input_cost_per_token_above_200k_tokens=3e-07,
        input_cost_per_token_priority=2e-07,
        input_cost_per_token_above_200k_tokens_priority=4e-07,
        input_cost_per_token_batches=7.5e-08,
        input_cost_per_token_flex_above_200k_tokens=1e-07,
        cache_creation_input_token_cost_above_1hr_above_200k_tokens=6e-07,
    )
    assert left == []
    long = 200_001
    assert million(sheet, tokens=200_000) == Fraction("0.15")
    assert million(sheet, tokens=long) == Fraction("0.3")
    assert million(sheet, service_tier="priority") == Fraction("0.4")
    assert million(sheet, tokens=200_000, service_tier="priority") == Fraction("0.2")
    assert million(sheet, tokens=200_000, processing="batch") == Fraction("0.075")
    assert million(sheet, tokens=long, service_tier="flex") == Fraction("0.1")
    assert million(sheet, tokens=200_000, service_tier="flex") == Fraction("0.15")


def test_a_longer_price_of_xai_begins_at_its_length():
    sheet, _ = of_litellm(
        **PLAIN, input_cost_per_token_above_200k_tokens=3e-07, litellm_provider="xai"
    )
    assert million(sheet, tokens=199_999) == Fraction("0.15")
    assert million(sheet, tokens=200_000) == Fraction("0.3")


def test_litellms_tiers_are_cliffs_on_all_input():
    tiers = [
        {"range": [0, 32000.0], "input_cost_per_token": 1e-6, "output_cost_per_token": 5e-6},
        {
            "range": [32000.0, 128000.0],
            "input_cost_per_token": 1.8e-6,
            "output_cost_per_token": 9e-6,
        },
        {"range": [128000, 1000000], "input_cost_per_token": 3e-6, "output_cost_per_token": 15e-6},
    ]
    sheet, left = of_litellm(tiered_pricing=tiers)
    assert left == []
    assert million(sheet, tokens=32_000) == 1
    assert million(sheet, tokens=32_001) == Fraction("1.8")
    assert million(sheet, tokens=128_001) == 3
    assert of_litellm(**PLAIN, tiered_pricing=[{"input_cost_per_token": 1}])[1] == [
        "tiered_pricing without a range of input tokens"
    ]


def test_litellms_off_peak_hours_and_days():
    sheet, left = of_litellm(
        input_cost_per_token=3e-07,
        output_cost_per_token=1.2e-06,
        off_peak_pricing={
            "windows": [
                {"hours_utc": ["00:00-01:00", "10:00-00:00"]},
                {"hours_utc": "00:00-00:00", "weekdays": ["Saturday", 7]},
            ],
            "weekday_timezone": "Asia/Shanghai",
            "input_cost_per_token": 1.5e-07,
        },
    )
    assert left == []
    assert million(sheet, at("2026-11-25T02:00Z")) == Fraction("0.3")
    assert million(sheet, at("2026-11-25T00:59Z")) == Fraction("0.15")
    assert million(sheet, at("2026-11-25T23:59Z")) == Fraction("0.15")
    assert million(sheet, at("2026-11-28T02:00Z")) == Fraction("0.15")
    # Friday evening in UTC is Saturday in Shanghai, and so is Sunday until 16:00.
    assert million(sheet, at("2026-11-29T09:00Z")) == Fraction("0.15")
    assert million(sheet, at("2026-11-30T02:00Z")) == Fraction("0.3")


@pytest.mark.parametrize(
    "block",
    [
        "16:00-19:00",
        {"hours_utc": "16-19", "input_cost_per_token": 1e-7},
        {"windows": [{"hours_utc": "16:00-19:00", "weekdays": [0]}], "input_cost_per_token": 1e-7},
        {"hours_utc": "16:00-19:00"},
    ],
)
def test_off_peak_hours_that_cannot_be_read_are_listed(block):
    sheet, left = of_litellm(**PLAIN, off_peak_pricing=block)
    assert left == ["off_peak_pricing"]
    assert million(sheet, at("2026-11-25T17:00Z")) == Fraction("0.15")


def test_what_is_not_priced_by_the_token_is_listed_or_no_sheet():
    queries = {"search_context_cost_per_query": {"low": 0.01}, "mode": "chat"}
    _, left = of_litellm(**PLAIN, **queries, provider_specific_entry={"us": 1.1})
    assert left == ["search_context_cost_per_query", "provider_specific_entry"]
    assert litellm.sheets({"image": {"output_cost_per_image": 0.04}}) == ([], [])


def test_openrouters_prices_and_overrides():
    sheet, left = of_openrouter(
        prompt="0.00000015",
        completion="0.0000006",
        request="0.005",
        image="0",
        input_cache_read="0.000000003",
        input_cache_write="0.0000001875",
        input_cache_write_1h="0.0000003",
        overrides=[
            {"min_prompt_tokens": 200000, "prompt": "0.0000003"},
            {"utc_start": "1630", "utc_end": 30, "utc_days": ["Sat"], "prompt": "0.0000001"},
        ],
    )
    assert left == []
    usage = Usage(1_000_000, 10_000, 400_000, 100_000)
    # above 200,000: 0.5 M at 0.30, 0.4 M at 0.003, 0.1 M at 0.1875, 10,000 at 0.60, and 0.005
    assert cost(sheet, usage, NOON).amount == Fraction("0.18095")
    assert cost(sheet, usage, NOON, ttl="1h").amount == Fraction("0.1922")
    fee = Fraction("0.005")
    assert cost(sheet, Usage(200_000, 0), NOON).amount - fee == Fraction("0.03")
    assert cost(sheet, Usage(200_001, 0), NOON).amount - fee == Fraction("0.0600003")
    later_wins = cost(sheet, Usage(200_001, 0), at("2026-11-28T16:30Z")).amount - fee
    assert later_wins == Fraction("0.0200001")
    assert cost(sheet, Usage(200_000, 0), at("2026-11-28T00:29Z")).amount - fee == Fraction("0.02")
    assert cost(sheet, Usage(200_000, 0), at("2026-11-27T17:00Z")).amount - fee == Fraction("0.03")


def test_openrouters_discount_lowers_every_price():
    sheet, _ = of_openrouter(
        prompt="0.000001",
        completion="0.000002",
        discount=0.25,
        overrides=[{"min_prompt_tokens": 10, "prompt": "0.000002"}],
    )
    assert million(sheet, tokens=10) == Fraction("0.75")
    assert million(sheet, tokens=11) == Fraction("1.5")


@pytest.mark.parametrize(
    ("entry", "what"),
    [
        ({"utc_days": [1], "prompt": "0"}, "override 1: conditions utc_days"),
        ({"utc_start": "25:00", "utc_end": "2", "prompt": "0"}, "override 1: conditions utc_end"),
        ({"region": "eu", "min_prompt_tokens": 1}, "override 1: conditions min_prompt_tokens, reg"),
        ({"prompt": "0"}, "override 1: conditions "),
        ({"min_prompt_tokens": 1, "audio": "0.001"}, "audio"),
    ],
)
def test_overrides_that_cannot_be_said_are_listed(entry, what):
    sheet, left = of_openrouter(prompt="0.000001", completion="0.000002", overrides=[entry])
    assert [text[: len(what)] for text in left] == [what]
    assert million(sheet) == 1


def test_a_price_that_varies_is_no_sheet():
    auto = {"id": "auto", "pricing": {"prompt": "-1", "completion": "-1"}}
    found, left = openrouter.sheets({"data": [auto]})
    assert found == []
    assert left == [("openrouter/auto", "its price varies with the model that answers")]
