"""The average day of a period as the break-even takes it: what was measured, and the bill."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import polars as pl

from analytics.book_value import written_off
from analytics.bounds import Bound, known, over
from analytics.breakeven import HOURS_PER_DAY, NANO, Bought, UsedDay
from analytics.day import Day, joined
from analytics.drawn import billed_uj
from analytics.tariff import UJ_PER_KWH
from analytics.utilization import Layers
from collector.clock import SECOND_NS
from collector.settings import Hardware, Settings

DAY_NS = HOURS_PER_DAY * 3600 * SECOND_NS


def used_day(
    month: Mapping[str, Any], ratios: Layers, days: Sequence[Day], settings: Settings
) -> UsedDay | None:
    """A day of a `month.summarize` document and its days; `beside` adds the bill.

    Its hours are those of active windows, cards weighted by their peak rates. None without any
    capacity, active window or busy time.
    """
    if not (ratios.hours and ratios.occupancy):
        return None
    cells = joined(list(days), "cells")
    capacity = cells.group_by("card").agg(pl.col("ns").sum())["ns"].to_list()
    count = Fraction(max(capacity), DAY_NS)
    hours = ratios.hours * HOURS_PER_DAY
    marginal, cost = month["marginal_cost_nano"], month["cost_nano"]
    tokens = month["tokens"]["output"]

    def a_day(nano: int) -> Fraction:
        return Fraction(nano, NANO) / count

    return UsedDay(
        days=count,
        excess_bound=known(at_least=bool(month["at_least"])),
        standing=a_day(cost["total"] - (marginal or 0)),
        hours=hours,
        hour_cost=None if marginal is None else a_day(marginal) / hours,
        hour_bill=Fraction(0),
        hour_tokens=None if tokens is None else tokens / count / hours,
        busy=ratios.occupancy,
        cost=a_day(cost["total"]),
        energy=a_day(cost["energy"]),
        kwh=billed_uj(days, settings) / UJ_PER_KWH / count,
        bought=_bought(days, settings, count),
    )


def beside(day: UsedDay, bill_nano: int, told: Bound = "exactly") -> UsedDay:
    """The day beside an API's bill for the whole period, and what is known of the bill."""
    hour_bill = Fraction(bill_nano, NANO) / day.days / day.hours
    return replace(day, hour_bill=hour_bill, excess_bound=over(day.excess_bound, told))


def _bought(days: Sequence[Day], settings: Settings, count: Fraction) -> Bought | None:
    """The assets that lost value in these days, together; None where none did.

    What they lost follows their price where it falls evenly, or by shares down to nothing.
    """
    start, end = days[0].from_ns, days[-1].to_ns
    lost = {
        number: curve.upto(end) - curve.upto(start)
        for number, asset in enumerate(settings.hardware)
        if asset.method != "rented" and (curve := written_off(asset, settings))
    }
    owned = [settings.hardware[number] for number, value in lost.items() if value]
    if not owned:
        return None
    return Bought(
        price=Fraction(sum(asset.price_nano for asset in owned), NANO),
        residual=Fraction(sum(asset.residual_nano for asset in owned), NANO),
        per_day=sum(lost.values(), Fraction(0)) / NANO / count,
        follows_price=all(_follows_price(asset, settings, end) for asset in owned),
    )


def _follows_price(asset: Hardware, settings: Settings, end_ns: int) -> bool:
    if asset.retired is not None and settings.midnight_ns(asset.retired) <= end_ns:
        return False
    even = asset.method == "straight_line"
    return even or (asset.method == "declining_balance" and not asset.residual_nano)
