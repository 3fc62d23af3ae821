"""The sheets of genai-prices' objects cost what its own calculator says, where that can say it."""

import datetime as dt
from fractions import Fraction

import pytest
from genai_prices.data import providers
from genai_prices.types import ModelPrice, TieredPrices, Usage

from analytics.prices import cost as ours
from analytics.prices.genai import GenaiPrices, sheet_of

# Midnights at which prices changed or variants began, the instants around them, and peak hours.
INSTANTS = [
    dt.datetime.fromisoformat(text)
    for text in (
        "2024-01-01T00:00Z",
        "2026-07-29T23:59:59Z",
        "2026-07-30T00:00Z",
        "2026-08-21T12:00Z",
        "2026-10-13T23:59Z",
        "2026-10-14T00:00Z",
        "2026-11-25T02:00Z",
        "2026-11-25T12:00Z",
        "2027-06-01T12:00Z",
    )
]
USAGES = [
    {"input_tokens": 1_000, "output_tokens": 100},
    {"input_tokens": 32_000, "output_tokens": 7, "cache_read_tokens": 30_000},
    {"input_tokens": 100_001, "output_tokens": 7, "cache_read_tokens": 90_000},
    {"input_tokens": 300_000, "output_tokens": 7, "cache_read_tokens": 5, "cache_write_tokens": 9},
    {"input_tokens": 600_000, "output_tokens": 7, "cache_write_tokens": 600_000},
]
MODELS = [(provider, model) for provider in providers for model in provider.models]
# Those whose price depends on the instant; all others are priced at one.
DATED = [
    (provider, model)
    for provider, model in MODELS
    if model.price_variants or not isinstance(model.prices, ModelPrice)
]


def priced(prices: ModelPrice) -> list:
    """Every amount in the prices of a model."""
    found = []
    for value in vars(prices).values():
        if isinstance(value, TieredPrices):
            found += [value.base, *(tier.price for tier in value.tiers)]
        elif value is not None:
            found.append(value)
    return found


def theirs(provider, model, usage, instant, terms) -> Fraction | None:
    """What the package says; None where its prices are not those of a sheet.

    Prices finer than a nano-unit per million are traces of binary floats, and round differently.
    """
    prices = model.get_prices(instant, terms)
    if any(round(amount, 9) != amount for amount in priced(prices)):
        return None
    told = model.calc_price(
        Usage(**usage), provider, genai_request_timestamp=instant, price_context=terms
    )
    return Fraction(told.total_price)


@pytest.mark.parametrize("instant", INSTANTS, ids=str)
def test_every_model_costs_what_the_package_itself_says(instant):
    compared, differ = 0, []
    models, least = (MODELS, 8_000) if instant == INSTANTS[-1] else (DATED, 1_000)
    for provider, model in models:
        sheet = sheet_of(provider, model)
        if sheet is None:
            continue
        terms = [{}, *(dict(variant.when) for variant in model.price_variants or [])]
        for number, usage in enumerate(USAGES):
            asked = terms[number % len(terms)]
            expected = theirs(provider, model, usage, instant, asked)
            if expected is None:
                continue
            found = ours.cost(sheet, ours.Usage(**usage), instant, asked)
            if found.why in {ours.UNPRICED_INPUT, ours.UNPRICED_OUTPUT}:
                continue  # the package takes what has no price for free
            compared += 1
            if found.amount != expected:
                differ.append((sheet.id, usage, asked, found.amount, expected))
    assert compared > least
    assert differ == []


def test_what_has_no_price_at_all_is_no_sheet():
    names = set(GenaiPrices().names())
    free = [
        f"{provider.id}/{model.id}"
        for provider, model in MODELS
        if isinstance(model.prices, ModelPrice)
        and not {"input_mtok", "output_mtok"} & set(vars(model.prices))
    ]
    assert free
    assert not names & set(free)
