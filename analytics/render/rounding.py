"""Figures as they are printed beside their sum."""

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction


def in_units(amounts: Sequence[int], unit: int) -> list[int]:
    """Amounts in whole units, rounded so that they add up to their rounded sum.

    Largest remainder, ties in order.
    """
    floors = [amount // unit for amount in amounts]
    short = round(Fraction(sum(amounts), unit)) - sum(floors)
    order = sorted(range(len(amounts)), key=lambda i: (-(amounts[i] % unit), i))
    for i in order[:short]:
        floors[i] += 1
    return floors


def percent(ratio: float, decimals: int = 1) -> str:
    """A share as the pages write it: 24.1 %."""
    return f"{ratio:.{decimals}%}".replace("%", " %")


def three_digits(nano: int | None) -> str:
    """An amount with three significant digits: 4.47, 0.932, 412, 17,000."""
    if nano is None:
        return "unknown"
    amount = Decimal(nano).scaleb(-9)
    if not amount:
        return "0.00"
    digits = 2 - amount.adjusted()
    rounded = amount.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_EVEN)
    decimals = max(0, min(2 - rounded.adjusted(), 6))
    return f"{rounded:,.{decimals}f}".replace("-", "\N{MINUS SIGN}")
