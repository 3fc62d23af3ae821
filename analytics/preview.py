"""What other settings would make of a month: computed beside the books and kept nowhere."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from analytics import capital
from analytics.day import joined
from analytics.month import cost_of
from analytics.periods import Period
from analytics.read import Ledger
from analytics.shelf import Progress, Shelf, no_progress
from analytics.utilization import per_mtok_nano
from collector.settings import Settings


@dataclass(frozen=True)
class Figure:
    """A month in two figures: its cost, and the full price per million output tokens.

    The price is None where no output token was counted.
    """

    cost_nano: int
    full_nano_per_mtok: int | None


@dataclass(frozen=True)
class Effect:
    """A month under the settings as they are and under those that are thought of."""

    month: str
    provisional: bool
    before: Figure
    after: Figure


def effects(
    ledger: Ledger,
    settings: Settings,
    candidate: Settings,
    periods: Sequence[Period],
    now_ns: int,
    *,
    progress: Progress = no_progress,
) -> Iterator[Effect]:
    """Each period under both settings, at the same instant.

    `progress` is told the days of a period under the candidate. Raises FileNotFoundError where no
    ledger lies.
    """
    kept = Shelf(ledger, settings, now_ns, keeps=False)
    tried = Shelf(ledger, candidate, now_ns, progress, keeps=False)
    for period in periods:
        before, after = figure(kept, period), figure(tried, period)
        yield Effect(period.name, now_ns < period.to_ns, before, after)


def figure(shelf: Shelf, period: Period) -> Figure:
    """A period's cost and full price, as `month.account` tells them, without the rest."""
    days = shelf.days(period.from_ns, period.to_ns)
    cells, tallies = joined(days, "cells"), joined(days, "tallies")
    cost = cost_of(cells, days)["total"]
    tokens = int(tallies["output_tokens"].sum())
    return Figure(cost, per_mtok_nano(cost, tokens) if tokens else None)


def value_lost_nano(settings: Settings, from_ns: int, to_ns: int) -> int:
    """What all assets together lose in value or cost in rent in a span, nano-units.

    The host counts as up all the time.
    """
    up = np.array([[from_ns, to_ns]], dtype=np.int64)
    lines = capital.lines(settings, up, to_ns)
    return sum(line.booked(to_ns) - line.booked(from_ns) for line in lines)
