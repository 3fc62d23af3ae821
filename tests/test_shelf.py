"""Kept days are the days built, and news, new assumptions or damage build them again."""

import datetime as dt
import random
import zoneinfo
from collections.abc import Callable
from importlib import metadata
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rig.ledger import SECOND, START, attempt, heartbeats, sample, settings

from analytics import shelf as shelving
from analytics.month import month
from analytics.periods import Period, day_at, month_of
from analytics.read import Ledger
from analytics.record import keep_record
from analytics.shelf import Shelf
from analytics.timesheet import timesheets
from collector import tables
from collector.events import Event
from collector.settings import (
    Electricity,
    EngineSettings,
    Hardware,
    RigSettings,
    Settings,
    SloSettings,
    UsageSettings,
)
from collector.settings_power import Meter, Window
from collector.store import Store

DAY = 86_400
MONTH = "2026-10"
NOW = START + 60 * DAY * SECOND


def rig(zone: str = "UTC", price: str = "17000") -> Settings:
    return settings(
        "A",
        "B",
        rig=RigSettings(name="desk", time_zone=zone),
        hardware=[Hardware(name="box", price=price, in_service=dt.date(2026, 10, 1), life_years=4)],
        electricity=[Electricity(from_=dt.date(2026, 1, 1), price_per_kwh="0.20", host_watts=100)],
    )


