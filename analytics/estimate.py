"""The economics without data: what a month costs, what a million tokens cost, when an API is met.

Everything is a Fraction until it is shown, so the figures and the break-even are exact. Months
are 30.4375 days of use and 1/12 year of ageing; the idle draw applies to the hours not worked.
"""

from dataclasses import dataclass
from fractions import Fraction

from analytics.breakeven import (
    DAYS_PER_MONTH,
    HOURS_PER_DAY,
    Bought,
    BreakEven,
    UsedDay,
    decimal,
)
from analytics.breakeven import as_json as told
from analytics.breakeven import break_even as solved

MONTHS_PER_YEAR = 12
SECONDS_PER_HOUR = 3600
MILLION = 1_000_000


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
class Estimate:
    """A month under the assumptions: amounts in the currency, tokens as expected."""

    fixed_per_month: Fraction
    energy_per_month: Fraction
    tokens_per_month: Fraction
    cost_per_mtok_output: Fraction | None
    reason: str | None
    api_output_price: Fraction | None
    break_even: BreakEven | None


def kwh_per_day(given: Assumptions, hours: Fraction) -> Fraction:
    """What a day of `hours` at work and the rest idle draws."""
    return (hours * given.full_watts + (HOURS_PER_DAY - hours) * given.idle_watts) / 1000


def energy_per_day(given: Assumptions, hours: Fraction) -> Fraction:
    """What such a day's energy costs, in the currency."""
    return kwh_per_day(given, hours) * given.price_per_kwh


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
        api_output_price=api_output_price,
        break_even=None if api_output_price is None else break_even(given, api_output_price),
    )


def break_even(given: Assumptions, api_output_price: Fraction) -> BreakEven:
    """Where own cost meets an API's bill for the output, along each axis, all else as given."""
    energy = energy_per_day(given, given.hours_per_day)
    return solved(
        UsedDay(
            standing=given.hardware.per_month / DAYS_PER_MONTH + energy_per_day(given, Fraction(0)),
            hours=given.hours_per_day,
            hour_cost=(given.full_watts - given.idle_watts) / 1000 * given.price_per_kwh,
            hour_bill=tokens_per_day(given, Fraction(1)) / MILLION * api_output_price,
            hour_tokens=tokens_per_day(given, Fraction(1)),
            busy=Fraction(1),
            cost=given.hardware.per_month / DAYS_PER_MONTH + energy,
            energy=energy,
            kwh=kwh_per_day(given, given.hours_per_day),
            bought=_bought(given.hardware),
        )
    )


def _bought(hardware: Purchase | Rent) -> Bought | None:
    if isinstance(hardware, Rent):
        return None
    return Bought(
        price=hardware.price,
        residual=hardware.residual,
        per_day=hardware.per_month / DAYS_PER_MONTH,
    )


def as_json(result: Estimate) -> dict[str, object]:
    """The result as JSON values: money, hours and shares as decimal strings, nine decimals."""
    meet = result.break_even
    return {
        "fixed_per_month": decimal(result.fixed_per_month),
        "energy_per_month": decimal(result.energy_per_month),
        "tokens_per_month": round(result.tokens_per_month),
        "cost_per_mtok_output": _maybe(result.cost_per_mtok_output),
        "reason": result.reason,
        "api_output_price": _maybe(result.api_output_price),
        "break_even": meet and told(meet),
    }


def _why_no_tokens(given: Assumptions) -> str:
    missing = "hours per day" if given.hours_per_day == 0 else "tokens per second"
    return f"no token is made at 0 {missing}"


def _maybe(value: Fraction | None) -> str | None:
    return None if value is None else decimal(value)
