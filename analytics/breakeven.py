"""Break-even: where own cost meets the API's bill along one axis, everything else held.

Along every axis own cost less the bill is a straight line: what a day costs at its zero, and what
each unit adds less what it would have been billed. So each root is exact, a Fraction, and nothing
is searched. Where a part of that difference is not known, the root is a bound, or holds as far as
is known. Money is in units of one currency throughout.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from analytics.bounds import Bound, turned

HOURS_PER_DAY = 24
DAYS_PER_MONTH = Fraction(487, 16)
NANO = 1_000_000_000
Verdict = Literal["at", "never", "always"]


@dataclass(frozen=True)
class Root:
    """Where the two meet: `at` a value or on one side of it (`bound`), or own cost is `always` or
    `never` the lower one, as far as is known where the bound is `open`."""

    verdict: Verdict
    value: Fraction | None = None
    bound: Bound = "exactly"

    def times(self, factor: Fraction | int) -> "Root":
        """The same root in another unit."""
        return replace(self, value=None if self.value is None else self.value * factor)


@dataclass(frozen=True)
class Excess:
    """Own cost less the bill along an axis: `at_zero` + `per_unit` × value."""

    at_zero: Fraction
    per_unit: Fraction

    def __call__(self, value: Fraction) -> Fraction:
        """What is paid beyond the bill at a value of the axis."""
        return self.at_zero + self.per_unit * value


def solve(excess: Excess, most: Fraction | int | None = None, *, of_use: bool = False) -> Root:
    """The root in [0, most], or in [0, ∞) without `most`.

    Without one, the sign over the domain decides. Along an axis `of_use` there is nothing to
    compare at zero, where no work is done: a root there alone is none. Where both sides are the
    same everywhere, they meet at once, at zero.
    """
    start, slope = excess.at_zero, excess.per_unit
    if slope == 0 or (of_use and start == 0):
        sign = start or slope
        return Root("at", Fraction(0)) if sign == 0 else _by_sign(sign)
    value = -start / slope
    if value < 0 or (most is not None and value > most):
        return _by_sign(start)
    return Root("at", value)


def _by_sign(excess: Fraction) -> Root:
    return Root("never" if excess > 0 else "always")


def bounded(root: Root, excess: Excess, bound: Bound) -> Root:
    """The root where what is paid beyond the bill is only known within a bound, everywhere on the
    axis."""
    if root.verdict == "at":
        falls = excess.per_unit < 0
        return replace(root, bound=bound if falls else turned(bound))
    holds = "at least" if root.verdict == "never" else "at most"
    return root if bound in ("exactly", holds) else replace(root, bound="open")


@dataclass(frozen=True, kw_only=True)
class Bought:
    """What was bought: its price, what remains of it, and what a day of it costs.

    `follows_price`: that cost is in proportion to the price less what remains.
    """

    price: Fraction
    residual: Fraction
    per_day: Fraction
    follows_price: bool = True


@dataclass(frozen=True, kw_only=True)
class UsedDay:
    """An average day as it was measured or is assumed, beside the API's bill for its work.

    standing: what it costs without any work; hours: of work; hour_cost, hour_bill, hour_tokens:
    what each of them adds (None where not known); busy: share of those hours in which a card
    computes; energy, kwh: the part of the cost that is energy, and what was drawn at the wall;
    days: how many such days there were; excess_bound: what is known of cost less bill.
    """

    standing: Fraction
    hours: Fraction
    hour_cost: Fraction | None
    hour_bill: Fraction
    hour_tokens: Fraction | None
    busy: Fraction
    cost: Fraction
    energy: Fraction
    kwh: Fraction
    bought: Bought | None
    days: Fraction = Fraction(1)
    excess_bound: Bound = "exactly"

    @property
    def bill(self) -> Fraction:
        """The API's bill for a day."""
        return self.hours * self.hour_bill


