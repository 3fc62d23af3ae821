"""Energy counters that stand still while their cards draw power, worked out by hand.

A card of 300 W is read every five seconds for a quarter of an hour: 300 W x 900 s = 270 kJ.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rig.ledger import SECOND, START, heartbeats, ledger, sample, settings

from analytics.month import month
from analytics.periods import Period
from collector.clock import from_ns
from collector.events import Event, Sample
from collector.settings import Meter

SPAN_S = 900
SPAN = Period("quarter", START, START + SPAN_S * SECOND)
LATER = START + 36_000 * SECOND
WATTS = 300
ALL_UJ = 270_000_000_000
Counter = Callable[[float], int | None]


def true_uj(second: float) -> int:
    """What a counter that works has counted since the beginning, and before."""
    return round((second + 1000) * WATTS * 1_000_000)


def card(
    counter: Counter, *, every_s: float = 5, power_mw: int | None = WATTS * 1000
) -> list[Event]:
    """Readings of one card over the quarter, and a witness."""
    seconds = [n * every_s for n in range(round(SPAN_S / every_s) + 1)]
    read = [sample("A", s, power_mw=power_mw, energy_uj_total=counter(s)) for s in seconds]
    return [*read, *heartbeats(-30, SPAN_S + 30, ["on-A"])]


def told(path: Path, events: list[Event], **more: Any) -> dict[str, Any]:
    return month(ledger(path, events), settings("A", **more), SPAN, LATER)


@pytest.mark.parametrize("stands_at", [0, 7_000_000])
def test_a_counter_that_never_moves_leaves_the_word_to_the_power(
    tmp_path: Path, stands_at: int
) -> None:
    document = told(tmp_path, card(lambda _: stands_at))
    assert document["energy_uj"]["cards"] == ALL_UJ
    assert document["energy_uj"]["unknown_ns"] == 0
    quality = document["quality"]
    assert quality["counter_still_ns"] == SPAN_S * SECOND
    assert quality["counter_resets"] == 0
    assert [flag for flag in quality["flags"] if "stood still for 15.0 min" in flag]


def test_a_counter_that_moves_is_believed(tmp_path: Path) -> None:
    """It is the better measure: here power, read at its height, would tell twice as much."""
    document = told(tmp_path, card(true_uj, power_mw=2 * WATTS * 1000))
    assert document["energy_uj"]["cards"] == ALL_UJ
    assert document["quality"]["counter_still_ns"] == 0
    assert not [flag for flag in document["quality"]["flags"] if "stood still" in flag]


def test_a_counter_that_stands_still_for_a_minute_is_not_believed_for_that(tmp_path: Path) -> None:
    """From 100 s to 160 s it says the same; then it goes on from there, a minute behind."""

    def stuck(second: float) -> int:
        return true_uj(min(second, 100) if second < 160 else second - 60)

    document = told(tmp_path, card(stuck))
    assert document["energy_uj"]["cards"] == ALL_UJ
    assert document["quality"]["counter_still_ns"] == 60 * SECOND


def test_without_power_nothing_belies_a_counter(tmp_path: Path) -> None:
    document = told(tmp_path, card(lambda _: 7_000_000, power_mw=None))
    assert document["energy_uj"]["cards"] == 0
    assert document["quality"]["counter_still_ns"] == 0


def test_a_counter_read_more_often_than_it_moves_is_believed(tmp_path: Path) -> None:
    """Read every 0.2 s, it moves every 0.4 s: each second reading says what the one before did."""
    document = told(tmp_path, card(lambda s: true_uj(round(s * 10) // 4 * 4 / 10), every_s=0.2))
    assert document["energy_uj"]["cards"] == ALL_UJ
    assert document["quality"]["counter_still_ns"] == 0


def test_what_a_still_counter_spans_beyond_three_periods_is_unknown(tmp_path: Path) -> None:
    """Nothing was read from 200 s to 400 s: neither a counter nor power tells what was drawn."""
    events = card(lambda _: 7_000_000)
    lacking = [
        event
        for event in events
        if not isinstance(event, Sample)
        or not from_ns(START + 200 * SECOND) < event.at < from_ns(START + 400 * SECOND)
    ]
    document = told(tmp_path, lacking)
    assert document["energy_uj"]["unknown_ns"] == 200 * SECOND
    assert document["energy_uj"]["cards"] == WATTS * 700 * 1_000_000


def test_a_wall_meter_counts_in_steps(tmp_path: Path) -> None:
    """A kilowatt hour's thousandth, 3600 J, takes 9 s at 400 W; the plug is read every 5 s."""
    step_uj = 3_600_000_000
    plug = [
        Sample(
            source="tasmota", event_id=f"plug-{n}", rig="desk", device="plug", scope="wall",
            sensor="tasmota", at=from_ns(START + n * 5 * SECOND), power_mw=400_000,
            energy_uj_total=n * 5 * 400_000_000 // step_uj * step_uj,
        )
        for n in range(SPAN_S // 5 + 1)
    ]  # fmt: skip
    meters = [Meter(name="plug", kind="tasmota", url="http://192.0.2.1")]
    document = told(tmp_path, [*card(true_uj), *plug], meters=meters)
    assert document["energy_uj"]["wall"] == 400 * SPAN_S // 3600 * step_uj
    assert document["quality"]["counter_still_ns"] == 0
