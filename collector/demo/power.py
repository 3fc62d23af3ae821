"""What the demo's cards draw, and the energy counters that integrate exactly that."""

import datetime as dt
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from collector.demo.plan import SEED, Day

PERIOD_NS = 240_000_000_000
GAMING_CARD = 2
GAMING_MW = 350_000


@dataclass(frozen=True)
class Reading:
    """A card at one instant; the counter runs since the start of the month."""

    at_ns: int
    power_mw: int
    energy_uj_total: int
    computing: bool
    gaming: bool


def readings(
    day: Day, card: int, computing: Sequence[tuple[int, int]], counter_pj: int
) -> tuple[list[Reading], int]:
    """Readings of a card every four minutes of a day, and the counter at the day's end (pJ).

    `computing` holds the disjoint, sorted spans in which it computed; `counter_pj` is the counter
    at the day's start in picojoules (mW × ns), so that nothing is lost to rounding.
    """
    rng = Random(f"{SEED} power {card} {day.day}")  # noqa: S311 (reproducible by intent)
    starts = [start for start, _ in computing]
    found: list[Reading] = []
    for at_ns in range(day.start_ns, day.end_ns, PERIOD_NS):
        until_ns = min(at_ns + PERIOD_NS, day.end_ns)
        gaming = card == GAMING_CARD and _inside(day.gaming, at_ns)
        quiet_mw = GAMING_MW if gaming else rng.randint(28_000, 32_000)
        busy_mw = rng.randint(520_000, 570_000)
        place = bisect_right(starts, at_ns) - 1
        now = place >= 0 and at_ns < computing[place][1]
        found.append(Reading(at_ns, busy_mw if now else quiet_mw, counter_pj // 10**6, now, gaming))
        busy_ns = _overlap_ns(computing, max(place, 0), at_ns, until_ns)
        counter_pj += busy_mw * busy_ns + quiet_mw * (until_ns - at_ns - busy_ns)
    if _ends_month(day.day):
        # The counter starts anew with the month: read it once more, a moment before.
        last_ns = day.end_ns - 1_000_000
        last_uj = (counter_pj - quiet_mw * 1_000_000) // 10**6
        found.append(Reading(last_ns, quiet_mw, last_uj, False, gaming))
    return found, counter_pj


def merged(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans that may overlap, as disjoint sorted ones."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


def _overlap_ns(spans: Sequence[tuple[int, int]], place: int, start: int, end: int) -> int:
    total = 0
    while place < len(spans) and spans[place][0] < end:
        total += max(0, min(end, spans[place][1]) - max(start, spans[place][0]))
        place += 1
    return total


def _inside(span: tuple[int, int] | None, at_ns: int) -> bool:
    return span is not None and span[0] <= at_ns < span[1]


def _ends_month(day: dt.date) -> bool:
    return (day + dt.timedelta(days=1)).day == 1
