"""Cost at the leaf: line × bucket × card × state × request, rounded there and nowhere else.

Lines are the assets (`capital`), other costs (`other`), and the cards' and the host's electricity
(`energy`, see `electricity`). Whoever groups, groups leaves.
"""

from collections.abc import Sequence

import polars as pl

from analytics.allocate import largest_remainder, ordering
from analytics.card_time import KIND as WORKED
from analytics.lines import Line, by_card
from analytics.states import STATES

NO_REQUEST = -1
PLACE = ["card", "bucket_ns"]
CELL = [*PLACE, "state"]
LEAF = [*CELL, "request", "kind"]
STATE = pl.Enum(sorted(STATES))
KIND = pl.Enum(sorted(("", "unattributed", *WORKED.categories)))
MONEY = {"line": pl.String, "category": pl.String, "leaf": pl.Int64, "nano": pl.Int64}


def time_leaves(segments: pl.DataFrame, shares: pl.DataFrame) -> pl.DataFrame:
    """Capacity cut to leaves: `LEAF` columns and ns; Σ ns per card and bucket is its capacity.

    They stand in the order of these columns, hence of ties, and are `numbered` in it. Busy time
    goes to the requests by card time; what none of them computed in is a busy leaf without a
    request (`NO_REQUEST`, kind `unattributed`).
    """
    # Names are compared and sorted as numbers.
    cards = pl.Enum(segments["card"].unique().sort())
    states = _time(segments.cast({"card": cards, "state": STATE}), CELL)
    own = shares.filter(pl.col("ns") > 0).cast({"card": cards, "kind": KIND})
    own = own.with_columns(state=pl.lit("busy", dtype=STATE))
    taken = _sum(own, PLACE, "ns").rename({"ns": "taken"})
    busy = pl.col("state") == "busy"
    rest = pl.when(busy).then(pl.col("taken").fill_null(0)).otherwise(0)
    alone = states.join(taken, on=PLACE, how="left").with_columns(
        ns=pl.col("ns") - rest,
        request=pl.lit(NO_REQUEST, dtype=pl.Int64),
        kind=pl.when(busy).then(pl.lit("unattributed")).otherwise(pl.lit("")).cast(KIND),
    )
    alone = alone.filter(pl.col("ns") != 0)
    leaves = pl.concat(part.select(*LEAF, "ns") for part in (alone, own))
    # To sort by one number is a tenth of the work of sorting by five columns.
    leaves = leaves.with_columns(leaf=pl.Series(ordering(leaves, LEAF))).sort("leaf")
    return numbered(leaves).with_columns(pl.col("card", "state", "kind").cast(pl.String))


def numbered(leaves: pl.DataFrame) -> pl.DataFrame:
    """Leaves in the order of `LEAF` with the numbers of themselves, of their `CELL` and of
    their `PLACE`: `leaf`, `cell` and `place`, each from nought."""
    moved = pl.any_horizontal(pl.col(PLACE) != pl.col(PLACE).shift(1)).fill_null(False)
    turned = (pl.col("state") != pl.col("state").shift(1)).fill_null(False)
    return leaves.with_columns(
        leaf=pl.int_range(pl.len()), place=moved.cum_sum(), cell=(moved | turned).cum_sum()
    )


def on_leaves(amounts: pl.DataFrame, leaves: pl.DataFrame, by: str) -> pl.DataFrame:
    """The leaves with what is told once of each `cell` or each `place`: the columns of `amounts`
    beside `CELL` or `PLACE`, None where nothing is told."""
    keys = {"cell": CELL, "place": PLACE}[by]
    known = leaves.unique(by, keep="first", maintain_order=True).select(keys)
    told = known.join(amounts, on=keys, how="left", maintain_order="left").drop(keys)
    return leaves.hstack(told[leaves[by].to_numpy()])


def line_leaves(
    lines: Sequence[Line], leaves: pl.DataFrame, bounds: Sequence[int]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Assets and other costs on the leaves by time (`MONEY`), and the unassigned (line, category,
    bucket_ns, nano)."""
    capacity = _sum(leaves, PLACE, "ns")
    assigned, unassigned = by_card(lines, capacity, bounds)
    money = [pl.DataFrame(schema=MONEY)]
    for amounts in assigned.partition_by("number"):
        money.append(split(amounts.drop("number"), leaves, "place", "ns"))
    return pl.concat(money), unassigned.drop("number")


def split(amounts: pl.DataFrame, leaves: pl.DataFrame, by: str, weight: str) -> pl.DataFrame:
    """Amounts of money of one line by `cell` or `place` (`CELL` or `PLACE`, line, category, nano)
    on the leaves by a weight of theirs: `MONEY`."""
    found = on_leaves(amounts, leaves, by).drop_nulls("nano").filter(pl.col(weight) > 0)
    nano = largest_remainder(found, amount="nano", weight=weight, by=[by], order=["leaf"])
    return found.with_columns(nano=nano).select(*MONEY)


def _time(segments: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    timed = segments.with_columns(ns=pl.col("end_ns") - pl.col("start_ns"))
    return _sum(timed, by, "ns").sort(by)


def _sum(frame: pl.DataFrame, by: Sequence[str], column: str) -> pl.DataFrame:
    return frame.group_by(by).agg(pl.col(column).sum())
