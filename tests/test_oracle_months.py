"""Random months, in zones whose days have 23 to 25 hours, against the second set of books.

Events come shuffled, twice, late, in earlier versions and from several sources; engines share
cards, models are split, queues form, a card is replaced on the way, assets of every method come
and go, the host sleeps and its clock is set, and some months have no request at all.
Every fortieth month is a whole one, the others are some days of one, sparse, and perhaps cut by
the present. RIGLEDGER_MONTHS sets how many are kept (default 16).
"""

import calendar
import datetime as dt
import json
import os
import random
import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import polars as pl
import pytest
from rig import power
from rig.assets import assets, other_costs
from rig.ledger import SECOND, START, attempt, engine, heartbeats, sample, settings
from rig.oracle import Books as Oracle
from rig.oracle import ns_of
from rig.oracle_groups import assert_groups_equal

from analytics import shelf as shelving
from analytics.day import Day, entered, joined
from analytics.month import account, summarize
from analytics.periods import Period, day_at
from analytics.read import Ledger
from analytics.record import keep_record
from analytics.shelf import Shelf
from analytics.timesheet import timesheets
from analytics.utilization import Peak
from collector.clock import from_ns, to_ns
from collector.events import Attempt, Event, Host
from collector.settings import (
    EngineSettings,
    Hardware,
    RigSettings,
    Settings,
    UsageSettings,
)
from collector.settings_check import faults
from collector.store import Store

MONTHS = int(os.environ.get("RIGLEDGER_MONTHS", "16"))
WHOLE = 40
PLACES = [
    ("Europe/Berlin", "2026-03"),
    ("Europe/Berlin", "2026-10"),
    ("America/New_York", "2026-03"),
    ("America/New_York", "2026-11"),
    ("Australia/Lord_Howe", "2026-04"),
    ("Australia/Lord_Howe", "2026-10"),
    ("Asia/Kathmandu", "2026-12"),
    ("UTC", "2028-02"),
]


