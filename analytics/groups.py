"""Who carries the cost: by model, project, session and key.

A request's busy cost is its own. Whatever else its pool costs, state by state, is shared out over
the finest combinations of labels in proportion to their busy cost, once and by largest remainder;
every grouping adds up those shares. So the groups of any grouping carry the same, and with what
no request carries each state's cost is complete.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from analytics import marginal
from analytics.allocate import codes, largest_remainder
from analytics.day import spent
from analytics.rollup import KINDS, LABELS, known_sum
from analytics.states import STATES
from analytics.utilization import Peak, steps, throughput

NONE, OTHERS = "(none)", "(others)"
SHOWN = 1000  # groups of a label that are told one by one
FINE = ["pool", *LABELS]
COSTS = [f"{state}_nano" for state in STATES]
TIME = [f"{kind}_ns" for kind in KINDS]


def called(label: str, name: str) -> str:
    """What people call a group of a label: one of no name is of requests that told none."""
    return f"no {label} told" if name == NONE else name


def named(work: pl.DataFrame, tallies: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Days' `work` and `tallies` with labels as enumerations in the order of their names, so that
    a million sessions are added up as numbers; where there is no label it is "(none)"."""
    filled = [pl.col(label).fill_null(NONE) for label in LABELS]
    work, tallies = work.with_columns(filled), tallies.with_columns(filled)
    kinds = [pl.col(label).cast(_names(work[label], tallies[label])) for label in LABELS]
    return work.with_columns(kinds), tallies.with_columns(kinds)


def _names(*columns: pl.Series) -> pl.Enum:
    return pl.Enum(pl.concat([column.unique() for column in columns]).unique().sort())


