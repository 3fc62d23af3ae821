"""When the second books worked: by card and day, by weekday and hour, and how many at once."""

import datetime as dt
import itertools
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from rig.oracle import EPOCH, Books, covered, ns_of

Figures = dict[Any, dict[str, int]]


def calendars(second: Iterable[Books]) -> tuple[Figures, Figures]:
    """Time by state of each card and day, and of each weekday and hour."""
    days: Figures = defaultdict(lambda: defaultdict(int))
    hours: Figures = defaultdict(lambda: defaultdict(int))
    for books in second:
        for (card, bucket, state, _, _), ns in books.time.items():
            at = (EPOCH + dt.timedelta(microseconds=bucket // 1000)).astimezone(books.settings.zone)
            days[card, at.date().isoformat()][state] += ns
            hours[at.isoweekday(), f"{at.hour:02}"][state] += ns
    return days, hours


def at_once(second: Iterable[Books], pool: str) -> tuple[dict[int, int], int]:
    """A pool's time by the number of requests there, and its time without a witness."""
    levels: dict[int, int] = defaultdict(int)
    unknown = 0
    for books in second:
        engines = [e for e in books.engines.values() if e.pool_name == pool]
        cards = [card for card in books.cards if any(card in e.gpus for e in engines)]
        segments = [s for card in cards for s in books.segments[card]]
        served = covered([(a, b) for a, b, _ in segments])
        unseen = covered([(a, b) for a, b, state in segments if state == "unknown"])
        there = [r for r in books.requests if books.pool(r) == pool and books.cards_of(r)]
        edges = {t for a, b, _ in segments for t in (a, b)} | {books.start, books.end}
        edges |= {t for r in there for t in (r.start, r.end)}
        inner = sorted(t for t in edges if books.start <= t <= books.end)
        for a, b in itertools.pairwise(inner):
            number = sum(r.start <= a < r.end for r in there)
            if served(a) and not number and unseen(a):
                unknown += b - a
            elif served(a):
                levels[number] += b - a
    return dict(levels), unknown


def slots(books: Books, pool: str) -> int | None:
    """What the pool's engines have at the end, declared or as last told."""
    total = 0
    for name, engine in books.engines.items():
        if engine.pool_name != pool:
            continue
        told = [(ns_of(e.at), e.event_id, e.slots) for e in books.words() if e.engine == name]
        before = [each for each in told if each[2] is not None and each[0] < books.end]
        count = engine.slots if engine.slots is not None else max(before)[2] if before else None
        if count is None:
            return None
        total += count
    return total


def assert_equal(document: dict[str, Any], second: list[Books]) -> None:
    """The calendars and the requests at once of a report against the second books."""
    days, hours = calendars(second)
    groups = document["groups"]
    told_days = {(g["card"], g["day"]): _some(g["states_ns"]) for g in groups["card_day"]}
    assert told_days == {name: _some(states) for name, states in days.items()}
    told_hours = {(g["weekday"], g["hour"]): _some(g["states_ns"]) for g in groups["weekday_hour"]}
    assert told_hours == {name: _some(states) for name, states in hours.items()}
    pools = {pool["name"]: pool for pool in document["headroom"]["concurrency"]}
    for name, pool in pools.items():
        levels, unknown = at_once(second, name)
        assert {int(n): ns for n, ns in pool["at_once_ns"].items()} == levels, name
        assert pool["unknown_ns"] == unknown, name
        last = [b for b in second if any(e.pool_name == name for e in b.engines.values())][-1]
        assert pool["slots"] == slots(last, name), name


def _some(figures: dict[str, int]) -> dict[str, int]:
    return {name: figure for name, figure in figures.items() if figure}
