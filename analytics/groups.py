"""Cost by model, project and session: busy cost by leaves, full cost by pools."""

from typing import Any

import polars as pl

from analytics.allocate import largest_remainder
from analytics.books import Books

NONE = "(none)"
GROUPINGS = ("model", "project", "session")


def groups(books: Books, ended: pl.DataFrame) -> tuple[dict[str, list[dict[str, Any]]], int]:
    """For each grouping its rows, dearest first, and the cost that no request can carry.

    A group's full cost is its busy cost × (its pool's whole cost ÷ its pool's busy cost); a pool
    without busy cost, and cost without capacity, stay unallocated.
    """
    pools = pl.DataFrame(
        [(card.uuid, "+".join(card.pools) or card.uuid) for card in books.cards],
        schema={"card": pl.String, "pool": pl.String},
        orient="row",
    )
    money = books.money.join(pools, on="card")
    whole = money.group_by("pool").agg(pl.col("nano").sum().alias("whole"))
    busy = money.filter(pl.col("request") >= 0).group_by("pool", "request").agg(
        pl.col("nano").sum().alias("busy")
    )  # fmt: skip
    shared = busy.join(whole, on="pool").filter(pl.col("busy").sum().over("pool") > 0)
    carried = shared.with_columns(
        full=largest_remainder(
            shared, amount="whole", weight="busy", by=["pool"], order=["request"]
        )
    )
    spent = int(money["nano"].sum()) + int(books.unassigned["nano"].sum())
    unallocated = spent - int(carried["full"].sum())
    labels = books.rows.unique("request").select("request", *GROUPINGS)
    labels = labels.with_columns(pl.col(GROUPINGS).fill_null(NONE))
    carried = carried.join(labels, on="request", how="left")
    counted = ended.join(labels.select("request"), on="request", how="semi").with_columns(
        pl.col(GROUPINGS).fill_null(NONE)
    )
    return {name: _rows(name, carried, counted) for name in GROUPINGS}, unallocated


def _rows(name: str, carried: pl.DataFrame, ended: pl.DataFrame) -> list[dict[str, Any]]:
    cost = carried.group_by(name).agg(
        pl.col("busy").sum().alias("busy_cost_nano"), pl.col("full").sum().alias("full_cost_nano")
    )
    counts = ended.group_by(name).agg(
        pl.len().cast(pl.Int64).alias("requests"),
        pl.col("input_tokens").sum(),
        pl.col("output_tokens").sum(),
    )
    joined = counts.join(cost, on=name, how="full", coalesce=True).fill_null(0)
    joined = joined.sort(["full_cost_nano", name], descending=[True, False])
    return joined.rename({name: "name"}).to_dicts()
