"""How quick a browser is: how long it took from the page that it was given to its first question.

Of several that come at once, each may be taken for another: a guess, and no more rests on it.
"""

import time

LONGEST_S = 1.5
_given = [0.0]


def given() -> None:
    """A browser has asked for the page and gets it."""
    _given[0] = time.monotonic()


def started_s() -> float:
    """Seconds since the page was last given, as far as they tell of a browser."""
    return min(time.monotonic() - _given[0], LONGEST_S)
