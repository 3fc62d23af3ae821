"""What the settings alone say of a period: the capacity and the cost that its leaves must come to.

Worked out beside the books, from the declarations and not from any day's leaves: a day that was
kept under others, or that lost a leaf, is noticed. Of the days only the time is taken in which the
host was up, where that is rented.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from analytics import capital, other_costs
from analytics.day import Day
from analytics.group_identities import Pairs
from analytics.intervals import EMPTY
from analytics.periods import Period, day_at
from analytics.rent import HOUR_NS, is_while_up
from analytics.rig import cards
from collector.settings import Hardware, Settings, nano


def declared(
    month: Mapping[str, Any], settings: Settings, period: Period, now_ns: int, days: Sequence[Day]
) -> Pairs:
    """The month's capacity, and its cost beside energy, against what was declared."""
    until_ns = max(period.from_ns, min(period.to_ns, now_ns))
    capacity = _capacity_ns(settings, period.from_ns, until_ns)
    cost = month["cost_nano"]["capital"] + month["cost_nano"]["other"]
    spent = _spent_nano(settings, period.from_ns, until_ns)
    spent += sum(_while_up_nano(asset, settings, days) for asset in settings.hardware)
    return [
        ("capacity = cards in service", month["capacity_ns"], capacity),
        ("capital + other = as declared", cost, spent),
    ]


def _capacity_ns(settings: Settings, from_ns: int, until_ns: int) -> int:
    """The time of all cards in service, day by day as assignments have dates."""
    total, start = 0, from_ns
    while start < until_ns:
        end = min(day_at(start, settings.zone).to_ns, until_ns)
        total += sum(
            max(min(end, last) - max(start, first), 0)
            for card in cards(settings, start)
            for first, last in card.in_service
        )
        start = end
    return total


def _spent_nano(settings: Settings, from_ns: int, until_ns: int) -> int:
    """What assets and other costs come to, beside rent while the host is up."""
    lines = [*capital.lines(settings, EMPTY, until_ns), *other_costs.lines(settings, until_ns)]
    return sum(line.booked(until_ns) - line.booked(from_ns) for line in lines)


def _while_up_nano(asset: Hardware, settings: Settings, days: Sequence[Day]) -> int:
    """What the rent of an asset comes to in the time in which the host was up, floored by day. It
    begins and ends at local midnights, as days do."""
    if not is_while_up(asset):
        return 0
    rate, since = nano(asset.rate_per_hour or "0"), settings.midnight_ns(asset.in_service)
    end_ns = settings.midnight_ns(asset.retired) if asset.retired else None
    spans = [
        day.facts["up_ns"]
        for day in days
        if since <= day.from_ns and (end_ns is None or day.from_ns < end_ns)
    ]
    return sum(rate * until // HOUR_NS - rate * before // HOUR_NS for before, until in spans)
