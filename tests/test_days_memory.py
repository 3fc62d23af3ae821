"""What days keep in memory goes with their cells and labels, not with their requests."""

import weakref
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rig.ledger import SECOND, START, attempt, heartbeats, ledger, sample, settings

from analytics import shelf as shelving
from analytics.day import Day
from analytics.periods import day_at
from analytics.read import Ledger
from analytics.shelf import FRAMES, Shelf
from analytics.timesheet import Timesheet
from collector.settings import Settings

DAY = 86_400
NOW = START + 60 * DAY * SECOND
CARD = "GPU-5c1f2f0e-9a55-4c1b-8e0d-1a2b3c4d5e6f"
LABELS = {name: f"{name} with a name longer than a word" for name in ("model", "session", "key")}
MIDNIGHT = 16 * 3600  # the first one after START, in seconds
APART_S = (900, 60)  # between the requests of a quiet day and of a busy one


def made() -> Settings:
    return settings(CARD)


@pytest.fixture
def kept(tmp_path: Path) -> Ledger:
    """A quiet day and a busy one of the same labels, with work in every quarter of an hour."""
    events: list[Any] = heartbeats(MIDNIGHT, MIDNIGHT + 2 * DAY, [f"on-{CARD}"], every=300)
    for day, apart in enumerate(APART_S):
        midnight = MIDNIGHT + day * DAY
        for second in range(midnight, midnight + DAY, apart):
            name = f"a request of {second} seconds"
            events.append(attempt(name, second + 1, second + 9, CARD, ttft_ns=SECOND, **LABELS))
            events.append(sample(CARD, second, power_mw=40_000))
    return ledger(tmp_path / "ledger", events)


def days(shelf: Shelf) -> list[Day]:
    start = day_at(START + MIDNIGHT * SECOND, shelf.settings.zone)
    return shelf.days(start.from_ns, start.from_ns + 2 * DAY * SECOND)


def kept_alive(day: Day) -> int:
    """The bytes of all memory that a day's frames refer to, whatever part of it they show."""
    level = pl.CompatLevel.newest()  # hands out the buffers as they are
    frames = (getattr(day, name).to_arrow(compat_level=level) for name in FRAMES)
    return sum(frame.get_total_buffer_size() for frame in frames)


def test_a_busy_day_keeps_no_more_than_a_quiet_one(kept: Ledger) -> None:
    quiet, busy = days(Shelf(kept, made(), NOW))
    assert [int(day.tallies["requests"].sum()) for day in (quiet, busy)] == [96, 1440]
    assert kept_alive(busy) < 1.5 * kept_alive(quiet)


@pytest.mark.parametrize("takes", [True, False])
def test_what_days_were_made_of_is_let_go_before_others_are_built(
    kept: Ledger, monkeypatch: pytest.MonkeyPatch, takes: bool
) -> None:
    """Their frames by request too, and also where the disk takes nothing."""
    if not takes:
        (kept.path / "derived").write_text("in the way")
    monkeypatch.setattr(shelving, "CHUNK_ATTEMPTS", 1)
    real = shelving.timesheets
    made_of: list[weakref.ref[Any]] = []
    alive: list[int] = []

    def left() -> int:
        return sum(each() is not None for each in made_of)

    def watched(*args: Any) -> list[Timesheet]:
        alive.append(left())
        sheets = real(*args)
        made_of.extend(weakref.ref(part) for sheet in sheets for part in (sheet, sheet.details))
        return sheets

    monkeypatch.setattr(shelving, "timesheets", watched)
    built = days(Shelf(kept, made(), NOW))
    assert (len(built), len(made_of), alive, left()) == (2, 4, [0, 0], 0)
