"""What the settings alone say of a period: the capacity and the cost that its leaves must come to.

Worked out beside the books, from the declarations and not from any day: a day that was kept under
others, or that lost a leaf, is noticed.
"""

from collections.abc import Mapping
from typing import Any

from analytics import capital, other_costs
from analytics.group_identities import Pairs
from analytics.intervals import EMPTY
from analytics.periods import Period, day_at
from analytics.rig import cards
from collector.settings import Settings


def declared(month: Mapping[str, Any], settings: Settings, period: Period, now_ns: int) -> Pairs:
    """The month's capacity, and its cost beside energy, against what was declared."""
    until_ns = max(period.from_ns, min(period.to_ns, now_ns))
    capacity = _capacity_ns(settings, period.from_ns, until_ns)
    pairs: Pairs = [("capacity = cards in service", month["capacity_ns"], capacity)]
    if not any(asset.billed == "while_up" for asset in settings.hardware):
        cost = month["cost_nano"]["capital"] + month["cost_nano"]["other"]
        spent = _spent_nano(settings, period.from_ns, until_ns)
        pairs.append(("capital + other = as declared", cost, spent))
    return pairs


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
    """What assets and other costs come to, where no rent waits for a witness."""
    lines = [*capital.lines(settings, EMPTY, until_ns), *other_costs.lines(settings, until_ns)]
    return sum(line.booked(until_ns) - line.booked(from_ns) for line in lines)
