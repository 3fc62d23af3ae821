"""Reading less of the samples changes nothing about the days that are asked for."""

import random
from pathlib import Path

import polars as pl
import pytest
from rig.ledger import START, ledger, sample

from analytics import energy
from analytics.host import UNDISTURBED
from analytics.read import Ledger
from analytics.sampled import sampled
from collector.clock import SECOND_NS
from collector.events import Sample

DAY_NS = 86_400 * SECOND_NS
HOUR_S = 3600
FROM_NS = START // DAY_NS * DAY_NS - 30 * 60 * SECOND_NS  # half an hour before midnight UTC
NEVER = START + 100 * DAY_NS


def silent(dice: random.Random, card: str) -> list:
    """Readings a quarter of an hour apart over six days, with some hours or days of silence."""
    gaps = [
        (start, start + dice.choice([2, 9, 30, 50, 70])) for start in dice.sample(range(144), 3)
    ]
    told, counter = [], 0
    for quarter in range(-3 * 96, 3 * 96):
        counter += dice.randint(1, 10**9)
        hour = quarter / 4 + 72
        if not any(low <= hour < high for low, high in gaps):
            at = (FROM_NS - START) / SECOND_NS + quarter * 900 + dice.choice([0, 0, 7])
            told.append(sample(card, at, energy_uj_total=counter, power_mw=100_000))
    return told


@pytest.mark.parametrize("seed", range(12))
def test_a_day_is_told_as_by_all_of_the_readings(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    kept = ledger(tmp_path / "ledger", [each for card in "AB" for each in silent(dice, card)])
    days = (FROM_NS, FROM_NS + dice.choice([1, 1, 2]) * DAY_NS)
    every = energy.readings(kept.frame("samples", 0, NEVER), UNDISTURBED)
    found, _ = sampled(kept, UNDISTURBED, days, NEVER)
    meets = (pl.col("at_ns") > days[0]) & (pl.col("from_ns") < days[1])
    # What is further apart than a counter bridges tells nothing, whether it is seen or not.
    tells = pl.col("energy_uj").is_not_null()
    assert found.filter(meets, tells).equals(every.filter(meets, tells))


def test_some_of_those_days_have_energy_and_some_a_silence() -> None:
    told = [len(silent(random.Random(seed), "A")) for seed in range(12)]
    assert all(0 < readings < 6 * 96 for readings in told)


def test_no_more_than_three_days_are_read_of_one_without_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet = [sample("A", float(at), power_mw=1) for at in range(-4 * 86_400, 4 * 86_400, 900)]
    kept = ledger(tmp_path / "ledger", quiet)
    asked: list[int] = []
    frame = Ledger.frame

    def noted(self: Ledger, query: str, from_ns: int, to_ns: int, **more: int) -> pl.DataFrame:
        found = frame(self, query, from_ns, to_ns, **more)
        asked.append(len(found) if query == "samples" else 0)
        return found

    monkeypatch.setattr(Ledger, "frame", noted)
    sampled(kept, UNDISTURBED, (FROM_NS, FROM_NS + DAY_NS), NEVER)
    assert sum(asked) == 3 * 96


def test_a_counter_that_began_anew_unseen_for_days_is_told_by_no_day(tmp_path: Path) -> None:
    def steady(first: int) -> list[Sample]:
        return [
            sample("A", first + 900.0 * n, energy_uj_total=10**9 * n, power_mw=100_000)
            for n in range(96)
        ]

    kept = ledger(tmp_path / "ledger", [*steady(86_400), *steady(6 * 86_400)])
    every = energy.readings(kept.frame("samples", 0, NEVER), UNDISTURBED)
    assert every["reset"].sum() == 0
    near = [*steady(20 * 86_400), *steady(21 * 86_400)]
    kept = ledger(tmp_path / "near", near)
    assert energy.readings(kept.frame("samples", 0, NEVER), UNDISTURBED)["reset"].sum() == 1