def days_of(dice: random.Random, seed: int) -> tuple[str, dt.date, int]:
    """A zone, the first day and how many: a month's, or some around whatever happens in it."""
    zone, name = PLACES[(seed + seed // WHOLE) % len(PLACES)]
    first = dt.date.fromisoformat(f"{name}-01")
    length = calendar.monthrange(first.year, first.month)[1]
    if seed % WHOLE == 0:
        return zone, first, length
    days = [first + dt.timedelta(days=n) for n in range(length)]
    odd = [day for day in days if _hours(day, zone) != 24]
    around = dice.choice(odd) if odd and dice.random() < 0.4 else dice.choice(days)
    return zone, around - dt.timedelta(days=dice.randint(0, 2)), dice.randint(3, 6)


def span(made: Settings, first: dt.date, length: int) -> Period:
    last = first + dt.timedelta(days=length)
    return Period("some days", made.midnight_ns(first), made.midnight_ns(last))


def _hours(day: dt.date, zone: str) -> float:
    bounds = [
        dt.datetime.combine(each, dt.time(), ZoneInfo(zone)).timestamp()
        for each in (day, day + dt.timedelta(days=1))
    ]
    return (bounds[1] - bounds[0]) / 3600


def rig(dice: random.Random, zone: str, first: dt.date, length: int, folder: Path) -> Settings:
    """Cards A to C in a pool, a small engine on A too, a model over B and C; C gives way to D.
    Any tariff and meters. Some rigs are bought on the way, so that at first no card serves."""
    replaced = first + dt.timedelta(days=dice.randint(1, length - 1))
    changed = dice.randint(1, length - 1)
    near = to_ns(dt.datetime.combine(first + dt.timedelta(changed), dt.time(), dt.UTC))
    bought = first + dt.timedelta(days=dice.randint(1, length - 1)) if dice.random() < 0.2 else None
    made = settings(
        "A",
        "B",
        "C",
        rig=RigSettings(name="desk", time_zone=zone),
        hardware=[
            Hardware(
                name="box", price="17000", life_years=4,
                in_service=bought or first - dt.timedelta(days=366),
            ),
            Hardware(
                name="card D", price="1999.99", in_service=replaced, life_years=3, cards=["D"]
            ),
            *([] if bought else [
                Hardware(
                    name="card C", price="1500", in_service=first - dt.timedelta(days=100),
                    life_years=3, cards=["C"], retired=replaced, proceeds="333.333333333",
                ),
                *assets(dice, first, "AB"),
            ]),
        ],
        other_costs=other_costs(dice, first),
        electricity=[
            power.electricity(dice, dt.date(2020, 1, 1), folder, near),
            power.electricity(dice, first + dt.timedelta(days=changed), folder, near),
        ],
        meters=power.meters(dice, first + dt.timedelta(days=dice.randint(1, length - 1))),
        usage=UsageSettings(active_gap=dice.choice(["15m", "1h", "40s"])),
    )  # fmt: skip
    made.engines.extend(
        [
            EngineSettings(name="second", url="http://x:1", gpus=["A"], slots=1, pool="small"),
            EngineSettings(name="split", url="http://x:1", gpus=["B", "C"], pool="big"),
            EngineSettings(
                name="on-C", url="http://x:1", gpus=["D"], slots=1, pool="pool", from_=replaced
            ),
        ]
    )
    return made


def happenings(dice: random.Random, span: Period, rig: Settings) -> list[Event]:
    """Bursts of requests, watched hours, sampled hours, outages."""
    days = (span.to_ns - span.from_ns) // (86_000 * SECOND)
    sparse = days < 28
    offset, length = (span.from_ns - START) / 1e9, (span.to_ns - span.from_ns) / 1e9
    made: list[Event] = []

    def some_time() -> float:
        edge = dice.choice([0, length, *(86_400 * n for n in range(1, days))])
        return offset + dice.choice([dice.uniform(0, length), edge + dice.uniform(-90, 90)])

    for burst in range(dice.choice([0, 2, 3] if sparse else [0, 5, 8])):
        start = some_time()
        for n in range(dice.randint(1, 7)):
            at = start + dice.uniform(0, 120)
            name = dice.choice(["on-A", "on-A", "on-B", "on-C", "second", "split"])
            fields: dict[str, Any] = {
                "gpus": [],
                "ttft_ns": dice.choice([None, dice.randint(0, 200 * SECOND)]),
                "dispatch_ns": dice.choice([None, 1_000_003]),
                "wait_ns": dice.choice([None, None, dice.randint(0, 20 * SECOND)]),
                "cache_read_tokens": dice.choice([None, 0, 100]),
                "output_tokens": dice.choice([None, 7, 500]),
                "project": dice.choice([None, "p", "q"]),
                "model": dice.choice(["m", "n"]),
                "session": f"s{burst}",
                "key": dice.choice([None, "laptop", "phone"]),
                "prefix": (prefix := dice.choice([[], [], ["a"], ["a", "b"], ["a", "c"]])),
                "prefix_tokens": [40, dice.choice([90, 120])][: len(prefix)],
            }
            end = at + dice.uniform(0, 300)
            made.append(attempt(f"r{burst}-{n}", at, end, engine=name, **fields))
    for n in range(3 if sparse else 6):
        start = some_time()
        covers = dice.sample(["on-A", "on-B", "on-C", "split", "second"], k=3)
        made += heartbeats(start, start + dice.uniform(60, 5000), covers, every=25, source=f"w{n}")
    for card in "ABCD":
        total, counter = 10**9, dice.random() < 0.7
        for _ in range(dice.randint(0, 2 if sparse else 4)):
            second = some_time()
            for _ in range(dice.randint(2, 20 if sparse else 60)):
                watts = dice.choice([30, 31, 400])
                made.append(
                    sample(
                        card,
                        round(second, 3),
                        power_mw=dice.choice([None, watts * 1000, watts * 1000]),
                        energy_uj_total=total if counter else None,
                        foreign_processes=dice.choice([0, 0, 1]),
                        util_pct=dice.choice([0, 50]),
                    )
                )
                step = dice.choice([60, 60, 60, 61.5, 900, 30_000])
                second, total = second + step, total + round(watts * step * 10**6)
    for name in ("on-A", "second", "split"):
        start = some_time()
        made.append(engine(name, start, "down"))
        made.append(engine(name, start + dice.uniform(60, 9000), "up", dice.choice([None, 1, 3])))
    made.append(befell(dice, span, "boot", dice.randint(1, 90_000 * SECOND)))
    if dice.random() < 0.3:
        made.append(befell(dice, span, "resume", dice.randint(1, 90_000 * SECOND)))
    for _ in range(dice.choice([0, 0, 1, 2])):
        step_ns = dice.choice([-3_600, -90, 90, 7_200]) * SECOND
        made.append(befell(dice, span, "clock_step", step_ns))
    for name in sorted({meter.name for meter in rig.meters}):
        for _ in range(1 if sparse else 3):
            start = span.from_ns + round(dice.uniform(0, length - 40_000) * 1e9)
            end = start + dice.choice([3_000, 36_000]) * SECOND
            made += power.told(dice, name, start, end, every=60)
    unique = list({(e.source, e.event_id): e for e in made}.values())
    return unique + witnesses(dice, unique)


def befell(dice: random.Random, span: Period, what: Any, length_ns: int) -> Host:
    at_ns = dice.randint(span.from_ns, span.to_ns) // 1000 * 1000
    return Host(
        source="collector",
        event_id=f"{what}-{at_ns}",
        rig="desk",
        boot_id="b",
        what=what,
        at=from_ns(at_ns),
        duration_ns=length_ns,
    )


def witnesses(dice: random.Random, events: list[Event]) -> list[Event]:
    """What other sources tell of the same attempts, by other clocks and with other names."""
    made: list[Event] = []
    for n, event in enumerate(events):
        if not isinstance(event, Attempt):
            continue
        for source in dice.choice([[], [], ["tap"], ["engine_log", "otlp"], ["router", "tap"]]):
            ids = {"request_id": f"q{n}", "response_id": dice.choice([None, "c", f"c{n}"])}
            events[n] = msgspec.structs.replace(event, **ids)
            lost = dice.choice([{}, {"request_id": None}, {"response_id": None}])
            late_us = dice.randint(-3_000_000, 3_000_000)
            made.append(
                msgspec.structs.replace(
                    events[n],
                    source=source,
                    received_at=event.received_at + dt.timedelta(microseconds=late_us),
                    duration_ns=max(0, event.duration_ns + dice.randint(-(10**9), 10**9)),
                    output_tokens=dice.choice([None, 9]),
                    usage_source=dice.choice(["engine", "estimated"]),
                    project=dice.choice([None, "r"]),
                    gpus=[],
                    **lost,
                )
            )
    return made


def kept(dice: random.Random, events: list[Event], path: Path) -> Ledger:
    """The events as a careless world tells them: twice, shuffled, first in a wrong version."""
    early = [
        msgspec.structs.replace(event, duration_ns=event.duration_ns + 7)
        for event in events
        if hasattr(event, "ttft_ns") and dice.random() < 0.3
    ]
    revised = {(e.source, e.event_id) for e in early}
    final = [
        msgspec.structs.replace(e, revision=2) if (e.source, e.event_id) in revised else e
        for e in events
    ]
    later = final + dice.sample(final, len(final) // 3)
    dice.shuffle(later)
    with Store(path) as store:
        store.append(early)
        for start in range(0, len(later), 97):
            store.append(later[start : start + 97])
            if dice.random() < 0.2:
                store.seal()
    return Ledger(path)


def spans(made: Settings, period: Period) -> list[tuple[int, int]]:
    """The month, cut where an assignment changes."""
    cuts = {made.midnight_ns(e.from_) for e in made.engines}
    bounds = [period.from_ns, *sorted(c for c in cuts if period.from_ns < c < period.to_ns)]
    return list(zip(bounds, [*bounds[1:], period.to_ns], strict=True))


@pytest.mark.parametrize("seed", range(MONTHS))
def test_a_month_equals_the_second_set(tmp_path: Path, seed: int) -> None:
    dice = random.Random(1000 + seed)
    zone, first, length = days_of(dice, seed)
    made = rig(dice, zone, first, length, tmp_path)
    # Windows that leave an hour without a price are refused; the books would count it as unpriced.
    assert not [fault for fault in faults(made) if fault.path[0] != "electricity"]
    period = span(made, first, length)
    now = period.to_ns + dice.choice([0, 10**12, 10**15, 10**15, -(10**14)])
    events = [e for e in happenings(dice, period, made) if _told_at(e) <= now]
    told_of = kept(dice, events, tmp_path / "ledger")
    if seed % WHOLE == 0:
        shelf = Shelf(told_of, made, now)
        days, document = shelf.days(period.from_ns, period.to_ns), account(shelf, period)
    else:
        days, document = _at_once(told_of, made, period, now)
    # A span that has not begun has no books.
    begun = [(start, end) for start, end in spans(made, period) if start < now]
    second = [Oracle(events, made, start, end, now) for start, end in begun]

    states_ns: dict[str, int] = defaultdict(int)
    states_nano: dict[str, int] = defaultdict(int)
    for books in second:
        for leaf, ns in books.time.items():
            states_ns[leaf[2]] += ns
        for line in books.money.values():
            for leaf, nano in line.items():
                states_nano[leaf[2]] += nano
    assert {k: v for k, v in document["states_ns"].items() if v} == _some(states_ns)
    unassigned = sum(books.unassigned for books in second)
    assert {k: v for k, v in document["states_cost_nano"].items() if v} == _some(
        {**states_nano, "unassigned": unassigned}
    )
    assert document["cost_nano"]["total"] == sum(states_nano.values()) + unassigned
    for category in ("capital", "energy", "other"):
        costs = sum(books.by_category[category] for books in second)
        assert document["cost_nano"][category] == costs
    host = sum(uj for b in second for energy in b.host.values() for uj in energy.values())
    assert (document["energy_uj"]["host"] or 0) == host
    assert document["quality"]["unpriced_energy_uj"] == sum(b.unpriced() for b in second)
    assert (document["energy_uj"]["cards"] or 0) == sum(sum(b.energy.values()) for b in second)
    every = [(ns_of(a.received_at) + a.duration_ns, a) for a in second[0].attempts()]
    ended = [a for at, a in every if period.from_ns <= at < min(period.to_ns, now)]
    for kind in ("input", "cache_read", "output"):
        counted = [getattr(a, f"{kind}_tokens") for a in ended]
        told = [tokens for tokens in counted if tokens is not None]
        assert document["tokens"][kind] == (sum(told) if told or not ended else None)
    assert document["tokens"]["attempts"] == len(ended)
    assert_groups_equal(document, second)
    assert_cells_equal(days, second)
    by_card = sum(day.to_ns - day.from_ns for day in _days(period, made))
    assert period.to_ns - period.from_ns == by_card
    shutil.rmtree(tmp_path / "ledger", ignore_errors=True)  # thousands of them would fill a disk


@pytest.mark.parametrize("seed", range(4))
def test_other_prices_of_kept_time_are_those_of_time_read_anew(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is bought, rented, drawn and metered: a timesheet knows no price."""
    dice = random.Random(7000 + seed)
    zone, first, length = days_of(dice, seed + 1)
    made = rig(dice, zone, first, length, tmp_path)
    period = span(made, first, length)
    events = happenings(dice, period, made)
    told_of = kept(dice, events, tmp_path / "ledger")
    now = period.to_ns + 10**15
    before = Shelf(told_of, made, now).days(period.from_ns, period.to_ns)
    other = repriced(dice, made, first, tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(shelving, "keep_record", None)  # no event is read
        found = Shelf(told_of, other, now).days(period.from_ns, period.to_ns)
    shutil.rmtree(told_of.path / "derived")
    afresh = Shelf(told_of, other, now, keeps=False).days(period.from_ns, period.to_ns)
    assert any(one.facts != two.facts or not one.cells.equals(two.cells)
               for one, two in zip(before, found, strict=True))  # fmt: skip
    for one, two in zip(found, afresh, strict=True):
        assert json.dumps(one.facts) == json.dumps(two.facts)
        for frame in ("cells", "work", "tallies", "ends"):
            assert getattr(one, frame).equals(getattr(two, frame)), frame
        assert one.costs().equals(two.costs())
        assert one.ended().equals(two.ended())


def repriced(dice: random.Random, made: Settings, first: dt.date, folder: Path) -> Settings:
    """The same rig at other prices of hardware, rent, power and whatever else it costs."""
    entries = [each.from_ for each in made.electricity]
    return msgspec.structs.replace(
        made,
        hardware=[
            msgspec.structs.replace(asset, **{
                name: "43.21" for name in ("price", "rate_per_month", "rate_per_hour")
                if getattr(asset, name) is not None
            })
            for asset in made.hardware
        ],
        other_costs=other_costs(dice, first),
        electricity=[power.electricity(dice, since, folder, START) for since in entries],
    )  # fmt: skip


def _at_once(
    told: Ledger, made: Settings, period: Period, now: int
) -> tuple[list[Day], dict[str, Any]]:
    """Days built together and kept nowhere, and their document without the peaks of earlier ones,
    which would have to be built: for the sake of speed."""
    begun = [each for each in spans(made, period) if each[0] < now]
    series = told.price_series(made)
    days = [
        day
        for each in begun
        for day in entered(timesheets(keep_record(told, made, *each, now), made), made, series)
    ]
    peaks = [{card: Peak(**peak) for card, peak in d.facts["peaks"].items()} for d in days]
    return days, summarize(days, peaks, made, period, now, billed=[])


def assert_cells_equal(days: list[Day], second: list[Oracle]) -> None:
    """Time, energy and money of every card, quarter of an hour and state."""
    expected: dict[Any, list[int]] = defaultdict(lambda: [0, 0, 0])
    for books in second:
        for leaf, ns in books.time.items():
            expected[leaf[:3]][0] += ns
        for cell, uj in books.energy.items():
            expected[cell][1] += uj
        for line in books.money.values():
            for leaf, nano in line.items():
                expected[leaf[:3]][2] += nano
    nano = pl.col("capital_nano") + pl.col("energy_nano") + pl.col("other_nano")
    cells = joined(days, "cells").select(
        "card", "bucket_ns", "state", "ns", pl.col("energy_uj").fill_null(0), nano=nano
    )
    found = {row[:3]: list(row[3:]) for row in cells.iter_rows()}
    assert found == {cell: sums for cell, sums in expected.items() if any(sums)}


def _some(figures: dict[str, int]) -> dict[str, int]:
    return {name: figure for name, figure in figures.items() if figure}


def _days(period: Period, made: Settings) -> list[Period]:
    days, at = [], period.from_ns
    while at < period.to_ns:
        days.append(day_at(at, made.zone))
        at = days[-1].to_ns
    return days


def _told_at(event: Any) -> int:
    at = getattr(event, "received_at", None) or event.at
    placed = (at - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1) * 1000
    return placed + (event.duration_ns if hasattr(event, "ttft_ns") else 0)
