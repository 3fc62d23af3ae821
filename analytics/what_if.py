"""What a month would have come to with other hours, another price of the hardware or of a kWh.

All else stays as it was measured, as along the axes of the break-even: occupancy, throughput, the
mix of requests, the idle draw. So the work, the bill and the energy above idle grow with the hours;
capital and the energy of a rig without work do not. Nothing of this is kept in the books.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import polars as pl

from analytics.breakeven import NANO, Bought, UsedDay, as_json, break_even
from analytics.day import joined
from analytics.month import cost_of, marginal_of
from analytics.periods import Period
from analytics.quality import at_least, quality
from analytics.shelf import Shelf
from analytics.used_day import beside, used_day
from analytics.utilization import best_peaks, layers, per_mtok_nano
from collector.scenarios import CHANGES


@dataclass(frozen=True, kw_only=True)
class Change:
    """What is thought of in place of what was; None where it stays. Amounts in the currency."""

    hours_per_day: Fraction | None = None
    hardware_price: Fraction | None = None
    price_per_kwh: Fraction | None = None


@dataclass(frozen=True, kw_only=True)
class Levels:
    """What a month was measured with; None where a change of it has no known effect."""

    hours_per_day: Fraction
    hardware_price: Fraction | None
    price_per_kwh: Fraction | None


def average_day(shelf: Shelf, period: Period) -> UsedDay | None:
    """The average day of a period, without a bill; None where it cannot be changed: without
    output tokens, active windows, or known energy above the idle draw."""
    days = shelf.days(period.from_ns, period.to_ns)
    cells, told = joined(days, "cells"), joined(days, "tallies")["output_tokens"]
    tokens = int(told.sum()) if told.null_count() < len(told) else None
    ns = cells.group_by("card", "state").agg(pl.col("ns").sum())
    declared = shelf.settings.usage.peak_output_tokens_per_second
    peaks = best_peaks(sorted(cells["card"].unique()), shelf.peaks(period.to_ns), declared)
    marginal, _ = marginal_of(cells)
    if not tokens or marginal is None:
        return None
    month = {
        "marginal_cost_nano": marginal,
        "cost_nano": cost_of(cells, days),
        "tokens": {"output": tokens},
        "at_least": at_least(quality(days, shelf.settings), shelf.settings),
    }
    return used_day(month, layers(ns, peaks, tokens), days, shelf.settings)


def levels(day: UsedDay) -> Levels:
    """What can be changed, and from where."""
    bought = day.bought
    can_buy = bought is not None and bought.follows_price and bought.price != bought.residual
    return Levels(
        hours_per_day=day.hours,
        hardware_price=bought.price if can_buy and bought is not None else None,
        price_per_kwh=day.energy / day.kwh if day.kwh and day.energy > 0 else None,
    )


def changed(day: UsedDay, change: Change) -> UsedDay:
    """The day under a change; what has no known effect (`levels`) is left as it was.

    Raises ValueError for a day that does not tell what an hour of work costs (`average_day`).
    """
    was, an_hour = levels(day), _known(day.hour_cost)
    factor, bought, saved = Fraction(1), day.bought, Fraction(0)
    if change.price_per_kwh is not None and was.price_per_kwh is not None:
        factor = change.price_per_kwh / was.price_per_kwh
    if change.hardware_price is not None and was.hardware_price is not None and bought is not None:
        bought, saved = _at_price(bought, change.hardware_price)
    hours = day.hours if change.hours_per_day is None else change.hours_per_day
    idle_energy = day.energy - an_hour * day.hours
    drawn = idle_energy + an_hour * hours
    standing = day.standing - saved + idle_energy * (factor - 1)
    hour_cost = an_hour * factor
    return replace(
        day,
        standing=standing,
        hours=hours,
        hour_cost=hour_cost,
        cost=standing + hour_cost * hours,
        energy=drawn * factor,
        kwh=day.kwh * drawn / day.energy if day.energy else day.kwh,
        bought=bought,
    )


def _at_price(bought: Bought, price: Fraction) -> tuple[Bought, Fraction]:
    """The same purchase at another price, what remains of it unchanged, and what a day of it
    costs less."""
    per_day = bought.per_day * (price - bought.residual) / (bought.price - bought.residual)
    return replace(bought, price=price, per_day=per_day), bought.per_day - per_day


def figures(day: UsedDay, sheet: Mapping[str, Any], change: Change) -> dict[str, Any]:
    """A period under a change, beside a sheet's bill for it as it was (an entry of `compare`).

    hours_per_day, hardware_price, price_per_kwh: what they are then, floats to be shown;
    full_nano_per_mtok, cost_nano, bill_nano, bill_nano_per_mtok, saved_nano; break_even as
    `compare` has it. What is not known, or cannot be changed, is None. Raises as `changed` does.
    """
    was, headline = levels(day), sheet["headline_nano"]
    known = headline is not None
    day = beside(day, headline, sheet["headline_bound"]) if known else day
    told = changed(day, change)
    tokens = _known(told.hour_tokens) * told.hours * told.days
    cost, bill = (_nano(amount * told.days) for amount in (told.cost, told.bill))
    return {
        **{name: _then(getattr(was, name), getattr(change, name)) for name in CHANGES},
        "full_nano_per_mtok": _per_mtok(told.cost * told.days, tokens),
        # More or less of the same requests cost as much a token.
        "bill_nano_per_mtok": sheet["headline_nano_per_mtok"] if tokens else None,
        "cost_nano": cost,
        "bill_nano": bill if known else None,
        "saved_nano": bill - cost if known else None,
        "break_even": as_json(break_even(told)) if known else None,
    }


def parsed(texts: Mapping[str, str]) -> Change:
    """A change from decimal texts by `CHANGES`; what is left out stays."""
    return Change(**{name: Fraction(text) for name, text in texts.items()})


def _known(figure: Fraction | None) -> Fraction:
    if figure is None:
        raise ValueError("what an hour of this day's work costs or puts out is not known")
    return figure


def _per_mtok(amount: Fraction, tokens: Fraction) -> int | None:
    return per_mtok_nano(amount * NANO / tokens, 1) if tokens else None


def _nano(amount: Fraction) -> int:
    return round(amount * NANO)


def _then(was: Fraction | None, new: Fraction | None) -> float | None:
    return None if was is None else float(was if new is None else new)
