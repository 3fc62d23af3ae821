"""Who carries the cost: by model, project, session and key.

A request's busy cost is its own. Whatever else its pool costs, state by state, is shared out over
the finest combinations of labels in proportion to their busy cost, once and by largest remainder;
every grouping adds up those shares. So the groups of any grouping carry the same, and with what
no request carries (`unallocated`) each state's cost is complete.
"""

from typing import Any

import polars as pl

from analytics.allocate import largest_remainder
from analytics.day import spent
from analytics.rollup import KINDS, LABELS, WORK, known_sum
from analytics.states import STATES

NONE = "(none)"


def carried(work: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """What the combinations of pool and labels carry, of days' `work` and `cells`.

    Columns: pool, `LABELS` (None told as "(none)"), `WORK`, and by state its cost
    (`<state>_nano`): for `busy` the own cost and the share of the unattributed. A pool without
    busy cost has no combination that could carry its cost.
    """
    fine = ["pool", *LABELS]
    named = work.with_columns(pl.col(LABELS).fill_null(NONE))
    own = named.group_by(fine).agg(pl.col(WORK).sum())
    own = own.with_columns(own=pl.sum_horizontal(f"{kind}_nano" for kind in KINDS))
    own = own.filter(pl.col("own").sum().over("pool") > 0).sort(fine)
    shares = _shares(own.select(*fine, "own"), _by_pool(cells))
    wide = own.join(shares, on=fine, how="left", maintain_order="left")
    wide = wide.with_columns(pl.col(f"{state}_nano").fill_null(0) for state in STATES)
    return wide.with_columns(busy_nano=pl.col("busy_nano") + pl.col("own")).drop("own")


def _by_pool(cells: pl.DataFrame) -> pl.DataFrame:
    """What each pool costs by state beside its requests (pool, state, nano)."""
    beside = pl.when(pl.col("state") == "busy").then("unattributed_nano").otherwise(spent())
    found = cells.group_by("pool", "state").agg(beside.sum().alias("nano"))
    return found.filter(pl.col("nano") != 0)


def _shares(own: pl.DataFrame, cost: pl.DataFrame) -> pl.DataFrame:
    """Each pool's cost by state over its combinations, by their own busy cost."""
    parts = own.join(cost, on="pool")
    share = largest_remainder(
        parts, amount="nano", weight="own", by=["pool", "state"], order=LABELS
    )
    parts = parts.with_columns(share=share)
    sums = [
        pl.col("share").filter(pl.col("state") == state).sum().alias(f"{state}_nano")
        for state in STATES
    ]
    return parts.group_by("pool", *LABELS).agg(sums)


def groups(carried: pl.DataFrame, tallies: pl.DataFrame) -> dict[str, list[dict[str, Any]]]:
    """For each label its groups, dearest first, from `carried` and days' `tallies`.

    A group's tokens are None where none of its requests told them.
    """
    counted = tallies.with_columns(pl.col(LABELS).fill_null(NONE))
    return {name: _rows(name, carried, counted) for name in LABELS}


def _rows(name: str, carried: pl.DataFrame, counted: pl.DataFrame) -> list[dict[str, Any]]:
    states = [f"{state}_nano" for state in STATES]
    own = pl.sum_horizontal(f"{kind}_nano" for kind in KINDS).sum()
    cost = carried.group_by(name).agg(
        own.alias("busy_cost_nano"), pl.sum_horizontal(states).sum().alias("full_cost_nano")
    )
    counts = counted.group_by(name).agg(
        pl.col("requests").sum(),
        known_sum(pl.col("request_input_tokens")).alias("input_tokens"),
        known_sum(pl.col("request_output_tokens")).alias("output_tokens"),
    )
    joined = counts.join(cost, on=name, how="full", coalesce=True)
    zero = ["requests", "busy_cost_nano", "full_cost_nano"]
    joined = joined.with_columns(pl.col(zero).fill_null(0))
    joined = joined.sort(["full_cost_nano", name], descending=[True, False])
    return joined.rename({name: "name"}).to_dicts()
