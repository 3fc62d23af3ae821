"""The economics without data: what a month costs, what a million tokens cost, when an API is met.

Everything is a Fraction until it is shown, so the figures and the break-even are exact. Months
are 30.4375 days of use and 1/12 year of ageing; the idle draw applies to the hours not worked.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

DAYS_PER_MONTH = Fraction(487, 16)
HOURS_PER_DAY = 24
MONTHS_PER_YEAR = 12
SECONDS_PER_HOUR = 3600
MILLION = 1_000_000
NANO = 1_000_000_000


@dataclass(frozen=True, kw_only=True)
class Purchase:
    """A rig that was bought: amounts in the currency, life in years (above zero)."""

    price: Fraction
    residual: Fraction = Fraction(0)
    life_years: Fraction

    @property
    def per_month(self) -> Fraction:
        """The price less the residual, spread evenly over months of 1/12 year."""
        return (self.price - self.residual) / (self.life_years * MONTHS_PER_YEAR)


@dataclass(frozen=True, kw_only=True)
class Rent:
    """A rig that is rented around the clock, in the currency per hour."""

    per_hour: Fraction

    @property
    def per_month(self) -> Fraction:
        """The rent of every hour of the month, worked or not."""
        return self.per_hour * HOURS_PER_DAY * DAYS_PER_MONTH


@dataclass(frozen=True, kw_only=True)
class Assumptions:
    """What is taken as given; watts and tokens per second are those of the whole rig at work."""

    hardware: Purchase | Rent
    full_watts: Fraction
    idle_watts: Fraction
    tokens_per_second: Fraction
    hours_per_day: Fraction
    price_per_kwh: Fraction


@dataclass(frozen=True, kw_only=True)
class BreakEven:
    """Where own cost meets the API's bill; the figures are None unless the verdict is `at`.

    `always`: any work at all is cheaper here; `never`: not even a full day is.
    """

    verdict: Literal["at", "never", "always"]
    hours_per_day: Fraction | None = None
    tokens_per_day: Fraction | None = None

    @property
    def utilization(self) -> Fraction | None:
        """The hours as a share of the day."""
        return None if self.hours_per_day is None else self.hours_per_day / HOURS_PER_DAY


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A month under the assumptions: amounts in the currency, tokens as expected."""

    fixed_per_month: Fraction
    energy_per_month: Fraction
    tokens_per_month: Fraction
    cost_per_mtok_output: Fraction | None
    reason: str | None
    break_even: BreakEven | None


def energy_per_day(given: Assumptions, hours: Fraction) -> Fraction:
    """What a day of `hours` at work and the rest idle draws, in the currency."""
    watt_hours = hours * given.full_watts + (HOURS_PER_DAY - hours) * given.idle_watts
    return watt_hours / 1000 * given.price_per_kwh


def tokens_per_day(given: Assumptions, hours: Fraction) -> Fraction:
    """Output tokens of a day of `hours` at work."""
    return hours * SECONDS_PER_HOUR * given.tokens_per_second


def estimate(given: Assumptions, api_output_price: Fraction | None = None) -> Estimate:
    """A month, its price per million output tokens and, against an API price, the break-even."""
    fixed = given.hardware.per_month
    energy = energy_per_day(given, given.hours_per_day) * DAYS_PER_MONTH
    tokens = tokens_per_day(given, given.hours_per_day) * DAYS_PER_MONTH
    return Estimate(
        fixed_per_month=fixed,
        energy_per_month=energy,
        tokens_per_month=tokens,
        cost_per_mtok_output=(fixed + energy) / tokens * MILLION if tokens else None,
        reason=None if tokens else _why_no_tokens(given),
        break_even=None if api_output_price is None else break_even(given, api_output_price),
    )


def break_even(given: Assumptions, api_output_price: Fraction) -> BreakEven:
    """Solve own cost = API bill for the hours a day in [0, 24], all else as given.

    Both sides are linear in the hours: what an unworked day costs, against what each worked hour
    earns. An unworked day has no price per token, so a free one is judged by the hours' sign.
    """
    unworked_day = given.hardware.per_month / DAYS_PER_MONTH + energy_per_day(given, Fraction(0))
    bill = tokens_per_day(given, Fraction(1)) / MILLION * api_output_price
    draw = (given.full_watts - given.idle_watts) / 1000 * given.price_per_kwh
    gain_per_hour = bill - draw
    if unworked_day == 0 and gain_per_hour != 0:
        return BreakEven(verdict="always" if gain_per_hour > 0 else "never")
    if unworked_day > gain_per_hour * HOURS_PER_DAY:
        return BreakEven(verdict="never")
    hours = unworked_day / gain_per_hour if gain_per_hour else Fraction(0)
    return BreakEven(verdict="at", hours_per_day=hours, tokens_per_day=tokens_per_day(given, hours))


def as_json(result: Estimate) -> dict[str, object]:
    """The result as JSON values: money, hours and shares as decimal strings, nine decimals."""
    meet = result.break_even
    return {
        "fixed_per_month": decimal(result.fixed_per_month),
        "energy_per_month": decimal(result.energy_per_month),
        "tokens_per_month": round(result.tokens_per_month),
        "cost_per_mtok_output": _maybe(result.cost_per_mtok_output),
        "reason": result.reason,
        "break_even": meet
        and {
            "hours_per_day": _maybe(meet.hours_per_day),
            "utilization": _maybe(meet.utilization),
            "tokens_per_day": whole_tokens(meet.tokens_per_day),
            "verdict": meet.verdict,
        },
    }


def decimal(value: Fraction) -> str:
    """A number of at least zero with up to nine decimals, rounded half to even."""
    whole, nano = divmod(round(value * NANO), NANO)
    return f"{whole}.{nano:09d}".rstrip("0").rstrip(".")


def whole_tokens(tokens: Fraction | None) -> int | None:
    """The first whole number of tokens that reaches the break-even."""
    return None if tokens is None else math.ceil(tokens)


def _why_no_tokens(given: Assumptions) -> str:
    missing = "hours per day" if given.hours_per_day == 0 else "tokens per second"
    return f"no token is made at 0 {missing}"


def _maybe(value: Fraction | None) -> str | None:
    return None if value is None else decimal(value)