def week(dice: random.Random) -> list[Event]:
    """A week of requests, some across midnight, with witnesses and samples some of the time."""
    events: list[Event] = []
    for n in range(60):
        start = dice.uniform(0, 7 * DAY)
        if n % 6 == 0:
            start = DAY * (1 + n // 6 % 6) - 8 * 3600 - 30  # half a minute before UTC midnight
        length = dice.uniform(1, 400)
        events.append(attempt(f"r{n:02}", start, start + length, dice.choice("AB"), ttft_ns=SECOND))
    events += heartbeats(0, 5 * DAY, ["on-A"], every=30)
    for card in "AB":
        total = 0
        for second in range(0, 6 * DAY, 240):
            total += dice.randint(30, 400) * 240 * 10**6
            events.append(sample(card, second, power_mw=40_000, energy_uj_total=total))
    return events


@pytest.fixture(scope="module")
def events() -> list[Event]:
    return week(random.Random(5))


@pytest.fixture
def kept(tmp_path: Path, events: list[Event]) -> Ledger:
    with Store(tmp_path / "ledger") as store:
        store.append(events)
    return Ledger(tmp_path / "ledger")


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many days were built from events since it was last asked."""
    return counting(monkeypatch, "timesheets")


@pytest.fixture
def priced(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many days were made of timesheets since it was last asked."""
    return counting(monkeypatch, "entered")


def counting(monkeypatch: pytest.MonkeyPatch, name: str) -> Callable[[], int]:
    built: list[int] = []
    real = getattr(shelving, name)

    def counted(*args: Any) -> Any:
        days = real(*args)
        built.append(len(days))
        return days

    monkeypatch.setattr(shelving, name, counted)

    def since() -> int:
        total = sum(built)
        built.clear()
        return total

    return since


def october(kept: Ledger, made: Settings, now_ns: int = NOW) -> dict[str, Any]:
    return month(kept, made, month_of(MONTH, made.zone), now_ns)


def take_away(kept: Ledger) -> None:
    """All that is kept of days, and of their time."""
    for facts in (kept.path / "derived").rglob("facts.json"):
        facts.unlink()


@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles", "Asia/Kathmandu"])
def test_built_taken_and_rebuilt_are_one(kept: Ledger, zone: str, counted: Any) -> None:
    made = rig(zone)
    built = october(kept, made)
    assert counted() == 31
    assert october(kept, made) == built
    assert counted() == 0
    take_away(kept)
    assert october(kept, made) == built
    assert counted() == 31


def test_a_month_day_by_day_is_the_month_at_once(
    kept: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = rig("America/Los_Angeles")
    at_once = october(kept, made)
    take_away(kept)
    monkeypatch.setattr(shelving, "CHUNK_DAYS", 1)
    assert october(kept, made) == at_once


def test_news_builds_its_days_again_and_no_other(
    kept: Ledger, counted: Any, tmp_path: Path, events: list[Event]
) -> None:
    made = rig()
    october(kept, made)
    counted()
    late: list[Event] = [attempt("late", 3 * DAY, 3 * DAY + 50, project="late")]
    with Store(kept.path) as store:
        store.append(late)
    told = october(kept, made)
    assert counted() == 1
    with Store(tmp_path / "fresh") as store:
        store.append([*events, *late])
    assert told == october(Ledger(tmp_path / "fresh"), made)


def test_a_late_sample_builds_every_day_that_it_reaches(
    kept: Ledger, tmp_path: Path, events: list[Event]
) -> None:
    made = rig()
    october(kept, made)
    # Between the last sample (day 6) and nothing: it gives the time before it its energy.
    late: list[Event] = [
        sample(card, 7 * DAY, power_mw=40_000, energy_uj_total=10**14) for card in "AB"
    ]
    with Store(kept.path) as store:
        store.append(late)
    told = october(kept, made)
    with Store(tmp_path / "fresh") as store:
        store.append([*events, *late])
    assert told == october(Ledger(tmp_path / "fresh"), made)


def energy_uj(ledger: Ledger, made: Settings, day: Period, hours_later: float) -> int:
    """What the cards drew in a day, as told some hours after it."""
    now_ns = day.to_ns + round(hours_later * 3600) * SECOND
    (found,) = Shelf(ledger, made, now_ns).days(day.from_ns, day.to_ns)
    return int(found.cells["energy_uj"].sum())


def test_a_reading_after_a_day_was_kept_still_tells_of_it(tmp_path: Path) -> None:
    """100 W, read up to an hour before midnight and again from eight in the morning."""
    made, end = rig(), 16 * 3600  # midnight, in seconds after START
    day = day_at(START, made.zone)

    def read(begin: int) -> list[Event]:
        return [
            sample("A", at, energy_uj_total=(at - end + 7200) * 10**8)
            for at in range(begin, begin + 3600, 10)
        ]

    with Store(tmp_path) as store:
        store.append(read(end - 7200))
    assert energy_uj(Ledger(tmp_path), made, day, 1) == 3590 * 10**8
    with Store(tmp_path) as store:
        store.append(read(end + 8 * 3600))
    assert energy_uj(Ledger(tmp_path), made, day, 20) == 7200 * 10**8


def test_a_day_is_built_once_more_when_its_utc_day_is_over(tmp_path: Path) -> None:
    """The usual period is told per UTC day: most of it every second makes ten seconds a gap, which
    power does not bridge. Los Angeles' 5 October ends at 07:00 UTC."""
    made = rig("America/Los_Angeles")
    day = day_at(START, made.zone)
    end = (day.to_ns - START) // SECOND

    def read(begin: int, until: int, step: int) -> list[Event]:
        return [sample("A", at, power_mw=100_000) for at in range(begin, until, step)]

    with Store(tmp_path) as store:
        store.append(read(end - 7 * 3600, end + 3600, 10))
    assert energy_uj(Ledger(tmp_path), made, day, 1) == 7 * 3600 * 10**8
    with Store(tmp_path) as store:
        store.append(read(end + 3600, end + 4 * 3600, 1))
    assert energy_uj(Ledger(tmp_path), made, day, 20) == 0


def test_a_day_whose_midnight_the_clocks_skip_is_cut_where_it_begins(tmp_path: Path) -> None:
    """Santiago's 6 September 2026 begins at one: 100 W, and 400 W in the four minutes around it."""
    box = Hardware(name="box", price="17000", in_service=dt.date(2026, 9, 1), life_years=4)
    made = msgspec.structs.replace(rig("America/Santiago"), hardware=[box])
    end = -29 * 86_400 - 4 * 3600  # 2026-09-06T04:00Z, in seconds after START
    first = day_at(START + (end - 1) * SECOND, made.zone)
    events: list[Event] = [attempt("r", end + 5, end + 115, ttft_ns=SECOND)]
    total = 0
    for at in range(-6 * 3600, 6 * 3600, 240):
        total += (400 if at == 0 else 100) * 240 * 10**6
        events.append(sample("A", end + at + 120, power_mw=100_000, energy_uj_total=total))
    with Store(tmp_path) as store:
        store.append(events)
    following = day_at(first.to_ns, made.zone)
    whole = keep_record(Ledger(tmp_path), made, first.from_ns, following.to_ns, NOW)
    at_once = [int(day.card_energy["energy_uj"].sum()) for day in timesheets(whole, made)]
    alone = [energy_uj(Ledger(tmp_path), made, day, 48) for day in (first, following)]
    half = (89 * 100 + 200) * 240 * 10**6
    assert alone == at_once == [half, half]


def test_other_prices_make_other_days_without_reading_an_event(
    kept: Ledger, counted: Any, tmp_path: Path, events: list[Event]
) -> None:
    one = october(kept, rig())
    assert counted() == 31
    two = october(kept, rig(price="8500"))
    assert counted() == 0
    assert two["cost_nano"]["capital"] * 2 == pytest.approx(one["cost_nano"]["capital"], abs=2)
    with Store(tmp_path / "fresh") as store:
        store.append(events)
    assert two == october(Ledger(tmp_path / "fresh"), rig(price="8500"))
    counted()
    assert october(kept, rig()) == one
    assert counted() == 0


def test_news_and_other_prices_at_once_read_the_events_of_the_news_alone(
    kept: Ledger, counted: Any, tmp_path: Path, events: list[Event]
) -> None:
    october(kept, rig())
    late: list[Event] = [attempt("late", 3 * DAY, 3 * DAY + 50)]
    with Store(kept.path) as store:
        store.append(late)
    counted()
    told = october(kept, rig(price="8500"))
    assert counted() == 1
    with Store(tmp_path / "fresh") as store:
        store.append([*events, *late])
    assert told == october(Ledger(tmp_path / "fresh"), rig(price="8500"))


@pytest.mark.parametrize(
    "change",
    [
        {"usage": UsageSettings(active_gap="1m")},
        {"hardware": [Hardware(name="box", price="17000", in_service=dt.date(2026, 10, 3))]},
        {"meters": [Meter(name="plug", kind="shelly", url="http://127.0.0.1:1")]},
        {"slo": SloSettings(ttft_p95_seconds=2)},
        {"engines": [EngineSettings(name="on-A", gpus=["A"], url="http://127.0.0.1:1")]},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_time_rests_on_reads_the_events_again(
    kept: Ledger, counted: Any, change: dict[str, Any], tmp_path: Path, events: list[Event]
) -> None:
    span = START - 8 * 3600 * SECOND, START + 40 * 3600 * SECOND
    Shelf(kept, rig(), NOW).days(*span)
    assert counted() == 2
    changed = msgspec.structs.replace(rig(), **change)
    told = Shelf(kept, changed, NOW).days(*span)
    assert counted() == 2
    with Store(tmp_path / "fresh") as store:
        store.append(events)
    afresh = Shelf(Ledger(tmp_path / "fresh"), changed, NOW).days(*span)
    assert [day.facts for day in told] == [day.facts for day in afresh]


def test_where_an_engine_answers_is_nothing_that_time_rests_on(kept: Ledger, counted: Any) -> None:
    span = START - 8 * 3600 * SECOND, START + 16 * 3600 * SECOND
    before = Shelf(kept, rig(), NOW).days(*span)
    assert counted() == 1
    moved = [msgspec.structs.replace(each, url="http://127.0.0.1:9") for each in rig().engines]
    after = Shelf(kept, msgspec.structs.replace(rig(), engines=moved), NOW).days(*span)
    assert counted() == 0
    assert after[0].cells.equals(before[0].cells)


def test_another_table_of_the_zone_builds_other_days(
    kept: Ledger, counted: Any, tmp_path: Path
) -> None:
    """Another zone's table under the same name stands for a government's decision."""
    one = october(kept, rig("Europe/Berlin"))
    counted()
    assert october(kept, rig("Europe/Berlin")) == one
    assert counted() == 0
    table = tmp_path / "zones" / "Europe" / "Berlin"
    table.parent.mkdir(parents=True)
    london = files("tzdata").joinpath("zoneinfo", "Europe", "London")
    table.write_bytes(london.read_bytes())
    try:
        zoneinfo.reset_tzpath([str(tmp_path / "zones")])
        two = october(kept, rig("Europe/Berlin"))
    finally:
        zoneinfo.reset_tzpath()
    assert counted() == 31
    assert two == one  # zones that are read already stay until the program ends


def test_another_table_of_holidays_prices_days_anew_where_a_tariff_asks_for_it(
    kept: Ledger, counted: Any, priced: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = Window(days="holidays", hours="0-24", price="0.1")
    tariff = Electricity(
        from_=dt.date(2026, 1, 1), price_per_kwh="0.20", windows=[window], holidays="US"
    )
    real = metadata.version
    for made, built in ((rig(), 0), (msgspec.structs.replace(rig(), electricity=[tariff]), 31)):
        october(kept, made)
        counted(), priced()
        with monkeypatch.context() as patch:
            patch.setattr(metadata, "version", lambda of: "9" if of == "holidays" else real(of))
            tables.version.cache_clear()
            october(kept, made)
        tables.version.cache_clear()
        assert (counted(), priced()) == (0, built)


def test_a_day_that_is_not_over_is_not_kept(kept: Ledger) -> None:
    made = rig()
    noon = START + 2 * DAY * SECOND
    october(kept, made, noon)
    names = {day.name for day in (kept.path / "derived").glob("2026-*")}
    assert max(names) == "2026-10-06"


def test_a_day_that_is_not_over_is_built_once_for_each_instant(kept: Ledger, counted: Any) -> None:
    made, now = rig(), START + 2 * DAY * SECOND
    since = now - 4 * 3600 * SECOND
    shelf = Shelf(kept, made, now)
    (day,) = shelf.days(since, now)
    assert shelf.days(since, now)[0] is day
    assert counted() == 1
    assert shelf.days(since + 3600 * SECOND, now)[0].from_ns == since + 3600 * SECOND
    assert Shelf(kept, made, now).days(since, now)[0].facts == day.facts
    assert counted() == 2


def test_a_damaged_day_is_built_again(kept: Ledger) -> None:
    made = rig()
    right = october(kept, made)
    day = "2026-10-07"
    for frame in (f"{day}/cells.parquet", f"time/{day}/leaves.parquet", f"time/{day}/facts.json"):
        file = kept.path / "derived" / frame
        file.write_bytes(file.read_bytes()[:100])
        if frame.startswith("time"):  # it is asked for where the day is not there
            (kept.path / "derived" / day / "facts.json").unlink()
        assert october(kept, made) == right
        assert len(file.read_bytes()) > 100


def test_requests_of_a_damaged_day_are_built_again(kept: Ledger) -> None:
    made = rig()
    span = START - 8 * 3600 * SECOND, START + 16 * 3600 * SECOND
    (built,) = Shelf(kept, made, NOW).days(*span)
    (taken,) = Shelf(kept, made, NOW).days(*span)
    right = taken.ended(), taken.costs("card", "new_ns")
    assert right[0].height == built.tallies["attempts"].sum() > 0
    assert right[1].columns == ["card", "new_ns"]
    for name in (f"time/{built.name}/ended", f"{built.name}/costs"):
        file = kept.path / "derived" / f"{name}.parquet"
        file.write_bytes(file.read_bytes()[:50])
    again = taken.ended(), taken.costs("card", "new_ns")
    assert all(one.equals(other) for one, other in zip(right, again, strict=True))


def test_a_day_tells_no_requests_of_another_that_came_into_its_place(kept: Ledger) -> None:
    """Two that run at once: the same dates in another zone, and at another price."""
    day = day_at(START, rig().zone)
    (mine,) = Shelf(kept, rig(), NOW).days(day.from_ns, day.to_ns)
    ended, costs = mine.ended(), mine.costs()
    others = rig("America/Los_Angeles", price="8500")
    theirs = Shelf(kept, others, NOW).days(day.from_ns, day.to_ns + 8 * 3600 * SECOND)
    assert mine.name in [each.name for each in theirs]
    assert mine.ended().equals(ended)
    assert mine.costs().equals(costs)


def test_a_shelf_that_keeps_nothing_tells_the_same_requests(kept: Ledger) -> None:
    made = rig()
    span = START - 8 * 3600 * SECOND, START + 16 * 3600 * SECOND
    (thought,) = Shelf(kept, made, NOW, keeps=False).days(*span)
    assert not (kept.path / "derived").exists()
    (built,) = Shelf(kept, made, NOW).days(*span)
    for name in ("ended", "costs"):
        assert thought.details(name, ()).equals(built.details(name, ()))


def test_a_shelf_that_cannot_be_written_changes_nothing(kept: Ledger) -> None:
    made = rig()
    (kept.path / "derived").write_text("in the way")
    assert october(kept, made)["tokens"]["requests"] == 60


def test_kept_days_are_their_owners_alone(kept: Ledger) -> None:
    Shelf(kept, rig(), NOW).days(START - 8 * 3600 * SECOND, START + 16 * 3600 * SECOND)
    root = kept.path / "derived"
    folders = [root, *(each for each in root.rglob("*") if each.is_dir())]
    assert {each.name for each in folders} == {"derived", "time", "2026-10-05"}
    assert {each.stat().st_mode & 0o777 for each in folders} == {0o700}


def test_progress_is_told_once_a_chunk(kept: Ledger) -> None:
    told: list[tuple[int, int]] = []
    made = rig()
    period = month_of(MONTH, made.zone)
    shelf = Shelf(kept, made, NOW, lambda built, whole: told.append((built, whole)))
    shelf.days(period.from_ns, period.to_ns)
    # Up to the first day with requests, to see how busy they are; four of them; all others.
    assert told == [(5, 31), (9, 31), (31, 31)]


def test_busy_days_are_built_one_by_one(kept: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also after days without requests, which say nothing of how busy those are that follow."""
    monkeypatch.setattr(shelving, "CHUNK_ATTEMPTS", 1)
    told: list[tuple[int, int]] = []
    made = rig()
    shelf = Shelf(kept, made, NOW, lambda built, whole: told.append((built, whole)))
    midnight = START - 8 * 3600 * SECOND
    shelf.days(midnight - 4 * DAY * SECOND, midnight + 3 * DAY * SECOND)
    assert told == [(5, 7), (6, 7), (7, 7)]
