"""Whose the marginal cost is: busy energy above idle draw, shared among the requests of a cell.

A cell (card, 15 minutes) tells its own; its busy leaves take it by time, as they take all busy
energy. A cell without a reading, an idle draw or a price tells none.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from analytics.allocate import largest_remainder
from analytics.cost import CELL, on_leaves

# In money; and the busy time of cells that tell any, and of those measured throughout.
MARGINAL = ["marginal_nano", "marginal_known_ns", "marginal_whole_ns"]


def told() -> pl.Expr:
    """Whether a row of `cells` tells its marginal cost."""
    busy, known = pl.col("state") == "busy", pl.col("known_ns") > 0
    return busy & known & pl.col("marginal_nano").is_not_null()


def sums() -> list[pl.Expr]:
    """`MARGINAL` of rows of `cells`."""
    whole = told() & (pl.col("known_ns") == pl.col("ns"))
    figures = (("marginal_nano", told()), ("ns", told()), ("ns", whole))
    return [
        pl.col(figure).filter(which).sum().alias(name)
        for name, (figure, which) in zip(MARGINAL, figures, strict=True)
    ]


def shared(leaves: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """Leaves of time (`cost.time_leaves`) with `MARGINAL`; the busy ones of a cell add up to what
    it tells, all others have none."""
    whole = pl.col("known_ns") == pl.col("ns")
    cells = cells.filter(told()).select(*CELL, amount="marginal_nano", is_whole=whole)
    parts = on_leaves(cells, leaves, "cell")
    known = parts["amount"].is_not_null()
    nano = np.zeros(len(parts), dtype=np.int64)
    nano[known.to_numpy()] = largest_remainder(
        parts.filter(known), amount="amount", weight="ns", by=["cell"], order=["leaf"]
    )
    return parts.with_columns(
        marginal_nano=pl.Series(nano),
        marginal_known_ns=pl.when(known).then("ns").otherwise(0),
        marginal_whole_ns=pl.when("is_whole").then("ns").otherwise(0),
    ).drop("amount", "is_whole")


def figure(row: Mapping[str, Any], busy_ns: int) -> dict[str, Any]:
    """A group's marginal cost from its `MARGINAL` and its busy time: None where nothing tells
    it, and at least so much where some of the time was not measured."""
    known = row["marginal_known_ns"] > 0
    return {
        "marginal_cost_nano": row["marginal_nano"] if known else None,
        "marginal_at_least": row["marginal_whole_ns"] < busy_ns,
    }
