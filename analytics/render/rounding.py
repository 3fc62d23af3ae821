"""Figures as they are printed beside their sum."""

from collections.abc import Sequence
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
