"""Amounts over time: even between dated knots, exact, and floored once where they are booked."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise

Knot = tuple[int, Fraction]  # instant ns, amount in nano-units


class Curve:
    """An amount that changes evenly between its knots and stays before the first and after the
    last. Knots come in order of time; two at one instant are a jump."""

    def __init__(self, knots: Iterable[Knot]) -> None:
        self.knots = list(knots)
        self.instants = [at for at, _ in self.knots]

    def upto(self, at_ns: int) -> Fraction:
        """The amount that an instant is reached with: a jump at it has not come yet."""
        return self._between(bisect_left(self.instants, at_ns), at_ns)

    def since(self, at_ns: int) -> Fraction:
        """The amount that goes on from an instant: a jump at it is done."""
        return self._between(bisect_right(self.instants, at_ns), at_ns)

    def _between(self, after: int, at_ns: int) -> Fraction:
        if after in (0, len(self.knots)):
            return self.knots[min(after, len(self.knots) - 1)][1]
        (begin, low), (end, high) = self.knots[after - 1], self.knots[after]
        return low + (high - low) * Fraction(at_ns - begin, end - begin)


class Interest:
    """What an amount costs at a yearly rate, by the share of each local calendar year.

    `years_ns` are the new years around every instant that is asked for. Exact: the amount is even
    between its knots.
    """

    def __init__(self, bound: Curve, rate: Fraction, years_ns: list[int]) -> None:
        self._bound, self._rate, self._years = bound, rate, years_ns
        inner = (at for at in bound.instants if years_ns[0] < at < years_ns[-1])
        self._starts = sorted({*inner, *years_ns})
        self._reached = [Fraction(0)]
        for begin, end in pairwise(self._starts):
            self._reached.append(self._reached[-1] + self._piece(begin, end))

    def upto(self, at_ns: int) -> Fraction:
        """What it has cost from the first new year up to an instant."""
        index = bisect_right(self._starts, at_ns) - 1
        return self._reached[index] + self._piece(self._starts[index], at_ns)

    def _piece(self, begin: int, end: int) -> Fraction:
        """Between two instants without a knot or a new year between them."""
        if begin == end:
            return Fraction(0)
        year = bisect_right(self._years, begin)
        length = self._years[year] - self._years[year - 1]
        mean = (self._bound.since(begin) + self._bound.upto(end)) / 2
        return mean * self._rate * Fraction(end - begin, length)
