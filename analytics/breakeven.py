"""Break-even: where own cost meets the API's bill along one axis, everything else held.

Every axis is a straight line: what is paid at its zero, and what each unit adds, less what each
unit of it would have been billed. So its root is exact, a Fraction, and nothing is searched.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

Verdict = Literal["at", "never", "always"]


@dataclass(frozen=True)
class Root:
    """Where the two meet: `at` a value, or own cost is `always` or `never` the lower one."""

    verdict: Verdict
    value: Fraction | None = None

    def times(self, factor: Fraction | int) -> "Root":
        """The same root in another unit."""
        return Root(self.verdict, None if self.value is None else self.value * factor)


@dataclass(frozen=True)
class Excess:
    """Own cost less the bill along an axis: `at_zero` + `per_unit` × value, in one currency."""

    at_zero: Fraction
    per_unit: Fraction

    def __call__(self, value: Fraction) -> Fraction:
        """What is paid beyond the bill at a value of the axis."""
        return self.at_zero + self.per_unit * value


def solve(excess: Excess, most: Fraction | None = None, *, of_use: bool = False) -> Root:
    """The root in [0, most], or [0, ∞) without `most`.

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
