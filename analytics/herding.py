"""Herding: requests waited for a card while other cards of their pool stood by.

A stretch is a span in which at least one card of a pool was `stranded`. One of `HERDING_NS` or
more is an episode; the shorter ones are told together. Episodes and short stretches together are
the stranded time and its cost, to the unit.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from analytics.allocate import largest_remainder
from analytics.intervals import Ints, union
from analytics.rig import Card
from analytics.timesheet import Timesheet
from collector.clock import SECOND_NS
from collector.clock import from_ns as instant

# To wait for a warm card pays as long as computing the prompt anew elsewhere takes longer: about
# ten seconds for a prompt of 32,000 tokens at 3,200 tokens/s, as a desktop card computes them.
# Whoever waits longer for it would have been sooner on the card that stood by.
HERDING_NS: Final = 10 * SECOND_NS
Stretch = dict[str, Any]


def stretches(sheet: Timesheet, cells: pl.DataFrame) -> dict[str, Any]:
    """The stretches of a day, from its timesheet and its `cells`.

    told: those that are long enough or reach an end of the day, where they may go on: pool,
    from_ns, to_ns, queued and stood_by (cards), requests that waited, of them `carried_in` (they
    waited before the day), stranded_ns and nano. short: the number, time and money of the others.
    """
    found = _segments(sheet.segments, cells)
    told: list[Stretch] = []
    short = {"stretches": 0, "stranded_ns": 0, "nano": 0}
    for (pool,), segments in found.partition_by("pool", as_dict=True).items():
        waiting = _waiting(sheet.waiting, sheet.cards, pool)
        for stretch in _stretches(segments):
            start, end = stretch["from_ns"], stretch["to_ns"]
            if end - start >= HERDING_NS or start == sheet.from_ns or end == sheet.to_ns:
                told.append({"pool": pool, **stretch, **_queue(waiting, start, end, sheet.from_ns)})
            else:
                short["stretches"] += 1
                short["stranded_ns"] += stretch["stranded_ns"]
                short["nano"] += stretch["nano"]
    return {"told": sorted(told, key=_order), "short": short}


def herding(days: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The episodes of a period and its short stretches, from `stretches` of its days.

    What reaches across midnight is one stretch.
    """
    every = _joined(stretch for day in days for stretch in day["told"])
    long = [each for each in every if each["to_ns"] - each["from_ns"] >= HERDING_NS]
    rest = [each for each in every if each["to_ns"] - each["from_ns"] < HERDING_NS]
    short = [day["short"] for day in days]
    return {
        "threshold_ns": HERDING_NS,
        "stranded_ns": _sum([*long, *rest, *short], "stranded_ns"),
        "cost_nano": _sum([*long, *rest, *short], "nano"),
        "episodes": [_episode(each) for each in sorted(long, key=_order)],
        "short": {
            "stretches": len(rest) + _sum(short, "stretches"),
            "stranded_ns": _sum([*rest, *short], "stranded_ns"),
            "cost_nano": _sum([*rest, *short], "nano"),
        },
    }


def _segments(segments: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """Stranded time in pieces: pool, card, start_ns, end_ns, ns and its money."""
    place = ["card", "bucket_ns"]
    cost = cells.filter(state="stranded").select(
        *place, "pool", nano=pl.sum_horizontal("capital_nano", "energy_nano", "other_nano")
    )
    pieces = segments.filter(state="stranded").with_columns(
        ns=pl.col("end_ns") - pl.col("start_ns")
    )
    pieces = pieces.join(cost, on=place)
    nano = largest_remainder(pieces, amount="nano", weight="ns", by=place, order=["start_ns"])
    return pieces.with_columns(nano=nano)


def _stretches(segments: pl.DataFrame) -> Iterator[Stretch]:
    """The stretches of one pool, with what its cards were stranded in each."""
    spans: Ints = union(segments["start_ns"].to_numpy(), segments["end_ns"].to_numpy())
    place = np.searchsorted(spans[:, 0], segments["start_ns"].to_numpy(), side="right") - 1
    sums = (
        segments.with_columns(place=pl.Series(place))
        .group_by("place")
        .agg(
            pl.col("card").unique().sort().alias("stood_by"),
            pl.col("ns").sum().alias("stranded_ns"),
            pl.col("nano").sum(),
        )
    )
    for row in sums.sort("place").iter_rows(named=True):
        start, end = spans[row.pop("place")].tolist()
        yield {"from_ns": start, "to_ns": end, **row}


def _waiting(waiting: pl.DataFrame, cards: Sequence[Card], pool: str) -> pl.DataFrame:
    """When requests waited on the cards of the pools that go by this name (`rollup.pools`)."""
    names = {name for card in cards for name in card.pools if "+".join(card.pools) == pool}
    return waiting.filter(pl.col("pool").is_in(sorted(names)))


def _queue(waiting: pl.DataFrame, start: int, end: int, day_ns: int) -> Stretch:
    there = waiting.filter(pl.col("start_ns") < end, pl.col("compute_ns") > start)
    return {
        "queued": there["card"].unique().sort().to_list(),
        "requests": there["request"].n_unique(),
        "carried_in": there.filter(pl.col("start_ns") < day_ns)["request"].n_unique(),
    }


def _joined(stretches: Iterable[Stretch]) -> list[Stretch]:
    """Those of one pool that meet, as they do only at midnight, as one."""
    found: list[Stretch] = []
    for each in sorted(stretches, key=lambda each: (each["pool"], each["from_ns"])):
        last = found[-1] if found else each
        if (last["pool"], last["to_ns"]) == (each["pool"], each["from_ns"]):
            found[-1] = _one(last, each)
        else:
            found.append(each)
    return found


def _one(first: Stretch, second: Stretch) -> Stretch:
    both = ("stranded_ns", "nano")
    return {
        **first,
        "to_ns": second["to_ns"],
        "queued": sorted({*first["queued"], *second["queued"]}),
        "stood_by": sorted({*first["stood_by"], *second["stood_by"]}),
        # Whoever waited at midnight has been counted.
        "requests": first["requests"] + second["requests"] - second["carried_in"],
        **{figure: first[figure] + second[figure] for figure in both},
    }


def _episode(stretch: Stretch) -> dict[str, Any]:
    return {
        "pool": stretch["pool"],
        "from": instant(stretch["from_ns"]).isoformat(),
        "to": instant(stretch["to_ns"]).isoformat(),
        "queued": stretch["queued"],
        "stood_by": stretch["stood_by"],
        "requests": stretch["requests"],
        "stranded_ns": stretch["stranded_ns"],
        "cost_nano": stretch["nano"],
    }


def _order(stretch: Stretch) -> tuple[int, str]:
    return stretch["from_ns"], stretch["pool"]


def _sum(rows: Iterable[Mapping[str, Any]], figure: str) -> int:
    return sum(row[figure] for row in rows)
