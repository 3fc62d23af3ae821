"""Splitting integers without losing a unit: the largest remainder, group by group."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from analytics.intervals import Ints


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
    group = pl.Series("_group", _codes(frame, by))
    whole = pl.col(weight).cast(pl.Int64).sum().over("_group").cast(pl.Int128)
    product = pl.col(amount).cast(pl.Int128) * pl.col(weight).cast(pl.Int128)
    parts = frame.with_columns(group).with_columns(_whole=whole, _product=product)
    if parts.select((pl.col("_whole") <= 0).any()).item():
        raise ValueError(f"a group of {list(by)} has no {weight} to split {amount} by")
    parts = parts.with_columns(
        _floor=(pl.col("_product") // pl.col("_whole")).cast(pl.Int64),
        _rest=(pl.col("_product") % pl.col("_whole")).cast(pl.Int64),
    )
    return top_up(parts, amount=amount, by=["_group"], order=order)


def top_up(
    parts: pl.DataFrame, *, amount: str, by: Sequence[str], order: Sequence[str]
) -> pl.Series:
    """Hand each group's missing units to its largest `_rest`, one each, ties by `order`.

    `parts` has `_floor` and `_rest` (Int64) beside the named columns; a group must miss at least
    nothing and at most one unit a row.
    """
    if parts.is_empty():
        return pl.Series("share", [], dtype=pl.Int64)
    group, floor = _codes(parts, by), parts["_floor"].to_numpy()
    given = np.zeros(int(group.max()) + 1, dtype=np.int64)
    np.add.at(given, group, floor)
    size = np.bincount(group)
    left = parts[amount].cast(pl.Int64).to_numpy() - given[group]
    if ((left < 0) | (left > size[group])).any():
        raise ValueError(f"the shares of a group of {list(by)} cannot be topped up to {amount}")
    ranked = _ranked(group, parts["_rest"].to_numpy(), _codes(parts, order))
    rank = np.arange(len(ranked)) - (np.cumsum(size) - size)[group[ranked]]
    share = floor.copy()
    share[ranked] += rank < left[ranked]
    return pl.Series("share", share)


def _ranked(group: Ints, rest: Ints, order: Ints) -> Ints:
    """The rows by group, the largest rest first, ties by order: stable sorts, last key first."""
    ranked: Ints = np.arange(len(group))
    if (np.diff(order) < 0).any():
        ranked = np.argsort(order, kind="stable")
    ranked = ranked[np.argsort(-rest[ranked], kind="stable")]
    # Sixteen bits are sorted by their digits, in a tenth of the time.
    small = group.astype(np.uint16) if group.max() < 2**16 else group
    return ranked[np.argsort(small[ranked], kind="stable")]


def _codes(frame: pl.DataFrame, columns: Sequence[str]) -> Ints:
    """Each row's place among the combinations of some columns, in their order."""
    codes: Ints = np.zeros(len(frame), dtype=np.int64)
    count = 1
    for column in columns:
        own, several = _code(frame[column])
        codes, count = codes * several + own, count * several
        if count > 4 * len(frame) + 2**16:
            found, codes = np.unique(codes, return_inverse=True)
            count = len(found)
    return codes


def _code(values: pl.Series) -> tuple[Ints, int]:
    """Each value's place among the values in their order, and how many there are."""
    if values.has_nulls():
        raise ValueError(f"{values.name} must be known of every row")
    if values.dtype == pl.Boolean:
        return values.cast(pl.Int64).to_numpy(), 2
    low, high = (values.min(), values.max()) if values.dtype.is_integer() else (0, None)
    if high is not None and high - low < 4 * len(values) + 2**16:  # type: ignore[operator]
        return values.cast(pl.Int64).to_numpy() - low, high - low + 1  # type: ignore[operator,return-value]
    found = values.unique().sort()
    if values.dtype.is_integer():
        return np.searchsorted(found.to_numpy(), values.to_numpy()), len(found)
    return values.cast(pl.Enum(found)).to_physical().cast(pl.Int64).to_numpy(), len(found)
