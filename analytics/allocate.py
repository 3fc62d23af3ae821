"""Splitting integers without losing a unit: the largest remainder, group by group."""

from collections.abc import Sequence

import polars as pl


def largest_remainder(
    frame: pl.DataFrame, *, amount: str, weight: str, by: Sequence[str], order: Sequence[str]
) -> pl.Series:
    """Split each group's `amount` over its rows in proportion to `weight`, in whole units.

    `amount` is constant within a group of `by` and may be negative; `weight` is a non-negative
    integer. Shares are floored, then the units left over go to the largest remainders, ties by
    `order`. Each group's shares sum to its amount exactly. A group whose weights are all zero
    cannot be split: ValueError, since money without a place must be booked elsewhere.

    Returns an Int64 series aligned with the frame's rows.
    """
    if frame.is_empty():
        return pl.Series("share", [], dtype=pl.Int64)
    whole = pl.col(weight).cast(pl.Int128).sum().over(by)
    product = pl.col(amount).cast(pl.Int128) * pl.col(weight).cast(pl.Int128)
    parts = frame.with_row_index("_row").with_columns(_whole=whole, _product=product)
    if parts.select((pl.col("_whole") <= 0).any()).item():
        raise ValueError(f"a group of {list(by)} has no {weight} to split {amount} by")
    parts = parts.with_columns(
        _floor=(pl.col("_product") // pl.col("_whole")).cast(pl.Int64),
        _rest=pl.col("_product") % pl.col("_whole"),
    )
    return top_up(parts, amount=amount, by=by, order=order)


def top_up(
    parts: pl.DataFrame, *, amount: str, by: Sequence[str], order: Sequence[str]
) -> pl.Series:
    """Hand each group's missing units to its largest `_rest`, one each, ties by `order`.

    `parts` has `_row`, `_floor` and `_rest` beside the named columns; a group must miss at least
    nothing and at most one unit a row.
    """
    left = pl.col(amount) - pl.col("_floor").sum().over(by)
    ranked = (
        parts.sort(["_rest", *order], descending=[True] + [False] * len(order))
        .with_columns(_rank=pl.int_range(pl.len()).over(by), _left=left)
        .with_columns(share=pl.col("_floor") + (pl.col("_rank") < pl.col("_left")).cast(pl.Int64))
    )
    over = ranked.select(((pl.col("_left") < 0) | (pl.col("_left") > pl.len().over(by))).any())
    if over.item():
        raise ValueError(f"the shares of a group of {list(by)} cannot be topped up to {amount}")
    return ranked.sort("_row")["share"]