@dataclass(frozen=True, kw_only=True)
class BreakEven:
    """A root for each axis, None where what it rests on is not known or was not bought.

    `utilization` is the share of the cards' time in which they compute. Tokens a day end at what
    the cards put out when they always compute, at the measured rate; prices have no upper end.
    `payback_days` is when the purchase has earned its price by what an API would have billed, less
    what the rig costs beside its purchase.
    """

    hours_per_day: Root | None
    utilization: Root | None
    tokens_per_day: Root | None
    hardware_price: Root | None
    price_per_kwh: Root | None
    payback_days: Root | None


def break_even(day: UsedDay) -> BreakEven:
    """Solve each axis with all others as they are."""
    hours, always_busy = _hours(day)
    return BreakEven(
        hours_per_day=hours,
        utilization=always_busy and always_busy.times(day.busy / HOURS_PER_DAY),
        tokens_per_day=_tokens(day, always_busy),
        hardware_price=_hardware(day),
        price_per_kwh=_electricity(day),
        payback_days=_payback(day),
    )


def _hours(day: UsedDay) -> tuple[Root | None, Root | None]:
    """The root in hours of work: of a day, and of one that is longer until the cards always
    compute."""
    if day.hour_cost is None:
        return None, None
    excess = Excess(day.standing, day.hour_cost - day.hour_bill)
    whole = HOURS_PER_DAY / day.busy if day.busy else None
    hours, always_busy = (solve(excess, most, of_use=True) for most in (HOURS_PER_DAY, whole))
    told = day.excess_bound
    return bounded(hours, excess, told), bounded(always_busy, excess, told)


def _tokens(day: UsedDay, always_busy: Root | None) -> Root | None:
    if always_busy is None or day.hour_tokens is None:
        return None
    return always_busy.times(day.hour_tokens)


def _hardware(day: UsedDay) -> Root | None:
    """The price at which the purchase would have met the bill; the residual stays as it is."""
    bought = day.bought
    if bought is None or not bought.follows_price or bought.price == bought.residual:
        return None
    per_unit = bought.per_day / (bought.price - bought.residual)
    rest = day.cost - bought.per_day
    return _solved(Excess(rest - per_unit * bought.residual - day.bill, per_unit), day)


def _electricity(day: UsedDay) -> Root | None:
    """The price of a kWh at the wall at which the whole day would have met the bill."""
    return _solved(Excess(day.cost - day.energy - day.bill, day.kwh), day) if day.kwh else None


def _payback(day: UsedDay) -> Root | None:
    bought = day.bought
    if bought is None:
        return None
    return _solved(Excess(bought.price, day.cost - bought.per_day - day.bill), day)


def _solved(excess: Excess, day: UsedDay) -> Root | None:
    return bounded(solve(excess), excess, day.excess_bound)


def as_json(found: BreakEven) -> dict[str, Any]:
    """The roots as JSON values: decimal texts of up to nine decimals, tokens whole, the first that
    reach it; None without one. `verdict` is that of the hours, `verdicts` has them all; `bounds`
    which side of it is known."""
    roots = {
        "hours_per_day": found.hours_per_day,
        "utilization": found.utilization,
        "tokens_per_day": found.tokens_per_day,
        "hardware_price": found.hardware_price,
        "price_per_kwh": found.price_per_kwh,
        "payback_months": found.payback_days and found.payback_days.times(1 / DAYS_PER_MONTH),
    }
    values = {axis: None if root is None else root.value for axis, root in roots.items()}
    verdicts = {axis: None if root is None else root.verdict for axis, root in roots.items()}
    return {
        "verdict": verdicts["hours_per_day"],
        **{axis: None if value is None else decimal(value) for axis, value in values.items()},
        "tokens_per_day": whole_tokens(values["tokens_per_day"]),
        "verdicts": verdicts,
        "bounds": {axis: root.bound if root else None for axis, root in roots.items()},
    }


def decimal(value: Fraction) -> str:
    """A number of at least zero with up to nine decimals, rounded half to even."""
    whole, nano = divmod(round(value * NANO), NANO)
    return f"{whole}.{nano:09d}".rstrip("0").rstrip(".")


def whole_tokens(tokens: Fraction | None) -> int | None:
    """The first whole number of tokens that reaches the break-even."""
    return None if tokens is None else math.ceil(tokens)
