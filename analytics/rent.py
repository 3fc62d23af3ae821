"""Rent: by the hour, by the hour that the host is up, or by the local calendar month."""

from bisect import bisect_right
from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate, pairwise

from analytics.curve import Curve
from analytics.intervals import Ints, clip, measure
from analytics.lines import floored
from analytics.periods import day_at, month_at
from collector.settings import Hardware, Settings, nano

HOUR_NS = 3_600_000_000_000


def monthly(rate_nano: int, start_ns: int, end_ns: int, settings: Settings) -> Curve:
    """A rate per local calendar month from one instant to another: of a month that is not whole,
    the share of its elapsed time. Nothing where the end does not follow the start."""
    knots = [(start_ns, Fraction(0))]
    while knots[-1][0] < end_ns:
        at, reached = knots[-1]
        month = month_at(at, settings.zone)
        until = min(month.to_ns, end_ns)
        share = Fraction(until - at, month.to_ns - month.from_ns)
        knots.append((until, reached + rate_nano * share))
    return Curve(knots)


def hourly(rate_nano: int, start_ns: int, end_ns: int) -> Curve:
    """A rate per hour of elapsed time from one instant to another."""
    whole = Fraction(rate_nano * (end_ns - start_ns), HOUR_NS)
    return Curve([(start_ns, Fraction(0)), (end_ns, whole)])


def while_up(
    rate_nano: int, start_ns: int, end_ns: int, up: Ints, settings: Settings
) -> Callable[[int], int]:
    """A rate per hour of the time in `up`, between two instants, as booked up to an instant.

    Each local day is summed up and floored by itself, so that it costs the same whatever days are
    read with it. `up` need be known from the local midnight before the first instant asked for;
    amounts count from there.
    """
    up = clip(up, start_ns, end_ns)
    days = [day_at(int(up[0, 0]), settings.zone).from_ns] if len(up) else []
    while days and days[-1] < up[-1, 1]:
        days.append(day_at(days[-1], settings.zone).to_ns)

    upto = _upto(up)

    def within(day_ns: int, at_ns: int) -> int:
        return rate_nano * (upto(at_ns) - upto(day_ns)) // HOUR_NS

    reached = [0]
    for day, following in pairwise(days):
        reached.append(reached[-1] + within(day, following))

    def booked(at_ns: int) -> int:
        index = bisect_right(days, at_ns) - 1
        return 0 if index < 0 else reached[index] + within(days[index], at_ns)

    return booked


def is_while_up(asset: Hardware) -> bool:
    """Whether an asset is rented by the hour that the host is up."""
    return asset.method == "rented" and asset.billed == "while_up"


def _upto(intervals: Ints) -> Callable[[int], int]:
    """How much of a set lies before an instant, ns."""
    starts, ends = intervals[:, 0].tolist(), intervals[:, 1].tolist()
    before = [0, *accumulate(end - start for start, end in zip(starts, ends, strict=True))]

    def upto(at_ns: int) -> int:
        index = bisect_right(starts, at_ns)
        return before[index] - max(ends[index - 1] - at_ns, 0) if index else 0

    return upto


def unwitnessed_ns(settings: Settings, seen: Ints, from_ns: int, to_ns: int) -> int:
    """The time of a span in which a rent while up may have run and nobody can tell, as the host was
    not `seen`: neither alive nor shown to be off. Summed over the assets so rented."""
    total = 0
    for asset in settings.hardware:
        if is_while_up(asset):
            start = max(from_ns, settings.midnight_ns(asset.in_service))
            end = min(to_ns, settings.midnight_ns(asset.retired)) if asset.retired else to_ns
            total += max(end - start, 0) - measure(clip(seen, start, max(start, end)))
    return total


def rent(asset: Hardware, settings: Settings, up: Ints, until_ns: int) -> Callable[[int], int]:
    """What a rented asset has cost up to an instant, which must not lie after `until_ns`."""
    start = settings.midnight_ns(asset.in_service)
    end = settings.midnight_ns(asset.retired) if asset.retired else until_ns
    span = (start, max(start, min(end, until_ns)))
    if asset.rate_per_month is not None:
        return floored(monthly(nano(asset.rate_per_month), *span, settings).upto)
    rate = nano(asset.rate_per_hour or "0")
    if is_while_up(asset):
        return while_up(rate, *span, up, settings)
    return floored(hourly(rate, *span).upto)
