"""Costs beside hardware and electricity: by the month, at once, and the cost of capital."""

from collections.abc import Callable, Iterator
from fractions import Fraction

from analytics.book_value import book_value
from analytics.curve import Curve, Interest
from analytics.lines import Line, floored
from analytics.periods import year_starts
from analytics.rent import monthly
from collector.settings import OtherCost, Settings, nano


def lines(settings: Settings, until_ns: int) -> Iterator[Line]:
    """Every other cost as a line that all cards share, good up to an instant."""
    for cost in settings.other_costs:
        yield Line(cost.name, "other", (), floored(_exact(cost, settings, until_ns)))


def _exact(cost: OtherCost, settings: Settings, until_ns: int) -> Callable[[int], Fraction]:
    start = settings.midnight_ns(cost.from_)
    if cost.amount is not None:
        return Curve([(start, Fraction(0)), (start, Fraction(nano(cost.amount)))]).upto
    end = settings.midnight_ns(cost.until) if cost.until else until_ns
    end = max(start, min(end, until_ns))
    if cost.per_month is not None:
        return monthly(nano(cost.per_month), start, end, settings).upto
    return _of_capital(Fraction(cost.per_year_of_capital or 0), start, end, settings)


def _of_capital(
    rate: Fraction, start_ns: int, end_ns: int, settings: Settings
) -> Callable[[int], Fraction]:
    """A yearly rate on what the assets are worth at each moment, from one instant to another.

    The integral of their book values, each local calendar year's time as its share of that year:
    an unchanged value of 10,000 costs 500 at 0.05 in every year, leap or not. Rented assets bind
    nothing.
    """
    owned = [a for a in settings.hardware if settings.midnight_ns(a.in_service) < end_ns]
    if not owned:
        return lambda _: Fraction(0)
    first = min(start_ns, *(settings.midnight_ns(asset.in_service) for asset in owned))
    years = year_starts(first, end_ns, settings.zone)
    bound = [Interest(book_value(asset, settings), rate, years) for asset in owned]
    before = sum((each.upto(start_ns) for each in bound), Fraction(0))

    def spent(at_ns: int) -> Fraction:
        at_ns = min(max(at_ns, start_ns), end_ns)
        return sum((each.upto(at_ns) for each in bound), -before)

    return spent
