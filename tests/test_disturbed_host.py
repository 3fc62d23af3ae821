"""A real collector on a host that sleeps and whose clock is set: from its start to the report."""

from pathlib import Path
from typing import Any

import pytest
from rig.collecting import collecting, rows, until
from rig.fake_clock import FakeClock, build_clock
from rig.nvml import FakeCards

from analytics.books import Books, keep_books
from analytics.read import Ledger
from analytics.states import BUCKET_NS
from collector.clock import SECOND_NS
from collector.settings import EngineSettings, RigSettings, Settings

CARD = "GPU-aaaaaaaa-0000-0000-0000-000000000001"
HOUR_NS = 3_600 * SECOND_NS
MILLISECOND_NS = 1_000_000
RIG = Settings(
    rig=RigSettings(name="desk"),
    engines=[EngineSettings(name="card0", url="http://127.0.0.1:9", gpus=[CARD], slots=1)],
)
TOML = f"""
[rig]
name = "desk"
[collector]
listen = "127.0.0.1:0"
sample_seconds = 1
[[engines]]
name = "card0"
url = "http://127.0.0.1:9"
slots = 1
gpus = ["{CARD}"]
"""


@pytest.fixture
def clock(tmp_path: Path) -> FakeClock:
    library = build_clock(tmp_path)
    if library is None:
        pytest.skip("no C compiler to build the fake clocks with")
    return FakeClock(library, tmp_path)


def told(folder: Path, what: str) -> dict[str, Any]:
    """The first host event of its kind."""
    events = until(lambda: [row for row in rows(folder, "host") if row["what"] == what])
    first: dict[str, Any] = events[0]
    return first


def sampled(folder: Path, after_ns: int, count: int = 2) -> None:
    """Wait for readings placed after an instant."""
    until(lambda: sum(row["at_ns"] >= after_ns for row in rows(folder, "sample")) >= count)


def books(folder: Path, clock: FakeClock, start_ns: int) -> Books:
    now_ns = clock.now_ns()
    start_ns = start_ns // BUCKET_NS * BUCKET_NS
    return keep_books(Ledger(folder / "ledger"), RIG, start_ns, now_ns + 1, now_ns)


def test_a_host_that_sleeps_eight_hours(tmp_path: Path, cards: FakeCards, clock: FakeClock) -> None:
    cards.add(CARD, power=30_000, energy=1_000_000)
    start_ns = clock.now_ns()
    with collecting(tmp_path, TOML, clock.environment):
        sampled(tmp_path, start_ns)
        until(lambda: rows(tmp_path, "heartbeat"))
        clock.suspend(8 * 3_600)
        woke_ns = clock.now_ns()
        resume = told(tmp_path, "resume")
        cards.answer(CARD, energy=1_000_090)
        sampled(tmp_path, woke_ns + SECOND_NS)
    assert abs(resume["duration_ns"] - 8 * HOUR_NS) < MILLISECOND_NS
    assert woke_ns <= resume["at_ns"] <= woke_ns + 30 * SECOND_NS
    assert [row["what"] for row in rows(tmp_path, "host")] == ["boot", "resume"]
    made = books(tmp_path, clock, start_ns)
    assert made.host.off.tolist() == [[resume["at_ns"] - resume["duration_ns"], resume["at_ns"]]]
    off = made.states.filter(state="off")
    # The engine, which never answers, is known to be down for the few seconds around.
    assert (off["end_ns"] - off["start_ns"]).sum() > 8 * HOUR_NS - MILLISECOND_NS
    # A counter that stands still while power is drawn is not believed: 30 W count for the seconds
    # awake, and nothing for the eight hours.
    (bridged,) = made.intervals.filter(made.intervals["gap"]).iter_rows(named=True)
    assert bridged["at_ns"] - bridged["from_ns"] >= 8 * HOUR_NS
    assert bridged["energy_uj"] in {None, 90_000}
    span_ns = made.intervals["at_ns"].max() - made.intervals["from_ns"].min()
    awake_uj = 30_000_000 * (span_ns - 8 * HOUR_NS + SECOND_NS) // SECOND_NS
    assert made.card_energy["energy_uj"].sum() <= awake_uj + 90_000


def test_a_clock_set_back_an_hour(tmp_path: Path, cards: FakeCards, clock: FakeClock) -> None:
    cards.add(CARD, power=30_000, energy=1_000_000)
    clock.suspend(8 * 3_600)  # so that this boot has lived through the hour that is told again
    start_ns = clock.now_ns()
    with collecting(tmp_path, TOML, clock.environment):
        sampled(tmp_path, start_ns)
        told(tmp_path, "boot")
        before_ns = clock.now_ns()
        clock.set(-3_600)
        set_ns = clock.now_ns()
        step = told(tmp_path, "clock_step")
        known = sum(row["at_ns"] >= set_ns for row in rows(tmp_path, "sample"))
        sampled(tmp_path, set_ns, known + 2)
    assert abs(step["duration_ns"] + HOUR_NS) < SECOND_NS // 10
    assert set_ns - SECOND_NS <= step["at_ns"] <= set_ns + 30 * SECOND_NS
    boots = [row for row in rows(tmp_path, "host") if row["what"] == "boot"]
    assert [row["revision"] for row in boots] == [0, 1]
    assert abs(boots[1]["at_ns"] - boots[0]["at_ns"] + HOUR_NS) < SECOND_NS // 10
    samples = rows(tmp_path, "sample")
    assert any(row["at_ns"] >= before_ns - HOUR_NS and row["at_ns"] < start_ns for row in samples)
    clock.set(2 * 3_600)  # the present lies behind both tellings
    made = books(tmp_path, clock, set_ns)
    assert [at for at, _ in made.host.steps] == [step["at_ns"]]
    assert made.intervals.is_empty()  # every reading lies in the time told twice
    assert made.card_energy.is_empty()
    length = made.states["end_ns"] - made.states["start_ns"]
    assert length.sum() == made.to_ns - made.from_ns
