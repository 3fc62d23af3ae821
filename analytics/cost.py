"""Cost at the leaf: line × bucket × card × state × request, rounded there and nowhere else.

Lines are the assets (`capital`), other costs (`other`), and the cards' and the host's electricity
(`energy`, see `electricity`). Whoever groups, groups leaves.
"""

from collections.abc import Sequence

import polars as pl

from analytics.allocate import largest_remainder
from analytics.lines import Line, by_card

NO_REQUEST = -1
LEAF = ["card", "bucket_ns", "state", "request", "kind", "leaf"]


def time_leaves(segments: pl.DataFrame, shares: pl.DataFrame) -> pl.DataFrame:
    """Capacity cut to leaves: `LEAF` columns and ns; Σ ns per card and bucket is its capacity.

    `leaf` is a leaf's number in the order of the other columns, hence of ties, and its row.
    Busy time goes to the requests by card time; what none of them computed in is a busy leaf
    without a request (`NO_REQUEST`, kind `unattributed`).
    """
    states = _time(segments, ["card", "bucket_ns", "state"])
    taken = shares.group_by("card", "bucket_ns").agg(pl.col("ns").sum().alias("taken"))
    states = states.join(taken, on=["card", "bucket_ns"], how="left")
    rest = pl.when(pl.col("state") == "busy").then(pl.col("taken").fill_null(0)).otherwise(0)
    kind = pl.when(pl.col("state") == "busy").then(pl.lit("unattributed")).otherwise(pl.lit(""))
    alone = states.with_columns(
        ns=pl.col("ns") - rest, request=pl.lit(NO_REQUEST, dtype=pl.Int64), kind=kind
    ).filter(pl.col("ns") != 0)
    own = shares.with_columns(state=pl.lit("busy")).filter(pl.col("ns") > 0)
    columns = [*LEAF[:-1], "ns"]
    leaves = pl.concat([alone.select(columns), own.select(columns)]).sort(LEAF[:-1])
    return leaves.with_columns(leaf=pl.int_range(pl.len()))


def line_leaves(
    lines: Sequence[Line], leaves: pl.DataFrame, bounds: Sequence[int]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Assets and other costs on the leaves by time (line, category, `LEAF`, nano), and the
    unassigned (line, category, bucket_ns, nano)."""
    capacity = _sum(leaves, ["card", "bucket_ns"], "ns")
    assigned, unassigned = by_card(lines, capacity, bounds)
    cost = assigned.join(leaves, on=["card", "bucket_ns"])
    nano = largest_remainder(
        cost, amount="nano", weight="ns", by=["number", "card", "bucket_ns"], order=["leaf"]
    )
    cost = cost.with_columns(nano=nano)
    return cost.select("line", "category", *LEAF, "nano"), unassigned.drop("number")


def _time(segments: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    timed = segments.with_columns(ns=pl.col("end_ns") - pl.col("start_ns"))
    return _sum(timed, by, "ns").sort(by)


def _sum(frame: pl.DataFrame, by: Sequence[str], column: str) -> pl.DataFrame:
    return frame.group_by(by).agg(pl.col(column).sum())
