"""Cost lines: each asset and each other cost as a whole amount of nano-units up to any instant.

What a span costs is the difference of two such amounts, so spans that meet add up exactly,
wherever they are cut. The exact amount is floored once, where it is booked.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import polars as pl

from analytics.allocate import largest_remainder


@dataclass(frozen=True)
class Line:
    """A cost: its name and category, the cards that carry it (without any, all do), and what it
    has cost up to an instant, nano-units."""

    name: str
    category: str
    cards: tuple[str, ...]
    booked: Callable[[int], int]


def floored(exact: Callable[[int], Fraction]) -> Callable[[int], int]:
    """An exact cumulative amount as it is booked: floored to the nano, once."""
    return lambda at_ns: math.floor(exact(at_ns))


def by_card(
    lines: Sequence[Line], capacity: pl.DataFrame, bounds: Sequence[int]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Each line's cost per bucket, on its cards by their capacity time in that bucket.

    `capacity` has card, bucket_ns and ns; `bounds` are the buckets' bounds, both ends included.
    Returns (number, line, category, card, bucket_ns, nano), `number` telling lines of one name
    apart, and, for cost that met no capacity at all, the unassigned without card.
    """
    amounts = pl.concat([_AMOUNTS, *(_amounts(*each, bounds) for each in enumerate(lines))])
    carried = pl.DataFrame(
        [
            (number, card)
            for card in capacity["card"].unique()
            for number, line in enumerate(lines)
            if not line.cards or card in line.cards
        ],
        schema={"number": pl.Int64, "card": pl.String},
        orient="row",
    )
    places = carried.join(capacity.filter(pl.col("ns") > 0), on="card")
    by = ["number", "bucket_ns"]
    assigned = amounts.join(places, on=by)
    share = largest_remainder(assigned, amount="nano", weight="ns", by=by, order=["card"])
    assigned = assigned.with_columns(nano=share).select(*_AMOUNTS.columns, "card")
    return assigned, amounts.join(places, on=by, how="anti")


_AMOUNTS = pl.DataFrame(
    schema={
        "number": pl.Int64,
        "line": pl.String,
        "category": pl.String,
        "bucket_ns": pl.Int64,
        "nano": pl.Int64,
    }
)


def _amounts(number: int, line: Line, bounds: Sequence[int]) -> pl.DataFrame:
    reached = [line.booked(at) for at in bounds]
    amounts = [after - before for before, after in pairwise(reached)]
    rows = pl.DataFrame(
        {"bucket_ns": list(bounds[:-1]), "nano": amounts},
        schema={"bucket_ns": pl.Int64, "nano": pl.Int64},
    )
    rows = rows.with_columns(
        number=pl.lit(number, pl.Int64), line=pl.lit(line.name), category=pl.lit(line.category)
    )
    return rows.select(_AMOUNTS.columns).filter(pl.col("nano") != 0)
