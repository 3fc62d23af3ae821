"""Splitting integers without losing a unit: the largest remainder, group by group."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from analytics.intervals import Flags, Ints


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
    group, several = codes(frame, by)
    weights, amounts = (frame[name].cast(pl.Int64).to_numpy() for name in (weight, amount))
    whole = added(weights, group, several)[group]
    if (weights < 0).any():
        raise ValueError(f"a negative {weight} cannot split {amount}")
    if (whole <= 0).any():
        raise ValueError(f"a group of {list(by)} has no {weight} to split {amount} by")
    floor, rest = divided(amounts, weights, whole)
    parts = {"_group": pl.Series(group), "_floor": pl.Series(floor), "_rest": pl.Series(rest)}
    return top_up(frame.with_columns(**parts), amount=amount, by=["_group"], order=order)


def divided(amount: Ints, weight: Ints, whole: Ints) -> tuple[Ints, Ints]:
    """amount · weight ÷ whole, floor and rest, exactly, where 0 ≤ weight ≤ whole and 0 < whole.

    The floor is estimated in floating point. What the estimate leaves is small, so that it is
    exact although both products may wrap around int64; it mends the estimate.
    """
    about = amount * (weight / whole)
    error = np.abs(about).max(initial=0.0) * 2.0**-50 + 2
    if error * float(whole.max(initial=1)) >= 2.0**63:
        product = amount.astype(object) * weight
        return (product // whole).astype(np.int64), (product % whole).astype(np.int64)
    floor = np.floor(about).astype(np.int64)
    left = amount * weight - floor * whole
    more = left // whole
    return floor + more, left - more * whole


def top_up(
    parts: pl.DataFrame, *, amount: str, by: Sequence[str], order: Sequence[str]
) -> pl.Series:
    """Hand each group's missing units to its largest `_rest`, one each, ties by `order`.

    `parts` has `_floor` and `_rest` (Int64) beside the named columns; a group must miss at least
    nothing and at most one unit a row.
    """
    if parts.is_empty():
        return pl.Series("share", [], dtype=pl.Int64)
    group, floor, rest = codes(parts, by)[0], parts["_floor"].to_numpy(), parts["_rest"].to_numpy()
    size = np.bincount(group)
    given = added(floor, group, len(size))
    left = np.zeros(len(size), dtype=np.int64)
    left[group] = parts[amount].cast(pl.Int64).to_numpy() - given[group]
    if ((left < 0) | (left > size)).any():
        raise ValueError(f"the shares of a group of {list(by)} cannot be topped up to {amount}")
    # A group of one row misses nothing, and there may be many.
    short = np.flatnonzero(left[group] > 0)
    above, at, left = _cut_off(group[short], rest[short], left)
    at, share = short[at], floor.copy()
    share[short] += above
    ranked = at[_ranked(group[at], rest[at], ordering(parts.select(order)[at], order))]
    own = group[ranked]
    first = np.searchsorted(own, own, side="left")
    share[ranked] += np.arange(len(ranked)) - first < left[own]
    return pl.Series("share", share)


def _cut_off(group: Ints, rest: Ints, left: Ints) -> tuple[Flags, Ints, Ints]:
    """Rests told apart coarsely, so that few rows need to be ranked: which rows surely are among
    the `left` largest of their group, which may be, and how many of these are for each group."""
    steps = max(1, min(256, 4 * len(group) // len(left)))
    most = np.zeros(len(left), dtype=np.int64)
    np.maximum.at(most, group, rest)
    height = np.minimum((rest * (steps / (most + 1.0))[group]).astype(np.int64), steps - 1)
    level = group * steps + (steps - 1 - height)  # the highest first
    reached = np.bincount(level, minlength=len(left) * steps).reshape(len(left), steps)
    reached = reached.cumsum(axis=1)
    last = np.arange(len(left)) * steps + (reached < left[:, None]).sum(axis=1)
    before = np.concatenate(([0], reached.ravel()))[last] * (last % steps > 0)
    left = left - before
    return level < last[group], np.flatnonzero((level == last[group]) & (left > 0)[group]), left


def _ranked(group: Ints, rest: Ints, order: Ints) -> Ints:
    """The rows by group, the largest rest first, ties by order."""
    return np.lexsort((order, -rest, group))


def added(amounts: Ints, place: Ints, places: int) -> Ints:
    """The sums of the amounts at each of so many places, exactly."""
    sums = np.zeros(places, dtype=np.int64)
    np.add.at(sums, place, amounts)
    return sums


def codes(frame: pl.DataFrame, columns: Sequence[str]) -> tuple[Ints, int]:
    """Each row's place among the combinations of some columns, in their order, and how many
    places there are: not many more than rows."""
    found, count = _numbers(frame, columns)
    if count > 4 * len(frame) + 2**16:
        known, found = np.unique(found, return_inverse=True)
        count = len(known)
    return found, count


def ordering(frame: pl.DataFrame, columns: Sequence[str]) -> Ints:
    """A number for each row, in the order of the combinations of some columns."""
    return _numbers(frame, columns)[0]


def _numbers(frame: pl.DataFrame, columns: Sequence[str]) -> tuple[Ints, int]:
    numbers: Ints = np.zeros(len(frame), dtype=np.int64)
    count = 1
    for column in columns:
        own, several = _code(frame[column])
        if count * several >= 2**62:
            known, numbers = np.unique(numbers, return_inverse=True)
            count = len(known)
        numbers, count = numbers * several + own, count * several
    return numbers, count


def _code(values: pl.Series) -> tuple[Ints, int]:
    """Each value's place among the values in their order, and how many there are."""
    if values.has_nulls():
        raise ValueError(f"{values.name} must be known of every row")
    if values.dtype == pl.Enum:
        values = values.to_physical()
    if values.dtype == pl.Boolean:
        return values.cast(pl.Int64).to_numpy(), 2
    low, high = (values.min(), values.max()) if values.dtype.is_integer() else (0, None)
    if high is not None and high - low < 4 * len(values) + 2**16:  # type: ignore[operator]
        return values.cast(pl.Int64).to_numpy() - low, high - low + 1  # type: ignore[operator,return-value]
    found = values.unique().sort()
    if values.dtype.is_integer():
        return np.searchsorted(found.to_numpy(), values.to_numpy()), len(found)
    return values.cast(pl.Enum(found)).to_physical().cast(pl.Int64).to_numpy(), len(found)
