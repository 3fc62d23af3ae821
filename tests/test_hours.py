"""When and how much the machine works, by hand: calendars, requests at once, the layers' chain."""

import datetime as dt
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from rig.ledger import SECOND, START, attempt, heartbeats, ledger, sample, settings

from analytics.layer_chain import chain
from analytics.month import month
from analytics.periods import Period
from analytics.utilization import Layers
from collector.events import Event
from collector.settings import Electricity, Hardware, RigSettings

HOUR = Period("hour", START, START + 3600 * SECOND)
LATER = START + 7200 * SECOND
NONE = dict.fromkeys(("busy", "off", "unknown", "other", "stranded", "headroom", "idle"), 0)


def told(path: Path, events: list[Event], *cards: str, **tables: Any) -> dict[str, Any]:
    return month(ledger(path / "ledger", events), settings(*cards, **tables), HOUR, LATER)


def test_requests_at_once_by_hand(tmp_path: Path) -> None:
    # 0 to 50 one, to 60 two, to 100 three, to 120 two, to 150 one; the last witness speaks at 590
    # and holds for half a minute.
    events = [
        attempt("a", 0, 100),
        attempt("b", 50, 150),
        attempt("c", 60, 120, "B"),
        *heartbeats(0, 600, ["on-A", "on-B"]),
    ]
    (pool,) = told(tmp_path, events, "A", "B")["headroom"]["concurrency"]
    seconds = {number: ns // SECOND for number, ns in pool["at_once_ns"].items()}
    assert seconds == {"0": 470, "1": 80, "2": 30, "3": 40}
    assert pool["unknown_ns"] == 2980 * SECOND
    assert (pool["slots"], pool["over_slots_ns"]) == (4, 0)
    assert (pool["worked_ns"], pool["most"]) == (150 * SECOND, 3)


def test_more_at_once_than_slots_and_slots_that_nobody_told(tmp_path: Path) -> None:
    events = [attempt(name, 0, 60) for name in "abc"]
    made = settings("A")
    kept = ledger(tmp_path / "ledger", events)
    (pool,) = month(kept, made, HOUR, LATER)["headroom"]["concurrency"]
    assert (pool["slots"], pool["over_slots_ns"]) == (2, 60 * SECOND)
    made.engines[0] = type(made.engines[0])(
        name="on-A", url="http://127.0.0.1:1", gpus=["A"], pool="pool"
    )
    (pool,) = month(kept, made, HOUR, LATER)["headroom"]["concurrency"]
    assert (pool["slots"], pool["over_slots_ns"]) == (None, None)


def test_calendars_keep_the_rigs_days_and_hours(tmp_path: Path) -> None:
    # 8:00 UTC on a Monday is 1:00 in Los Angeles; one request of a quarter of an hour.
    zone = RigSettings(name="desk", time_zone="America/Los_Angeles")
    events = [attempt("a", 0, 900), *heartbeats(0, 1800, ["on-A"])]
    groups = told(tmp_path, events, "A", rig=zone)["groups"]
    (day,) = groups["card_day"]
    (hour,) = groups["weekday_hour"]
    assert (day["card"], day["day"]) == ("A", "2026-10-05")
    assert (hour["name"], hour["weekday"], hour["hour"]) == ("Mon 01", 1, "01")
    # The last witness speaks at 1790 and holds until 1820.
    states = NONE | {"busy": 900 * SECOND, "idle": 920 * SECOND, "unknown": 1780 * SECOND}
    assert day["states_ns"] == hour["states_ns"] == states
    assert hour["busy_share"] == pytest.approx(900 / 1820)
    assert sum(day["states_cost_nano"].values()) == 0


def test_an_hour_that_nobody_watched_has_no_busy_share(tmp_path: Path) -> None:
    (hour,) = told(tmp_path, [], "A")["groups"]["weekday_hour"]
    assert hour["states_ns"]["unknown"] == hour["capacity_ns"] == 3600 * SECOND
    assert hour["busy_share"] is None


def test_the_chain_multiplies_ratios_and_adds_losses() -> None:
    ratios = Layers(Fraction(1, 4), Fraction(1, 2), Fraction(4, 5), Fraction(1000))
    steps = [
        {"step": step, "nano_per_mtok": nano}
        for step, nano in [
            ("at_peak", 400), ("below_peak", 100), ("stranded", 20), ("headroom", 480),
            ("idle", 2900), ("off", 60), ("other", 30), ("unknown", 10), ("unassigned", 7),
        ]
    ]  # fmt: skip
    told = chain(ratios, steps)
    assert [(row["name"], row["ratio"], row["left"]) for row in told] == [
        ("hours", 0.25, 0.25),
        ("occupancy", 0.5, 0.125),
        ("throughput", 0.8, 0.1),
    ]
    assert [row["lost_nano_per_mtok"] for row in told] == [3000, 500, 100]


def test_a_chain_without_a_denominator_is_not_known_from_there_on() -> None:
    told = chain(Layers(Fraction(0), None, None, Fraction(9)), None)
    assert [row["left"] for row in told] == [0.0, None, None]
    assert [row["lost_nano_per_mtok"] for row in told] == [None, None, None]


def test_marginal_cost_is_the_energy_above_idle_by_card_time(tmp_path: Path) -> None:
    # 3.60 a kWh is 1,000 nano a joule. 100 W idle, 300 W while p (300 s) and q (180 s) run:
    # 480 s × 200 W = 96,000 J above idle, 60,000 of them p's. Nothing reads the card when r runs.
    events: list[Event] = [
        attempt("p", 0, 300, project="p"),
        attempt("q", 300, 480, project="q"),
        attempt("r", 2700, 2760, project="r"),
        *heartbeats(0, 3600, ["on-A"]),
    ]
    total = 0
    for second in range(0, 1860, 60):
        watts = 300 if 0 < second <= 480 else 100
        total += watts * 60 * 10**6 if second else 0
        events.append(sample("A", second, power_mw=watts * 1000, energy_uj_total=total))
    power = [Electricity(from_=dt.date(2026, 1, 1), price_per_kwh="3.60", host_watts=0)]
    document = told(tmp_path, events, "A", electricity=power)
    found = {g["name"]: g for g in document["groups"]["project"]}
    assert found["p"]["marginal_cost_nano"] == 60_000_000
    assert found["q"]["marginal_cost_nano"] == 36_000_000
    assert not found["p"]["marginal_at_least"]
    assert found["r"]["marginal_cost_nano"] is None
    assert found["r"]["marginal_at_least"]
    assert document["marginal_cost_nano"] == 96_000_000
    assert document["unattributed_marginal_nano"] == 0
    (card,) = document["groups"]["card"]
    assert (card["marginal_cost_nano"], card["marginal_at_least"]) == (96_000_000, True)


def test_marginal_cost_of_nobody_is_told_apart(tmp_path: Path) -> None:
    # Both wait for a slot that is taken elsewhere: the card is busy, and no request computes.
    price = Hardware(name="box", price="17000", in_service=dt.date(2026, 10, 1), life_years=4)
    events: list[Event] = [
        attempt("p", 0, 600, wait_ns=300 * SECOND),
        *heartbeats(0, 3600, ["on-A"]),
    ]
    for minute in range(31):
        busy = 0 < minute <= 10
        watts = 300 if busy else 100
        energy = 60 * 10**6 * (300 * min(minute, 10) + 100 * max(0, minute - 10))
        events.append(sample("A", 60 * minute, power_mw=watts * 1000, energy_uj_total=energy))
    power = [Electricity(from_=dt.date(2026, 1, 1), price_per_kwh="3.60", host_watts=0)]
    document = told(tmp_path, events, "A", electricity=power, hardware=[price])
    # 600 s × 200 W × 1,000 nano, half of it in the wait.
    assert document["marginal_cost_nano"] == 120_000_000
    assert document["unattributed_marginal_nano"] == 60_000_000
    assert document["groups"]["model"][0]["marginal_cost_nano"] == 60_000_000
