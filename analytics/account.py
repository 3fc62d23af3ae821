"""What a span's capacity costs: every line of cost on the leaves of its time and energy.

Time and energy come first and know no price (`Capacity`); money is spread over them here and
nowhere else, so that another price asks for no event to be read again.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from analytics import capital, cost, electricity, other_costs
from analytics.electricity import HostEnergy
from analytics.intervals import Ints
from analytics.rig import Card
from analytics.states import buckets_between
from analytics.tariff import Rate, Series, rates
from analytics.wall import Wall
from collector.settings import Settings


@dataclass(frozen=True)
class Capacity:
    """The cards' time in [from_ns, to_ns) and the energy drawn in it, before any price.

    segments: the partition of the cards' capacity (`states.partition`) and the time without any
    card in service (`states.out_of_service`); leaves: time (`cost.time_leaves`); card_energy: by
    card, bucket and state (`energy.by_state`); wall: what the meters told; up: when the host was
    known to be up, from the local midnight before on.
    """

    from_ns: int
    to_ns: int
    cards: list[Card]
    segments: pl.DataFrame
    leaves: pl.DataFrame
    card_energy: pl.DataFrame
    wall: Wall
    up: Ints


@dataclass(frozen=True)
class Money:
    """money: what the leaves cost by line (`cost.MONEY`); unassigned: cost without capacity (line,
    category, bucket_ns, nano); host_energy: beyond the cards; rates: the tariff by bucket."""

    money: pl.DataFrame
    unassigned: pl.DataFrame
    host_energy: HostEnergy
    rates: Mapping[int, Rate]


def account(capacity: Capacity, settings: Settings, series: Series) -> Money:
    """Spread the costs that the settings declare; `series` has the price series that they name."""
    span = capacity.from_ns, capacity.to_ns
    bounds: list[int] = buckets_between(*span).tolist()
    lines = [
        *capital.lines(settings, capacity.up, span[1]),
        *other_costs.lines(settings, span[1]),
    ]
    leaves, card_energy = capacity.leaves, capacity.card_energy
    spread, unassigned = cost.line_leaves(lines, leaves, bounds)
    rated = rates(settings, series, bounds)
    host = electricity.host_energy(capacity.segments, card_energy, capacity.wall, rated, span)
    return Money(
        money=pl.concat([spread, *electricity.money(leaves, card_energy, host, rated)]),
        unassigned=pl.concat([unassigned, electricity.unassigned(host, rated)]),
        host_energy=host,
        rates=rated,
    )
