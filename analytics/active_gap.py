"""How much rests on the choice of `active_gap`: the same period at half and at twice the gap.

Only headroom and idle trade places: whatever stands before them in the order of states stays.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from analytics.evidence import Evidence
from analytics.intervals import Ints, clip, fill_gaps, intersect, measure, union, union_of
from analytics.utilization import Peak, layers

Gaps = dict[str, dict[str, int]]  # headroom by other gap and card, ns


def other_gaps(gap_ns: int) -> dict[str, int]:
    """The gaps beside the one that counts."""
    return {"half": gap_ns // 2, "twice": 2 * gap_ns}


def reach_ns(gap_ns: int) -> int:
    """How far beyond a span's ends a request may decide on its headroom."""
    return max(gap_ns, *other_gaps(gap_ns).values())


def headroom_ns(
    evidence: Evidence, states: pl.DataFrame, gap_ns: int, from_ns: int, to_ns: int
) -> Gaps:
    """Each card's headroom within a span at the other gaps, from segments (`states.partition`)."""
    busy = union_of(evidence.busy.values())
    waits = states.filter(pl.col("state").is_in(["headroom", "idle"]))
    quiet = {
        str(card): clip(_spans(part), from_ns, to_ns)
        for (card,), part in waits.partition_by("card", as_dict=True).items()
    }
    return {
        name: {
            card: measure(intersect(idle, clip(fill_gaps(busy, other), from_ns, to_ns)))
            for card, idle in sorted(quiet.items())
        }
        for name, other in other_gaps(gap_ns).items()
    }


def _spans(states: pl.DataFrame) -> Ints:
    return union(states["start_ns"].to_numpy(), states["end_ns"].to_numpy())


def sensitivity(
    ns: pl.DataFrame, found: Mapping[str, Peak], days: list[Gaps], gap_ns: int
) -> dict[str, Any]:
    """Headroom, idle and the first two layers at the other gaps, from time by card and state."""
    told: dict[str, Any] = {"gap_ns": gap_ns}
    quiet = pl.col("state").is_in(["headroom", "idle"])
    whole = dict(ns.filter(quiet).group_by("card").agg(pl.col("ns").sum()).iter_rows())
    for name, other in other_gaps(gap_ns).items():
        headroom = {card: sum(day[name].get(card, 0) for day in days) for card in sorted(whole)}
        moved = pl.DataFrame(
            [
                row
                for card, time in headroom.items()
                for row in ((card, "headroom", time), (card, "idle", whole[card] - time))
            ],
            schema=ns.schema,
            orient="row",
        )
        ratios = layers(pl.concat([ns.filter(~quiet), moved]), found, 0)
        told[name] = {
            "gap_ns": other,
            "headroom_ns": sum(headroom.values()),
            "idle_ns": sum(whole.values()) - sum(headroom.values()),
            "hours": None if ratios.hours is None else float(ratios.hours),
            "occupancy": None if ratios.occupancy is None else float(ratios.occupancy),
        }
    return told
