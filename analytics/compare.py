"""What the same requests would have cost at an API's declared, flat prices."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from analytics.day import Day
from analytics.utilization import MTOK, per_mtok_nano
from collector.settings import ApiPrice, nano

KNOWN = ["input_tokens", "cache_read_tokens", "output_tokens"]
NO_REQUESTS = pl.DataFrame(schema=dict.fromkeys(KNOWN, pl.Int64))


def compare(
    days: Sequence[Day], prices: Sequence[ApiPrice], currency: str, full: int, marginal: int | None
) -> list[dict[str, Any]]:
    """One entry per price list: the bill without a cache and with the same hits as here.

    Both bills cover the same requests: those whose input, cached and output tokens are all known.
    The rest is counted as unpriced, and bill and savings are then at least what is said. Where no
    request can be priced, there is no bill. A request counts once however often it was tried.
    """
    if not prices:
        return []
    parts = [day.ended("is_request", *KNOWN).filter("is_request") for day in days]
    requests = pl.concat([NO_REQUESTS, *parts], how="diagonal")
    return [_entry(requests, price, currency, full, marginal) for price in prices]


def _entry(
    requests: pl.DataFrame, price: ApiPrice, currency: str, full: int, marginal: int | None
) -> dict[str, Any]:
    known = requests.drop_nulls(KNOWN)
    tokens = int(requests["output_tokens"].sum())
    no_cache = _bill(known, price, pl.lit(0))
    same_hits = _bill(known, price, pl.col("cache_read_tokens"))
    return {
        "name": price.name,
        "currency": currency,
        "no_cache_nano": no_cache,
        "same_hits_nano": same_hits,
        "same_hits_nano_per_mtok": (
            None if same_hits is None or not tokens else per_mtok_nano(same_hits, tokens)
        ),
        "output_only_nano_per_mtok": nano(price.output),
        "unpriced_requests": len(requests) - len(known),
        "savings_full_nano": None if same_hits is None else same_hits - full,
        "savings_marginal_nano": (
            None if same_hits is None or marginal is None else same_hits - marginal
        ),
    }


def _bill(requests: pl.DataFrame, price: ApiPrice, hits: pl.Expr) -> int | None:
    """The bill, rounded half up once per request; None where no request can be priced."""
    if requests.is_empty():
        return None
    fresh, cached, output = (
        tokens.cast(pl.Int128) * nano(amount)
        for tokens, amount in (
            (pl.col("input_tokens") - hits, price.input),
            (hits, price.cache_read),
            (pl.col("output_tokens"), price.output),
        )
    )
    billed = (fresh + cached + output + MTOK // 2) // MTOK
    return int(requests.select(billed.cast(pl.Int64)).to_series().sum())
