"""Cost by model, project and session: busy cost by leaves, full cost by pools."""

from typing import Any

import polars as pl

from analytics.allocate import largest_remainder
from analytics.day import KINDS, LABELS

NONE = "(none)"


def groups(
    costs: pl.DataFrame, ended: pl.DataFrame, pool_nano: pl.DataFrame
) -> tuple[dict[str, list[dict[str, Any]]], int]:
    """For each grouping its rows, dearest first, and how much of the pools' cost they carry.

    `pool_nano` has pool and nano (its whole cost). A group's full cost is its busy cost × (its
    pool's whole cost ÷ its pool's busy cost), split over requests; a pool without busy cost
    carries nothing. A group's tokens are None where none of its requests told them.
    """
    busy = pl.sum_horizontal(f"{kind}_nano" for kind in KINDS)
    shared = (
        costs.with_columns(busy=busy)
        .group_by("pool", "source", "event_id", *LABELS)
        .agg(pl.col("busy").sum())
        .join(pool_nano, on="pool")
        .filter(pl.col("busy").sum().over("pool") > 0)
    )
    full = largest_remainder(
        shared, amount="nano", weight="busy", by=["pool"], order=["source", "event_id"]
    )
    carried = shared.with_columns(pl.col(LABELS).fill_null(NONE), full=full)
    counted = ended.filter("is_request").with_columns(pl.col(LABELS).fill_null(NONE))
    return {name: _rows(name, carried, counted) for name in LABELS}, int(full.sum())


def _rows(name: str, carried: pl.DataFrame, ended: pl.DataFrame) -> list[dict[str, Any]]:
    cost = carried.group_by(name).agg(
        pl.col("busy").sum().alias("busy_cost_nano"), pl.col("full").sum().alias("full_cost_nano")
    )
    told = [
        pl.when(pl.col(tokens).count() > 0).then(pl.col(tokens).sum()).alias(tokens)
        for tokens in ("input_tokens", "output_tokens")
    ]
    counts = ended.group_by(name).agg(pl.len().cast(pl.Int64).alias("requests"), *told)
    joined = counts.join(cost, on=name, how="full", coalesce=True)
    zero = ["requests", "busy_cost_nano", "full_cost_nano"]
    joined = joined.with_columns(pl.col(zero).fill_null(0))
    joined = joined.sort(["full_cost_nano", name], descending=[True, False])
    return joined.rename({name: "name"}).to_dicts()