def carried(work: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """What the combinations of pool and labels carry, of days' `work` (`named`) and `cells`.

    Columns: pool, `LABELS`, own (busy cost) and by state what they carry (`COSTS`), for `busy`
    the own cost and the share of the unattributed. A pool whose requests cost nothing in sum, or
    of which any costs less than nothing as its assets' market value rose, shares out nothing.
    """
    nano = pl.sum_horizontal(f"{kind}_nano" for kind in KINDS)
    work = work.with_columns(place=pl.Series(codes(work, FINE)[0]))
    own = work.group_by("place").agg(pl.col(FINE).first(), own=nano.sum()).sort("place")
    whole = pl.when(pl.col("own").min().over("pool") >= 0).then(pl.col("own").sum().over("pool"))
    own = own.with_columns(whole=whole.fill_null(0))
    shares = [_shared(own, state, cost) for state, cost in _by_pool(cells).items()]
    wide = own.drop("place", "whole").with_columns(shares)
    return wide.with_columns(busy_nano=pl.col("busy_nano") + pl.col("own"))


def _by_pool(cells: pl.DataFrame) -> dict[str, dict[str, int]]:
    """By state, what each pool costs beside its requests."""
    beside = pl.when(pl.col("state") == "busy").then("unattributed_nano").otherwise(spent())
    found: dict[str, dict[str, int]] = {state: {} for state in STATES}
    for pool, state, nano in cells.group_by("pool", "state").agg(beside.sum()).iter_rows():
        found[state][pool] = nano
    return found


def _shared(own: pl.DataFrame, state: str, cost: Mapping[str, int]) -> pl.Series:
    """Each pool's cost of a state over its combinations, by their own busy cost."""
    nano = pl.col("pool").replace_strict(cost, default=0, return_dtype=pl.Int64)
    own = own.with_columns(nano=nano)
    sharing = (pl.col("whole") > 0) & (pl.col("nano") != 0)
    share = np.zeros(len(own), dtype=np.int64)
    share[own.select(sharing).to_series().to_numpy()] = largest_remainder(
        own.filter(sharing), amount="nano", weight="own", by=["pool"], order=["place"]
    )
    return pl.Series(f"{state}_nano", share)


def groups(
    carried: pl.DataFrame, work: pl.DataFrame, tallies: pl.DataFrame, found: Mapping[str, Peak]
) -> dict[str, list[dict[str, Any]]]:
    """For each label its groups, dearest first, from `carried` and days' `work` and `tallies`
    (`named`); beyond the dearest `SHOWN` all others are one group, the last.

    `groups` tells how many are in it, and its name is no label of the others that stand there. A
    group's tokens are None where none of its attempts told them. Its throughput is its output
    tokens ÷ what the cards' peaks would have put out in its card time, None without known tokens.
    """
    return {label: _rows(label, carried, work, tallies, found) for label in LABELS}


def _rows(
    label: str,
    carried: pl.DataFrame,
    work: pl.DataFrame,
    tallies: pl.DataFrame,
    found: Mapping[str, Peak],
) -> list[dict[str, Any]]:
    names = _ranked(label, carried, tallies)
    place = _place(names)
    work, tallies, carried = (
        frame.with_columns(place=place.gather(frame[label].to_physical()))
        for frame in (work, tallies, carried)
    )
    cost = carried.group_by("place").agg(pl.col("own", *COSTS).sum())
    time = work.group_by("place").agg(pl.col(TIME + marginal.MARGINAL).sum())
    counts = tallies.group_by("place").agg(
        pl.col("requests").sum(),
        known_sum(pl.col("input_tokens")),
        known_sum(pl.col("output_tokens")),
    )
    rows = pl.DataFrame({"place": place.unique().sort()})
    for more in (counts, cost, time):
        rows = rows.join(more, on="place", how="left", maintain_order="left")
    rows = rows.with_columns(pl.all().exclude("input_tokens", "output_tokens").fill_null(0))
    by_card = _by_card(work)
    told = [
        _row(names[at], row, by_card.get(at, {}), found)
        for at, row in enumerate(rows.iter_rows(named=True))
    ]
    if len(names) > SHOWN:
        told[-1] |= {"name": _of_others(names.head(SHOWN)), "groups": len(names) - SHOWN}
    return told


def _of_others(shown: pl.Series) -> str:
    """What the group of all others is called: a label may really be called "(others)"."""
    name, taken = OTHERS, set(shown)
    while name in taken:
        name = f"({name})"
    return name


def _ranked(label: str, carried: pl.DataFrame, tallies: pl.DataFrame) -> pl.Series:
    """Every name of a label, those that carry most first."""
    full = carried.group_by(label).agg(full=pl.sum_horizontal(COSTS).sum())
    every = full.join(tallies.select(pl.col(label).unique()), on=label, how="full", coalesce=True)
    every = every.with_columns(pl.col("full").fill_null(0))
    return every.sort("full", label, descending=[True, False])[label]


def _place(names: pl.Series) -> pl.Series:
    """By a name's number, its place in the order, the last being that of all others."""
    place = np.empty(len(names), dtype=np.int64)
    place[names.to_physical().to_numpy()] = np.minimum(np.arange(len(names)), SHOWN)
    return pl.Series("place", place)


def _by_card(work: pl.DataFrame) -> dict[int, dict[str, int]]:
    """Card time of each group by card."""
    by_card: dict[int, dict[str, int]] = {}
    time = work.group_by("place", "card").agg(pl.sum_horizontal(TIME).sum())
    for place, card, ns in time.iter_rows():
        by_card.setdefault(place, {})[card] = ns
    return by_card


def _row(
    name: str, row: Mapping[str, Any], by_card: Mapping[str, int], found: Mapping[str, Peak]
) -> dict[str, Any]:
    cost = {state: row[f"{state}_nano"] for state in STATES}
    kinds = {kind: row[f"{kind}_ns"] for kind in KINDS}
    tokens = row["output_tokens"]
    ratio = None if tokens is None else throughput(by_card, found, tokens)
    return {
        "name": name,
        "groups": 1,
        "requests": row["requests"],
        "input_tokens": row["input_tokens"],
        "output_tokens": row["output_tokens"],
        "busy_cost_nano": row["own"],
        "full_cost_nano": sum(cost.values()),
        **marginal.figure(row, sum(kinds.values())),
        "states_cost_nano": cost,
        "card_time_ns": kinds,
        "throughput": None if ratio is None else float(ratio),
        "waterfall_nano_per_mtok": steps(cost, ratio, tokens),
    }
