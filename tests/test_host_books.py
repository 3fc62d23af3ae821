"""What befell the host, in the books: by hand, to the nanosecond and the microjoule."""

import datetime as dt
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rig.ledger import SECOND, START, at, attempt, engine, heartbeats, ledger, sample, settings

from analytics.books import keep_books
from analytics.host import host_facts
from analytics.month import month
from analytics.periods import Period
from analytics.shelf import Shelf
from collector.clock import from_ns
from collector.events import Event, Host
from collector.settings import Electricity, Hardware
from collector.store import Store

HOUR = 3_600
MICRO = 1_000_000
POWER = Electricity(from_=dt.date(2026, 1, 1), price_per_kwh="0.20", host_watts=100)
BOX = Hardware(name="box", price="17000", in_service=dt.date(2026, 10, 1), life_years=4)
RIG = settings("A", hardware=[BOX], electricity=[POWER])
LATER = START + 100 * HOUR * SECOND


def host(what: Any, second: float, length_s: float | None = None, boot_id: str = "b1") -> Host:
    return Host(
        source="collector",
        event_id=f"{what}-{boot_id}-{second:012.3f}",
        rig="desk",
        boot_id=boot_id,
        what=what,
        at=from_ns(at(second)),
        duration_ns=None if length_s is None else round(length_s * SECOND),
    )


def watched(start: float, end: float, **fields: Any) -> list[Event]:
    """The collector's witness every 10 s and its readings every 5 s, in [start, end)."""
    count = round((end - start) / 5)
    return [
        *heartbeats(start, end, ["on-A"], source=f"w{start}-{fields.get('began', 0)}"),
        *(reading(start + 5 * n, **fields) for n in range(count)),
    ]


def reading(
    second: float, *, watts: int = 30, began: float = 0, counter: bool = True, epoch: str = "e"
) -> Event:
    """An idle card; its counter stood at 0 at the second `began`."""
    total = round((second - began) * watts * MICRO) if counter else None
    made = sample(
        "A",
        second,
        power_mw=watts * 1000,
        energy_uj_total=total,
        counter_epoch=epoch if counter else None,
    )
    return _named(made, f"{second}-{began}")


def _named(event: Any, name: str) -> Any:
    return type(event)(**{f: getattr(event, f) for f in event.__struct_fields__} | {
        "event_id": name})  # fmt: skip


def told(path: Path, hours: float, events: list[Event]) -> dict[str, Any]:
    period = Period("span", START, START + round(hours * HOUR) * SECOND)
    return month(ledger(path / "ledger", events), RIG, period, LATER)


def states(document: dict[str, Any]) -> dict[str, float]:
    """Seconds of each state that holds at all."""
    return {state: ns / SECOND for state, ns in document["states_ns"].items() if ns}


@pytest.mark.parametrize("counter", [True, False])
def test_a_host_that_slept_was_off_and_drew_nothing(tmp_path: Path, counter: bool) -> None:
    """Awake for an hour, asleep for eight, awake for an hour; noticed 3 s after waking."""
    asleep = 8 * HOUR
    before, after = watched(0, HOUR, counter=counter), 9 * HOUR + 2
    events = [
        *before,
        host("resume", 9 * HOUR + 3, asleep),
        *watched(after, 10 * HOUR + 7, began=asleep, counter=counter),
    ]
    document = told(tmp_path, 10, events)
    assert states(document) == {"off": asleep, "idle": 2 * HOUR}
    idle_uj = 2 * HOUR * 30 * MICRO
    quiet = document["energy_uj"]["idle_draw"]
    if counter:
        # The counter bridges the sleep by time: 7 s of 30 W on 8 h, next to nothing on idle time.
        assert document["energy_uj"]["cards"] == pytest.approx(idle_uj, rel=2e-5)
        assert idle_uj - 8 * 30 * MICRO <= quiet <= idle_uj
    else:
        # Readings end 5 s before the sleep and begin 2 s after it, 1 s before it was noticed.
        assert document["energy_uj"]["cards"] == idle_uj - 7 * 30 * MICRO
        assert quiet == idle_uj - 8 * 30 * MICRO
    assert document["energy_uj"]["host"] == 2 * HOUR * 100 * MICRO
    assert document["quality"]["unknown_ns"] == 0


