"""What is known of each card at each moment, as interval sets: the input of the states."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from analytics.intervals import EMPTY, Ints, fill_gaps, intersect, subtract, union, union_of
from analytics.rig import Card
from collector.clock import SECOND_NS

WITNESS_HOLDS_NS = 30 * SECOND_NS
OTHER_UTIL_PCT = 10
GAP_PERIODS = 3


@dataclass(frozen=True)
class Evidence:
    """Interval sets per card, pool and rig; `active` is the rig's, gaps already filled."""

    busy: Mapping[str, Ints]
    witnessed: Mapping[str, Ints]
    down: Mapping[str, Ints]
    other: Mapping[str, Ints]
    sampled: Mapping[str, Ints]
    waiting: Mapping[str, Ints]
    host_off: Ints
    active: Ints

    @property
    def host_known(self) -> Ints:
        """When something on the host was seen alive."""
        return union_of([*self.busy.values(), *self.witnessed.values(), *self.sampled.values()])

    @property
    def host_up(self) -> Ints:
        """When the host was known to be up."""
        return subtract(self.host_known, self.host_off)


def gather(
    cards: Sequence[Card],
    *,
    rows: pl.DataFrame,
    heartbeats: pl.DataFrame,
    engines: pl.DataFrame,
    host_off: Ints,
    readings: pl.DataFrame,
    active_gap_ns: int,
) -> Evidence:
    """Evidence from `timeline` rows, ledger frames and `energy.readings`."""
    seen = {name: _witnessed(times) for name, times in _by(heartbeats, "engine").items()}
    down = {name: _down(said) for name, said in _by(engines, "engine").items()}
    there = rows.select("card", "pool", "start_ns", "compute_ns", "end_ns")
    on_card, on_pool = _by(there, "card"), _by(there, "pool")
    busy = {card.uuid: _span(on_card.get(card.uuid), "start_ns", "end_ns") for card in cards}
    witnessed = {
        card.uuid: union_of(seen[name] for name in card.engines if name in seen) for card in cards
    }
    sampled = _by(readings.filter(~pl.col("gap")).select("card", "from_ns", "at_ns"), "card")
    foreign = (pl.col("foreign_processes") >= 1) & (pl.col("util_pct") >= OTHER_UTIL_PCT)
    used = _by(readings.filter(foreign, ~pl.col("gap")), "card")
    return Evidence(
        busy=busy,
        witnessed=witnessed,
        down={c.uuid: intersect(_all_down(c, down), witnessed[c.uuid]) for c in cards},
        other={c.uuid: _span(used.get(c.uuid), "from_ns", "at_ns") for c in cards},
        sampled={c.uuid: _span(sampled.get(c.uuid), "from_ns", "at_ns") for c in cards},
        waiting={pool: _span(part, "start_ns", "compute_ns") for pool, part in on_pool.items()},
        host_off=host_off,
        active=fill_gaps(union_of(busy.values()), active_gap_ns),
    )


def _by(frame: pl.DataFrame, column: str) -> dict[str, pl.DataFrame]:
    return {str(key[0]): part for key, part in frame.partition_by(column, as_dict=True).items()}


def _span(frame: pl.DataFrame | None, start: str, end: str) -> Ints:
    if frame is None:
        return EMPTY
    return union(frame[start].to_numpy(), frame[end].to_numpy())


def _witnessed(heartbeats: pl.DataFrame) -> Ints:
    times = heartbeats["at_ns"].to_numpy()
    return union(times, times + WITNESS_HOLDS_NS)


def _down(said: pl.DataFrame) -> Ints:
    """From each `down` to the next word of the engine; the last one holds while witnessed."""
    times = said["at_ns"].to_numpy()
    until = np.append(times[1:], np.iinfo(np.int64).max)
    downs = (said["state"] == "down").to_numpy()
    return union(times[downs], until[downs])


def _all_down(card: Card, down: Mapping[str, Ints]) -> Ints:
    """When every engine of the card was down; a card without engines never is."""
    if not card.engines or any(name not in down for name in card.engines):
        return EMPTY
    common = down[card.engines[0]]
    for name in card.engines[1:]:
        common = intersect(common, down[name])
    return common
