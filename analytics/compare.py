"""What the same requests would have cost at an API's declared, flat prices."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from analytics.utilization import MTOK, per_mtok_nano
from collector.settings import ApiPrice, nano


def compare(
    ended: pl.DataFrame, prices: Sequence[ApiPrice], currency: str, full: int, marginal: int | None
) -> list[dict[str, Any]]:
    """One entry per price list: the bill without a cache and with the same hits as here.

    A request without token counts cannot be priced; it is counted, and the bills then cover the
    rest only. Bills are rounded once per request.
    """
    return [_entry(ended, price, currency, full, marginal) for price in prices]


def _entry(
    ended: pl.DataFrame, price: ApiPrice, currency: str, full: int, marginal: int | None
) -> dict[str, Any]:
    counted = ended.drop_nulls(["input_tokens", "output_tokens"])
    hits_known = counted.drop_nulls("cache_read_tokens")
    no_cache = _bill(counted, price, pl.lit(0))
    same_hits = _bill(hits_known, price, pl.col("cache_read_tokens"))
    tokens = int(hits_known["output_tokens"].sum())
    return {
        "name": price.name,
        "currency": currency,
        "no_cache_nano": no_cache,
        "same_hits_nano": same_hits,
        "same_hits_nano_per_mtok": per_mtok_nano(same_hits, tokens) if tokens else None,
        "output_only_nano_per_mtok": nano(price.output),
        "unpriced_requests": len(ended) - len(hits_known),
        "savings_full_nano": same_hits - full,
        "savings_marginal_nano": None if marginal is None else same_hits - marginal,
    }


def _bill(requests: pl.DataFrame, price: ApiPrice, hits: pl.Expr) -> int:
    fresh = (pl.col("input_tokens") - hits) * nano(price.input)
    total = fresh + hits * nano(price.cache_read) + pl.col("output_tokens") * nano(price.output)
    billed = requests.select((total + MTOK // 2) // MTOK).to_series()
    return int(billed.sum())
