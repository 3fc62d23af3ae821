"""The demo's events, as JSON, each with the instant at which a real source would send it."""

import datetime as dt
import json
from collections.abc import Iterator
from functools import lru_cache

import msgspec

from collector.clock import from_ns
from collector.demo import decision, power, rig
from collector.demo.plan import Day, plan
from collector.demo.serve import Request, serve

HEARTBEAT_NS = 30_000_000_000
_COMMON = f'"source":"{rig.SOURCE}","rig":"{rig.RIG}"'
_COVERS = json.dumps(rig.ENGINES)
Due = tuple[int, str]  # ns since the epoch, one event as JSON


def events(first: dt.date, since_ns: int = 0) -> Iterator[list[Due]]:
    """Day by day, without end, the events in the order in which they fall due.

    `first` must be the first day of a month: that is where the energy counters start. What falls
    due up to and including `since_ns` is left out; its energy counts all the same.
    """
    counters = [0] * len(rig.CARDS)
    day = first
    while True:
        if day.day == 1:
            counters = [0] * len(rig.CARDS)
        yield [due for due in _day(plan(day), counters, since_ns) if due[0] > since_ns]
        day += dt.timedelta(days=1)


def _day(day: Day, counters: list[int], since_ns: int) -> list[Due]:
    """The events of one day, unless all is past; moves the counters (pJ) to its end."""
    requests = serve(day)
    found: list[Due] = []
    for card in range(len(rig.CARDS)):
        spans = [(r.start_ns, r.end_ns) for r in requests if r.card == card]
        read, counters[card] = power.readings(day, card, power.merged(spans), counters[card])
        if day.end_ns > since_ns:
            found += [_sample(day, card, seen) for seen in read if not _lost(day, seen.at_ns)]
    if day.end_ns <= since_ns:
        return []
    if day.day.day == 1:
        found += [_engine(day, card) for card in range(len(rig.CARDS))]
    found += [_attempt(day, request) for request in requests]
    found += _heartbeats(day)
    # Stable by time alone: the text of an event must not decide its place.
    return sorted(found, key=lambda due: due[0])


def _attempt(day: Day, request: Request) -> Due:
    name = f"{day.day:%Y%m%d}-{request.number}"
    ok, failed = request.status == "ok", request.status == "upstream_error"
    event = {
        "kind": "attempt",
        "source": rig.SOURCE,
        "event_id": f"attempt-{name}",
        "rig": rig.RIG,
        "boot_id": _boot(day.day),
        "request_id": f"demo-{name}",
        "session": request.burst.session,
        "project": request.burst.project.name,
        "key": request.burst.project.key,
        "engine": rig.ENGINES[request.card],
        "model": rig.MODEL,
        "gpus": [rig.CARDS[request.card]],
        "received_at": _instant(request.received_ns),
        "dispatch_ns": request.dispatch_ns,
        "wait_ns": request.start_ns - request.received_ns - request.dispatch_ns,
        "ttft_ns": None if request.first_ns is None else request.first_ns - request.received_ns,
        "duration_ns": request.end_ns - request.received_ns,
        "input_tokens": None if failed else request.input_tokens,
        "cache_read_tokens": None if failed else request.cache_read_tokens,
        "output_tokens": None if failed else request.output_tokens,
        "usage_source": "missing" if failed else "engine" if ok else "derived",
        "status": request.status,
        "http_status": 500 if failed else 200,
        "finish_reason": "stop" if ok else None,
        "prefix": decision.prefix(request),
        "prefix_tokens": request.boundaries,
        "route": decision.route(request),
    }
    return request.end_ns, msgspec.json.encode(event).decode()


def _heartbeats(day: Day) -> list[Due]:
    boot = _boot(day.day)
    return [
        (
            at_ns,
            f'{{"kind":"heartbeat",{_COMMON},"boot_id":"{boot}","witness":"demo",'
            f'"event_id":"heartbeat-{at_ns // 10**9}","covers":{_COVERS},'
            f'"at":"{_instant(at_ns)}"}}',
        )
        for at_ns in range(day.start_ns, day.end_ns, HEARTBEAT_NS)
        if not _lost(day, at_ns)
    ]


def _sample(day: Day, card: int, reading: power.Reading) -> Due:
    boot, busy, gaming = _boot(day.day), reading.computing, reading.gaming
    util = 98 if busy else 90 if gaming else 0
    clock = 2_740 if busy else 2_610 if gaming else 210
    temp = 66 + card if busy else 61 if gaming else 34 + card
    memory = 30_923_764_531 + (3_221_225_472 if gaming else 0)
    return reading.at_ns, (
        f'{{"kind":"sample",{_COMMON},"boot_id":"{boot}",'
        f'"event_id":"sample-{card}-{reading.at_ns // 10**6}","device":"{rig.CARDS[card]}",'
        f'"scope":"card","at":"{_instant(reading.at_ns)}","power_mw":{reading.power_mw},'
        f'"energy_uj_total":{reading.energy_uj_total},"counter_epoch":"{boot}",'
        f'"util_pct":{util},"memory_used_b":{memory},"sm_clock_mhz":{clock},"temp_c":{temp},'
        f'"throttle_mask":{0 if busy or gaming else 1},"foreign_processes":{int(gaming)},'
        f'"sensor":"demo"}}'
    )


def _engine(day: Day, card: int) -> Due:
    return day.start_ns, (
        f'{{"kind":"engine",{_COMMON},"boot_id":"{_boot(day.day)}",'
        f'"event_id":"engine-{card}-{day.day:%Y%m}","engine":"{rig.ENGINES[card]}",'
        f'"state":"up","slots":{rig.SLOTS},"running":0,"waiting":0,'
        f'"at":"{_instant(day.start_ns)}"}}'
    )


@lru_cache(maxsize=64)
def _boot(day: dt.date) -> str:
    """The machine restarts with each month, and its counters with it."""
    return f"demo-{day:%Y-%m}"


def _lost(day: Day, at_ns: int) -> bool:
    return day.outage is not None and day.outage[0] <= at_ns < day.outage[1]


def _instant(at_ns: int) -> str:
    return from_ns(at_ns).isoformat().replace("+00:00", "Z")
