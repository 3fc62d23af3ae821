"""Who carries the cost: by model, project, session and key.

A request's busy cost is its own. Whatever else its pool costs, state by state, is shared out over
the finest combinations of labels in proportion to their busy cost, once and by largest remainder;
every grouping adds up those shares. So the groups of any grouping carry the same, and with what
no request carries each state's cost is complete.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from analytics import marginal
from analytics.allocate import largest_remainder
from analytics.day import spent
from analytics.rollup import KINDS, LABELS, known_sum
from analytics.states import STATES
from analytics.utilization import Peak, steps, throughput

NONE = "(none)"
FINE = ["pool", *LABELS]
COSTS = [f"{state}_nano" for state in STATES]


def carried(work: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """What the combinations of pool and labels carry, of days' `work` and `cells`.

    Columns: pool, `LABELS` (None told as "(none)"), own (busy cost) and by state what they carry
    (`COSTS`), for `busy` the own cost and the share of the unattributed. A pool whose requests
    cost nothing in sum, or less where its assets' market value rose, shares out nothing.
    """
    named = work.with_columns(pl.col(LABELS).fill_null(NONE))
    nano = pl.sum_horizontal(f"{kind}_nano" for kind in KINDS)
    own = named.group_by(FINE).agg(nano.sum().alias("own")).sort(FINE)
    sharing = own.filter(pl.col("own").sum().over("pool") > 0)
    wide = own.join(_shares(sharing, _by_pool(cells)), on=FINE, how="left", maintain_order="left")
    wide = wide.with_columns(pl.col(COSTS).fill_null(0))
    return wide.with_columns(busy_nano=pl.col("busy_nano") + pl.col("own"))


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
    return parts.group_by(FINE).agg(sums)


def groups(
    carried: pl.DataFrame, work: pl.DataFrame, tallies: pl.DataFrame, found: Mapping[str, Peak]
) -> dict[str, list[dict[str, Any]]]:
    """For each label its groups, dearest first, from `carried` and days' `work` and `tallies`.

    A group's tokens are None where none of its attempts told them. Its throughput is its output
    tokens ÷ what the cards' peaks would have put out in its card time.
    """
    worked, told = (frame.with_columns(pl.col(LABELS).fill_null(NONE)) for frame in (work, tallies))
    return {label: _rows(label, carried, worked, told, found) for label in LABELS}


def _rows(
    label: str,
    carried: pl.DataFrame,
    work: pl.DataFrame,
    tallies: pl.DataFrame,
    found: Mapping[str, Peak],
) -> list[dict[str, Any]]:
    cost = carried.group_by(label).agg(pl.col("own", *COSTS).sum())
    summed = [f"{kind}_ns" for kind in KINDS] + marginal.MARGINAL
    time = work.group_by(label).agg(pl.col(summed).sum())
    counts = tallies.group_by(label).agg(
        pl.col("requests").sum(),
        known_sum(pl.col("input_tokens")),
        known_sum(pl.col("output_tokens")),
    )
    joined = counts.join(cost, on=label, how="full", coalesce=True)
    joined = joined.join(time, on=label, how="left")
    joined = joined.with_columns(
        pl.all().exclude(label, "input_tokens", "output_tokens").fill_null(0)
    )
    joined = joined.with_columns(full=pl.sum_horizontal(COSTS))
    joined = joined.sort(["full", label], descending=[True, False])
    by_card = _by_card(label, work)
    return [_row(row.pop(label), row, by_card, found) for row in joined.iter_rows(named=True)]


def _by_card(label: str, work: pl.DataFrame) -> dict[str, dict[str, int]]:
    """Card time of each group by card."""
    ns = pl.sum_horizontal(f"{kind}_ns" for kind in KINDS).sum()
    by_card: dict[str, dict[str, int]] = {}
    for name, card, time in work.group_by(label, "card").agg(ns).iter_rows():
        by_card.setdefault(name, {})[card] = time
    return by_card


def _row(
    name: str,
    row: dict[str, Any],
    by_card: Mapping[str, Mapping[str, int]],
    found: Mapping[str, Peak],
) -> dict[str, Any]:
    cost = {state: row[f"{state}_nano"] for state in STATES}
    kinds = {kind: row[f"{kind}_ns"] for kind in KINDS}
    tokens = row["output_tokens"] or 0
    ratio = throughput(by_card.get(name, {}), found, tokens)
    return {
        "name": name,
        "requests": row["requests"],
        "input_tokens": row["input_tokens"],
        "output_tokens": row["output_tokens"],
        "busy_cost_nano": row["own"],
        "full_cost_nano": row["full"],
        **marginal.figure(row, sum(kinds.values())),
        "states_cost_nano": cost,
        "card_time_ns": kinds,
        "throughput": None if ratio is None else float(ratio),
        "waterfall_nano_per_mtok": steps(cost, ratio, tokens),
    }
