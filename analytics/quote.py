"""A sheet's output price at an instant, for an estimate that knows of no input."""

import datetime as dt
from dataclasses import dataclass
from fractions import Fraction

from analytics.prices.catalogue import Catalogue
from analytics.prices.cost import MTOK, Usage, cost
from analytics.prices.inforce import in_force, spans
from analytics.prices.rates import rate_at
from analytics.prices.sheet import Sheet
from collector.clock import to_ns
from collector.settings import Settings


@dataclass(frozen=True)
class Quote:
    """Output prices per million tokens in the rig's currency: the one in force at the instant, and
    by the name of each condition of its time what it is then."""

    sheet: str
    at: dt.datetime
    price: Fraction
    others: dict[str, Fraction]


def quote(settings: Settings, name: str, at: dt.datetime) -> Quote:
    """The output price of a sheet at an aware instant.

    Raises NoSuchSheet, NoRate; ValueError where the sheet has no price then.
    """
    sheet = Catalogue(settings).sheet(name)
    found = cost(sheet, Usage(input_tokens=0, output_tokens=MTOK), at)
    if found.amount is None:
        raise ValueError(f"{name} at {at.isoformat()}: {found.why}; name another instant with --at")
    rate = rate_at(settings, sheet.currency, settings.rig.currency, to_ns(at)).rate
    others = {what: price * rate for what, price in _others(sheet, at) if price != found.amount}
    return Quote(name, at, found.amount * rate, others)


def _others(sheet: Sheet, at: dt.datetime) -> list[tuple[str, Fraction]]:
    """The output price without any condition, and under each that has a window of the day."""
    at_ns = to_ns(at)
    for start, end, period in spans(sheet):
        if (start is None or start <= at_ns) and (end is None or at_ns < end):
            flags = [override is None for override in period.overrides]
            told = [("otherwise", in_force(period, flags).output)]
            for number, override in enumerate(period.overrides):
                if override.when.windows:
                    only = [place == number for place in range(len(flags))]
                    told.append((override.name or "at times", in_force(period, only).output))
            return [(what, Fraction(price)) for what, price in told if price is not None]
    return []
