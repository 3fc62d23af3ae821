"""Findings about a rig: what is well, what to know, what to mend and how. Pure."""

from collections.abc import Iterator
from zoneinfo import ZoneInfo

from analytics.doctor_prices import sheets
from analytics.doctor_rig import cards, engines_up, ports, ports_up
from analytics.finding import Finding, note, ok, problem
from collector.checkup import STEPS_DAYS, CardFacts, Facts, LedgerFacts
from collector.clock import SECOND_NS, from_ns
from collector.settings import EngineSettings, Settings
from collector.sources.engine_health import in_force
from router.checkup import TapFacts

GIB = 1 << 30
FREE_PROBLEM_B, FREE_NOTE_B = GIB // 2, 5 * GIB
# Heartbeats come every 10 s and samples at most every 60 s.
LATE_NS = {"heartbeat": 60 * SECOND_NS, "sample": 180 * SECOND_NS}
FUTURE_NS = 5 * SECOND_NS


def findings(settings: Settings, facts: Facts, taps: TapFacts) -> list[Finding]:
    """Everything that these facts tell about a rig, in the order of the settings."""
    today = from_ns(facts.now_ns).astimezone(settings.zone).date()
    engines = in_force(settings.engines, today)
    return [
        *prices(settings, facts.now_ns),
        *sheets(settings, facts.now_ns),
        *ledger(facts.ledger),
        *collector(facts),
        *events(facts, expected=_expected(engines, facts.cards)),
        *clock(settings, facts),
        *cards(engines, facts.cards),
        *engines_up(engines, facts),
        *ports(settings, engines),
        *ports_up(settings, taps),
    ]


def prices(settings: Settings, now_ns: int) -> Iterator[Finding]:
    """What the books have no price for."""
    today = from_ns(now_ns).astimezone(settings.zone).date()
    there = (a.in_service <= today and not (a.retired and a.retired <= today)
             for a in settings.hardware)  # fmt: skip
    if not any(there):
        yield note(
            "prices",
            "no hardware is in service: capital counts as nothing",
            "add [[hardware]] with price, in_service and life_years",
        )
    if not any(tariff.from_ <= today for tariff in settings.electricity):
        yield note(
            "prices",
            "no electricity price is in force: energy counts as nothing",
            "add [[electricity]] with from and price_per_kwh",
        )


def ledger(found: LedgerFacts) -> Iterator[Finding]:
    """The folder, its rights, its room and its writer."""
    if not found.exists:
        yield note("ledger", f"{found.path} does not exist yet", "`rigledger up` makes it")
        return
    if found.error is not None:
        yield problem("ledger", found.error)
    else:
        yield ok("ledger", f"{found.path} can be read")
    if not found.writable:
        yield problem(
            "ledger",
            f"{found.path} cannot be written by this user",
            "give it to the user that runs the collector (chown)",
        )
    if found.mode & 0o077:
        yield note("ledger", f"{found.path} is open to other users", f"chmod 700 {found.path}")
    room = f"{found.free_b / GIB:,.1f} GiB are free"
    if found.free_b < FREE_PROBLEM_B:
        yield problem("ledger", room, "make room before events are refused")
    elif found.free_b < FREE_NOTE_B:
        yield note("ledger", room, "make room soon")
    else:
        yield ok("ledger", room)
    if found.damaged:
        yield note(
            "ledger",
            f"damage was found {_times(found.damaged)}; what was damaged is set aside",
            f"look into {found.path}/quarantine and at the disk",
        )


def collector(facts: Facts) -> Iterator[Finding]:
    """Whether anybody keeps the books, and what was told to it that it could not keep."""
    trouble = facts.collector.trouble
    if trouble is None:
        yield ok("collector", "it answers and keeps events")
    elif facts.ledger.written:
        yield problem(
            "collector",
            f"{trouble}, though a process writes the ledger",
            "check that [collector] listen is the address that it was started with",
        )
    else:
        yield problem("collector", trouble)
    if refused := facts.collector.refused:
        kinds = ", ".join(f"{count:,} of kind {kind}" for kind, count in sorted(refused.items()))
        yield note(
            "collector",
            f"since its start it refused events that break the contract: {kinds}",
            "its answer named each field that is wrong: whoever told them, a callback of a router"
            " perhaps, must be of this version",
        )


def _expected(engines: list[EngineSettings], seen: CardFacts) -> set[str]:
    """The kinds that must keep coming on this rig."""
    return ({"heartbeat"} if engines else set()) | ({"sample"} if seen.readings else set())


def events(facts: Facts, expected: set[str]) -> Iterator[Finding]:
    """The age of each kind's newest event."""
    if facts.ledger.error is not None or not facts.ledger.exists:
        return
    for kind in sorted(expected | facts.ledger.newest_ns.keys()):
        newest = facts.ledger.newest_ns.get(kind)
        if newest is None:
            yield problem(
                "events", f"there is no {kind} yet", "start `rigledger up` and wait a minute"
            )
            continue
        age_ns = facts.now_ns - newest
        if age_ns < -FUTURE_NS:
            yield problem(
                "events",
                f"the newest {kind} lies {_span(-age_ns)} in the future",
                "the clock was set back, or a sender's clock is wrong: synchronise both",
            )
        elif kind in expected and age_ns > LATE_NS[kind]:
            yield problem(
                "events",
                f"the newest {kind} is {_span(age_ns)} old",
                "start `rigledger up`, or read the collector's log",
            )
        else:
            yield ok("events", f"the newest {kind} is {_span(max(age_ns, 0))} old")


def clock(settings: Settings, facts: Facts) -> Iterator[Finding]:
    """Whether instants can be trusted, and whose days the books count."""
    if facts.synchronised is False:
        yield note(
            "clock",
            "the kernel does not hold the wall clock for synchronised",
            "run a time service (`timedatectl set-ntp true`)",
        )
    elif facts.synchronised:
        yield ok("clock", "the wall clock is synchronised")
    if facts.ledger.clock_steps:
        yield note(
            "clock",
            f"the wall clock jumped {_times(facts.ledger.clock_steps)} in {STEPS_DAYS} days",
            "durations are safe, the hour of day is not: run a time service",
        )
    ours, theirs = settings.rig.time_zone, facts.system_zone
    now = from_ns(facts.now_ns)
    here, there = now.astimezone(settings.zone), now.astimezone(ZoneInfo(theirs))
    if here.utcoffset() != there.utcoffset():
        yield note(
            "clock",
            f"the books keep the days of {ours}, this machine those of {theirs}",
            "set [rig] time_zone if that is not meant",
        )
    else:
        yield ok("clock", f"the books keep the days of {ours}")


def _span(ns: int) -> str:
    for unit, name in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if ns >= unit * SECOND_NS:
            return f"{ns / unit / SECOND_NS:,.1f} {name}"
    return f"{ns / SECOND_NS:,.0f} s"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"
