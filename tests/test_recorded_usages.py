"""Usages of real answers with the prices that genai-prices recorded for them.

Each recorded price is held against our own bill on the same provider's sheet. Where they differ,
the table says why; a difference that it does not name fails, and so does a reason without a case.
"""

import datetime as dt
import json
from collections import Counter
from fractions import Fraction

import polars as pl
import pytest
from rig.shared import recorded

from analytics.prices.bill import bill
from analytics.prices.catalogue import Catalogue, NoSuchSheet
from analytics.prices.cost import Usage, cost
from collector.clock import to_ns
from collector.settings import Settings

# The newest prices in the recording are of these days; DeepSeek's were flat then, and its older
# models at their day price.
RECORDED = dt.datetime(2026, 8, 14, 12, tzinfo=dt.UTC)

OTHER_KINDS = {
    f"{kind}_tokens" for kind in ("input_audio", "cache_audio_read", "output_audio", "output_image")
}
# Sheets whose price changed before, by an instant at which the recorded one held.
OLDER = {
    "aws/regional.openai.gpt-5.6-luna": dt.datetime(2026, 7, 29, 12, tzinfo=dt.UTC),
    "mistral/mistral-medium-latest": dt.datetime(2026, 6, 15, 12, tzinfo=dt.UTC),
    "mistral/mistral-small-latest": dt.datetime(2026, 3, 15, 12, tzinfo=dt.UTC),
}
KINDS = "audio and images have prices of their own; a sheet has that of text alone"
OLD = "recorded at the price before the sheet's last change"
TIER = "recorded before the sheet knew of the price above 200,000 tokens"
GONE = "the model has no price in the package any more"


@pytest.fixture(scope="module")
def records():
    """(sheet, usage, the kinds of tokens told, recorded price), one for each recorded price."""
    catalogue = Catalogue(Settings(), recorded("genai-prices-usages") / "none")
    file = recorded("genai-prices-usages/usages.json")
    found = []
    for record in json.loads(file.read_text(encoding="utf-8")):
        for extracted in record["extracted"]:
            for price in extracted["extractors"]:
                if "input_price" not in price:
                    continue
                try:
                    sheet = catalogue.sheet(f"{price['provider_id']}/{record['model']}")
                except NoSuchSheet:
                    sheet = None
                told = extracted["usage"]
                amount = Fraction(price["input_price"]) + Fraction(price["output_price"])
                found.append((sheet, usage_of(told), set(told), amount))
    return found


def usage_of(told: dict[str, int]) -> Usage:
    return Usage(
        told.get("input_tokens", 0),
        told.get("output_tokens", 0),
        told.get("cache_read_tokens", 0),
        told.get("cache_write_tokens", 0),
        told.get("output_reasoning_tokens", 0),
    )


def reason(sheet, usage, kinds, amount) -> str | None:
    """Why the recorded price is another one; None where nothing explains it."""
    if sheet is None:
        return GONE
    if kinds & OTHER_KINDS:
        return KINDS
    if sheet.id in OLDER and cost(sheet, usage, OLDER[sheet.id]).amount == amount:
        return OLD
    flat = Fraction(3 * usage.input_tokens + 15 * usage.output_tokens, 1_000_000)
    if sheet.id == "google/claude-sonnet-4-5" and usage.input_tokens > 200_000 and amount == flat:
        return TIER
    return None


def test_every_recorded_price_is_ours_or_its_difference_is_explained(records):
    told = Counter(
        "equal"
        if sheet is not None and cost(sheet, usage, RECORDED).amount == amount
        else reason(sheet, usage, kinds, amount)
        for sheet, usage, kinds, amount in records
    )
    assert told == {"equal": 1684, KINDS: 24, OLD: 21, TIER: 1, GONE: 1}


def test_a_column_of_them_costs_the_same(records):
    sheets = {sheet.id: sheet for sheet, *_ in records if sheet is not None}
    for name, sheet in sheets.items():
        usages = [usage for other, usage, *_ in records if other is not None and other.id == name]
        columns = {field: [getattr(u, field) for u in usages] for field in vars(usages[0])}
        asked = pl.DataFrame({"received_ns": [to_ns(RECORDED)] * len(usages), **columns})
        assert bill(asked, sheet)["nano"].to_list() == [
            cost(sheet, usage, RECORDED).nano for usage in usages
        ]