@pytest.mark.parametrize(
    ("proof", "expected"),
    [
        # A witness holds for 30 s after its last word, at 3590 s.
        ("power cut", {"idle": 2 * HOUR + 20, "unknown": 8 * HOUR - 20}),
        ("collector stopped", {"idle": 2 * HOUR + 20, "unknown": 8 * HOUR - 20}),
        ("shutdown", {"idle": 2 * HOUR + 5, "off": 8 * HOUR - 15, "unknown": 10}),
    ],
)
def test_off_only_where_it_is_shown(tmp_path: Path, proof: str, expected: dict[str, float]) -> None:
    """An hour awake, nothing for eight hours, an hour awake; the counter began anew."""
    events = [*watched(0, HOUR), *watched(9 * HOUR, 10 * HOUR, began=9 * HOUR - 60, epoch="e2")]
    if proof == "shutdown":
        events.append(host("boot", 9 * HOUR - 10, 8 * HOUR - 15, "b2"))
    if proof == "power cut":
        events.append(host("boot", 9 * HOUR - 10, None, "b2"))
    document = told(tmp_path, 10, events)
    assert states(document) == expected
    # Readings span 0 to 3595 s and 9 h to 9 h 59 min 55 s.
    assert document["energy_uj"]["cards"] == (2 * HOUR - 10) * 30 * MICRO
    assert document["energy_uj"]["host"] == expected["idle"] * 100 * MICRO


def set_back(counter: bool = True) -> list[Event]:
    """At 2 h the clock is set back by one, and 3 h more are lived; the boot lies hours before.

    A request runs in each telling of the hour, and the engine went down and up in the first.
    """
    return [
        host("boot", -3 * HOUR),
        host("clock_step", HOUR, -HOUR),
        *watched(-600, 2 * HOUR, counter=counter),
        *watched(HOUR + 1, 4 * HOUR + 11, began=-HOUR, counter=counter),
        attempt("first", 1.5 * HOUR, 1.5 * HOUR + 60),
        attempt("second", 1.5 * HOUR + 30, 1.5 * HOUR + 90),
        engine("on-A", -500, "up"),
        engine("on-A", 1.9 * HOUR, "down"),
        engine("on-A", 1.1 * HOUR, "up"),
        engine("on-A", 2 * HOUR + 1, "up"),
    ]


def test_an_hour_told_twice_is_counted_once(tmp_path: Path) -> None:
    document = told(tmp_path, 4, set_back())
    found = document["states_ns"]
    assert sum(found.values()) == 4 * HOUR * SECOND
    assert found["busy"] == 90 * SECOND
    assert document["card_time_ns"] == 90 * SECOND
    assert found["off"] == found["unknown"] == 0
    # Five hours were lived, and the counter knows of each.
    assert document["energy_uj"]["cards"] == 5 * HOUR * 30 * MICRO
    assert document["energy_uj"]["host"] == 4 * HOUR * 100 * MICRO
    quality = document["quality"]
    assert quality["counter_resets"] == 0
    assert quality["clock_steps"] == [
        {"at": "2026-10-05T09:00:00+00:00", "step_ns": -HOUR * SECOND}
    ]
    assert (
        "the wall clock was set once: 1.0 h back, and what was told twice is counted once"
        in quality["flags"]
    )


def test_power_alone_does_not_bridge_an_hour_told_twice(tmp_path: Path) -> None:
    document = told(tmp_path, 4, set_back(counter=False))
    # From the last reading before the hour, at 3595 s, to the first one after it, at 7201 s.
    unknown = 2 * HOUR + 1 - (HOUR - 5)
    assert document["energy_uj"]["unknown_ns"] == unknown * SECOND
    assert document["energy_uj"]["cards"] == (4 * HOUR - unknown) * 30 * MICRO


def test_a_clock_set_ahead_leaves_an_hour_that_nobody_saw(tmp_path: Path) -> None:
    events = [
        host("clock_step", 2 * HOUR, HOUR),
        *watched(0, HOUR),
        *watched(2 * HOUR, 3 * HOUR + 11, began=HOUR),
    ]
    document = told(tmp_path, 3, events)
    assert states(document) == {"idle": 2 * HOUR + 20, "unknown": HOUR - 20}
    # The interval over the step holds 5 s of the counter.
    assert document["energy_uj"]["cards"] == 2 * HOUR * 30 * MICRO
    flags = document["quality"]["flags"]
    assert any("1.0 h ahead, and nobody lived through that" in flag for flag in flags)


def test_only_the_time_since_the_boot_can_be_told_twice() -> None:
    """The clock was an hour ahead for the first 40 s of the boot; then it was set right."""
    frame = facts(host("boot", 0), host("clock_step", 40, -HOUR))
    assert host_facts(frame).twice.tolist() == [[at(HOUR), at(HOUR + 40)]]


