"""Own cost by how long a day the rig works: the break-even in hours as a curve.

Everything else stays as measured. What is paid whether anyone works or not is spread over more
output tokens the longer the day is; the energy above the idle draw, and an API's bill, are the
same for each of them.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from analytics.breakeven import HOURS_PER_DAY
from analytics.utilization import per_mtok_nano

STEPS = ((Fraction(1, 4), 3), (Fraction(1, 2), 8), (Fraction(1), HOURS_PER_DAY))


def by_hours(month: Mapping[str, Any]) -> dict[str, Any] | None:
    """The full price of a period (`month.summarize`) at other hours a day in active windows.

    here_hours: as it was; points: hours (more than 0, up to 24) with full_nano_per_mtok, own cost
    per million output tokens. None where nothing was put out, no window was active, or the energy
    above the idle draw is not known.
    """
    ratio, tokens = month["layers"]["hours"], month["tokens"]["output"]
    marginal = month["marginal_cost_nano"]
    if not ratio or not tokens or marginal is None:
        return None
    here = Fraction(ratio) * HOURS_PER_DAY
    standing = Fraction(month["cost_nano"]["total"] - marginal)
    points = [
        {
            "hours": float(hours),
            "full_nano_per_mtok": per_mtok_nano(standing * here / hours + marginal, tokens),
        }
        for hours in sorted({*_hours(), here})
    ]
    return {"here_hours": float(here), "points": points}


def _hours() -> Iterator[Fraction]:
    """Closer where the curve is steeper."""
    hours = Fraction(0)
    for step, until in STEPS:
        while hours < until:
            hours += step
            yield hours
