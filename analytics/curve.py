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
        inner = (at for at in bound.instants if years_ns[0] < at < years_ns[-1])
        self._starts = sorted({*inner, *years_ns})
        # From each start on: reached so far, and the cost by elapsed time and by its square.
        self._pieces: list[tuple[Fraction, Fraction, Fraction]] = []
        reached = Fraction(0)
        for begin, end in pairwise(self._starts):
            year = bisect_right(years_ns, begin)
            a_ns = rate / (years_ns[year] - years_ns[year - 1])
            first, last = bound.since(begin), bound.upto(end)
            self._pieces.append((reached, first * a_ns, (last - first) * a_ns / (end - begin) / 2))
            reached = self.upto(end)

    def upto(self, at_ns: int) -> Fraction:
        """What it has cost from the first new year up to an instant."""
        piece = bisect_left(self._starts, at_ns, lo=1) - 1
        reached, even, growing = self._pieces[piece]
        elapsed = at_ns - self._starts[piece]
        return reached + even * elapsed + growing * (elapsed * elapsed)
