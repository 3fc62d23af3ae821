"""Charges: a period's whole cost as rows by day, card, what was done and what it was spent on.

The rows that FOCUS and other bills are made of. They only add leaves, so they add up to the
period's cost exactly.
"""

from typing import Any

import polars as pl

from analytics.allocate import largest_remainder
from analytics.day import Day
from analytics.rollup import CATEGORIES, KINDS, SPENT, known_sum
from analytics.states import UNASSIGNED

TOKENS = ["input_tokens", "cache_read_tokens", "output_tokens"]
BY = ["card", "state", "model"]
NS = pl.sum_horizontal(f"{kind}_ns" for kind in KINDS)


def charges(days: list[Day]) -> list[dict[str, Any]]:
    """One row per day, card, state and, where busy, model, and category with money or time in it.

    day, from_ns, to_ns; card (None: no card had capacity); state of the card, `unattributed` where
    it was busy for no request in particular, `unassigned` where there was no card; model (None:
    untold or not busy); category: capital, energy or other; nano; ns of the card. Requests and
    known tokens of what ended in the day stand once, in the row of capital, where a model was busy
    (tokens None where no request told them); they are None elsewhere.
    """
    return [row for day in days for row in _day(day)]


def _day(day: Day) -> list[dict[str, Any]]:
    told = pl.concat([_busy(day), _rest(day), _unassigned(day)], how="diagonal")
    rows = []
    for found in told.sort(BY, nulls_last=True).iter_rows(named=True):
        counts = {name: found[name] for name in ("requests", *TOKENS)}
        for category in CATEGORIES:
            nano, first = found[f"{category}_nano"], category == "capital"
            if nano or (first and (found["ns"] or any(counts.values()))):
                rows.append(
                    {
                        "day": day.name,
                        "from_ns": day.from_ns,
                        "to_ns": day.to_ns,
                        **{name: found[name] for name in BY},
                        "category": category,
                        "nano": nano,
                        "ns": found["ns"],
                        **(counts if first else dict.fromkeys(counts)),
                    }
                )
    return rows


def _busy(day: Day) -> pl.DataFrame:
    """Requests' time and money by card and model, and what ended in the day."""
    work = day.work.with_columns(ns=NS).group_by("card", "model").agg(pl.col("ns", *SPENT).sum())
    both = work.join(_ended(day), on=["card", "model"], how="full", coalesce=True, nulls_equal=True)
    nothing = pl.col("requests").is_null()
    both = both.with_columns(pl.when(nothing).then(0).otherwise(pl.col(TOKENS)).name.keep())
    zero = pl.col("ns", *SPENT, "requests").fill_null(0)
    return both.with_columns(zero, state=pl.lit("busy"))


def _ended(day: Day) -> pl.DataFrame:
    """What ended in the day by card and model; a request on several cards is shared out evenly,
    one without card time that day is on no card."""
    names, figures = ["source", "event_id"], ["is_request", *TOKENS]
    ended = day.ended(*names, "model", *figures).with_columns(pl.col("is_request").cast(pl.Int64))
    placed = ended.join(day.costs(*names, "card"), on=names, how="left")
    several = pl.struct(names).is_duplicated()
    placed = pl.concat([placed.filter(~several), _shared(placed.filter(several), names, figures)])
    sums = placed.group_by("card", "model").agg(
        known_sum(pl.col(name)).alias(name) for name in figures
    )
    return sums.rename({"is_request": "requests"})


def _shared(placed: pl.DataFrame, names: list[str], figures: list[str]) -> pl.DataFrame:
    """Rows of one request each, with its figures shared out evenly over them."""
    placed = placed.with_columns(even=pl.lit(1, pl.Int64))
    for figure in figures:
        known = placed.with_columns(pl.col(figure).fill_null(0))
        share = largest_remainder(known, amount=figure, weight="even", by=names, order=["card"])
        told = pl.when(pl.col(figure).is_not_null()).then(share)
        placed = placed.with_columns(told.alias(figure))
    return placed.drop("even")


def _rest(day: Day) -> pl.DataFrame:
    """Time and money of the cards that no request carries."""
    own = day.work.group_by("card").agg(
        NS.sum().alias("own_ns"),
        *(pl.col(name).sum().alias(f"own_{name}") for name in SPENT),
    )
    busy = pl.col("state") == "busy"
    cells = day.cells.group_by("card", "state").agg(pl.col("ns", *SPENT).sum())
    cells = cells.join(own, on="card", how="left")
    less = [
        (pl.col(name) - pl.when(busy).then(pl.col(f"own_{name}").fill_null(0)).otherwise(0)).alias(
            name
        )
        for name in ("ns", *SPENT)
    ]
    state = pl.when(busy).then(pl.lit("unattributed")).otherwise("state")
    left = cells.with_columns(*less, state=state).select("card", "state", "ns", *SPENT)
    return left.filter(pl.any_horizontal(pl.col("ns", *SPENT) != 0))


def _unassigned(day: Day) -> pl.DataFrame:
    """Cost that met no card with capacity."""
    left = {f"{name}_nano": nano for name, nano in day.facts["unassigned_nano"].items()}
    row = {"state": UNASSIGNED, "ns": 0, **left}
    return pl.DataFrame(
        [row] if any(left.values()) else [],
        schema=dict.fromkeys(row, pl.Int64) | {"state": pl.String},
    )
