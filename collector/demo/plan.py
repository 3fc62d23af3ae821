"""What a demo day brings: who asks when, and the few days on which something is wrong."""

import datetime as dt
from dataclasses import dataclass
from random import Random

from collector.demo.rig import local_ns, months_before

SEED = "rigledger demo 1"
MINUTE_NS = 60_000_000_000


@dataclass(frozen=True)
class Project:
    """Whose work it is, the tokens of the system prompt and tools that its agents share, and how
    many the router counts for a hundred tokens of its prompts."""

    name: str
    key: str
    shared_tokens: int
    weight: int
    counted: int


PROJECTS = (
    Project("web shop", "workstation", 15_900, 5, 97),
    Project("data cleaning", "workstation", 12_300, 3, 106),
    Project("code review", "laptop", 18_600, 4, 101),
    Project("garden app", "laptop", 9_800, 1, 93),
)


@dataclass(frozen=True)
class Burst:
    """One task that fans out into branches, each a conversation of some turns."""

    at_ns: int
    project: Project
    session: str
    branches: int
    turns: int
    pinned: int | None = None  # the only card that a herding router uses


@dataclass(frozen=True)
class Day:
    """The plan of one local day; spans are [from, to) in ns since the epoch."""

    day: dt.date
    start_ns: int
    end_ns: int
    bursts: tuple[Burst, ...]
    gaming: tuple[int, int] | None
    outage: tuple[int, int] | None


def plan(day: dt.date) -> Day:
    """The plan of a day. It depends on nothing but the day, so that it never changes."""
    rng = Random(f"{SEED} plan {day}")  # noqa: S311 (a made-up ledger, reproducible by intent)
    gaming = _span(day, 20.5, 150) if day == _weekday_from(day, 15, 4) else None
    outage = _span(day, 15.25, 20) if day == _workday_from(day, 6) else None
    herd = _herd(day)
    bursts = [burst for burst in _bursts(day, rng) if not _disturbs(burst, herd, gaming)]
    if herd is not None:
        bursts.append(herd)
    return Day(
        day=day,
        start_ns=local_ns(day, 0),
        end_ns=local_ns(day + dt.timedelta(days=1), 0),
        bursts=tuple(sorted(bursts, key=lambda burst: (burst.at_ns, burst.session))),
        gaming=gaming,
        outage=outage,
    )


def _bursts(day: dt.date, rng: Random) -> list[Burst]:
    weekend = day.weekday() >= 5
    hours = (
        [(10.5, 12.5, 18.0), (15.0, 17.5, 22.0)]
        if weekend
        else [(8.8, 12.2, 5.9), (12.2, 13.0, 22.0), (13.0, 18.6, 5.9)]
    )  # from, to, mean minutes between two bursts
    if not weekend and rng.random() < 0.35:
        hours.append((20.3, 22.0, 13.0))
    found: list[Burst] = []
    for start, end, minutes in hours:
        at = start + rng.expovariate(60 / minutes)
        while at < end:
            found.append(_burst(day, at, len(found) + 1, rng))
            at += rng.expovariate(60 / minutes)
    return found


def _burst(day: dt.date, hour: float, number: int, rng: Random) -> Burst:
    project = rng.choices(PROJECTS, [project.weight for project in PROJECTS])[0]
    alone = rng.random() < 0.25
    return Burst(
        at_ns=local_ns(day, hour) + rng.randrange(MINUTE_NS),
        project=project,
        session=f"{project.name} {day:%m-%d} task {number}",
        branches=1 if alone else rng.randint(3, 12),
        turns=rng.randint(2, 5) if alone else rng.randint(2, 6),
    )


def _herd(day: dt.date) -> Burst | None:
    """A fan-out whose router sends every branch to one card: long once a month, else brief."""
    project = PROJECTS[2]
    if day == _workday_from(day, 12):
        return Burst(
            local_ns(day, 14.2), project, f"{project.name} {day:%m-%d} audit", 12, 9, pinned=1
        )
    if day.toordinal() % 2 == 0:
        return Burst(
            local_ns(day, 10.2), project, f"{project.name} {day:%m-%d} audit", 9, 3, pinned=0
        )
    return None


def _disturbs(burst: Burst, herd: Burst | None, gaming: tuple[int, int] | None) -> bool:
    """Whether a burst would blur what the day is to show."""
    if gaming is not None and burst.at_ns > gaming[0] - 30 * MINUTE_NS:
        return True
    if herd is None:
        return False
    until = herd.at_ns + (17 if herd.turns > 6 else 5) * MINUTE_NS
    return herd.at_ns - 5 * MINUTE_NS < burst.at_ns < until


def _span(day: dt.date, hour: float, minutes: int) -> tuple[int, int]:
    start = local_ns(day, hour)
    return start, start + minutes * MINUTE_NS


def _workday_from(day: dt.date, number: int) -> dt.date:
    found = day.replace(day=number)
    while found.weekday() >= 5:
        found += dt.timedelta(days=1)
    return found


def _weekday_from(day: dt.date, number: int, weekday: int) -> dt.date:
    found = months_before(day.replace(day=1), 0).replace(day=number)
    return found + dt.timedelta(days=(weekday - found.weekday()) % 7)