def test_each_step_ends_where_its_own_clock_began() -> None:
    steps = [host("clock_step", 100, HOUR), host("clock_step", 200, -60)]
    assert host_facts(facts(*steps)).twice.tolist() == [[at(200), at(260)]]
    late = [host("clock_step", 100, HOUR), host("clock_step", 101, -HOUR)]
    assert host_facts(facts(*late)).twice.tolist() == [[at(101), at(101 + HOUR)]]


def test_a_step_of_years_voids_nothing() -> None:
    found = host_facts(facts(host("clock_step", 0, -10 * 365 * 86_400)))
    assert found.twice.tolist() == []
    assert found.breaks.tolist() == [at(0)]


def facts(*events: Host) -> pl.DataFrame:
    rows = [(e.what, e.boot_id, START + _ns(e), e.duration_ns) for e in events]
    return pl.DataFrame(rows, schema=["what", "boot_id", "at_ns", "duration_ns"], orient="row")


def _ns(event: Host) -> int:
    return round((event.at - from_ns(START)) / dt.timedelta(microseconds=1)) * 1000


@pytest.mark.parametrize(("survives", "counter"), [(True, True), (False, True), (False, False)])
def test_a_card_that_vanishes_for_ten_minutes(
    tmp_path: Path, survives: bool, counter: bool
) -> None:
    """Its engine is watched on; only the card does not answer, from 1800 s to 2400 s."""
    gone = [
        _named(sample("A", second, error="temperature: GPU is lost"), f"lost-{second}")
        for second in range(1800, 2400, 5)
    ]
    back = "e" if survives else "e2"
    events = [
        *watched(0, 1800, counter=counter),
        *gone,
        *heartbeats(1800, 2400, ["on-A"], source="between"),
        *watched(2400, HOUR + 11, counter=counter, epoch=back, began=0 if survives else 2390),
    ]
    document = told(tmp_path, 1, events)
    assert states(document) == {"idle": HOUR}
    if survives:
        assert document["energy_uj"]["unknown_ns"] == 0
        assert document["energy_uj"]["cards"] == HOUR * 30 * MICRO
    else:
        # From the last reading at 1795 s to the first at 2400 s.
        assert document["energy_uj"]["unknown_ns"] == 605 * SECOND
        assert document["energy_uj"]["cards"] == (HOUR - 605) * 30 * MICRO
    assert document["quality"]["counter_resets"] == (counter and not survives)


@pytest.mark.parametrize(("jump_j", "trusted"), [(1_800 * 60, True), (1_800 * 60 + 1, False)])
def test_a_counter_cannot_grow_faster_than_a_card_draws(
    tmp_path: Path, jump_j: int, trusted: bool
) -> None:
    """One minute between two readings: 1.5 kW and a fifth are believed, no joule more."""
    events = [
        *watched(0, 900, counter=False),
        *(
            _named(sample("A", s, energy_uj_total=j * MICRO), f"j-{s}")
            for s, j in ((900, 5), (960, 5 + jump_j))
        ),
    ]
    books = keep_books(
        ledger(tmp_path / "ledger", events), RIG, START, START + HOUR * SECOND, LATER
    )
    (last,) = books.intervals.filter(pl.col("at_ns") == at(960)).iter_rows(named=True)
    assert last["energy_uj"] == (jump_j * MICRO if trusted else None)
    assert last["reset"] is not trusted


def test_a_kept_day_is_built_again_when_it_was_off(tmp_path: Path) -> None:
    """A resume long after the day speaks of it; one of another day does not touch it."""
    day = Period("day", START - 8 * HOUR * SECOND, START + 16 * HOUR * SECOND)
    books = ledger(tmp_path / "ledger", watched(0, HOUR))
    assert month(books, RIG, day, LATER)["states_ns"]["off"] == 0
    kept = tmp_path / "ledger/derived/2026-10-05/facts.json"
    first = kept.read_bytes()
    with Store(tmp_path / "ledger") as store:
        store.append([host("resume", 80 * HOUR, 5 * HOUR)])
        assert Shelf(books, RIG, LATER).days(day.from_ns, day.to_ns)[0].name == "2026-10-05"
        assert kept.read_bytes() == first
        store.append([host("resume", 90 * HOUR, 89 * HOUR)])
    assert month(books, RIG, day, LATER)["states_ns"]["off"] == 15 * HOUR * SECOND
    assert kept.read_bytes() != first
