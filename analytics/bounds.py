"""What is known of a figure of which a part is not known: which side that leaves open.

A total of known parts is `at least` what is said, and what is divided by such a total `at most`;
where both happen, neither side is known: `open`.
"""

from typing import Literal

Bound = Literal["exactly", "at least", "at most", "open"]
_TURNED: dict[Bound, Bound] = {"at least": "at most", "at most": "at least"}


def known(*, at_least: bool = False, at_most: bool = False) -> Bound:
    """The bound of a figure that may be larger (`at_least`), smaller (`at_most`), or both."""
    if at_least:
        return "open" if at_most else "at least"
    return "at most" if at_most else "exactly"


def turned(bound: Bound) -> Bound:
    """That of the negative, or of the inverse: who saves at least −7 loses at most 7."""
    return _TURNED.get(bound, bound)


def both(one: Bound, other: Bound) -> Bound:
    """That of a sum from those of its parts."""
    if "exactly" in (one, other):
        return other if one == "exactly" else one
    return one if one == other else "open"


def over(one: Bound, other: Bound) -> Bound:
    """That of a difference, or of a quotient: the larger the second, the smaller it is."""
    return both(one, turned(other))


def sign(figure: int, bound: Bound) -> int | None:
    """Whether a figure is above, below or at zero (1, −1, 0); None where its bound leaves that
    open."""
    if bound == "exactly":
        return (figure > 0) - (figure < 0)
    if bound == "at least" and figure > 0:
        return 1
    return -1 if bound == "at most" and figure < 0 else None
