"""Cards that do not answer for a while, through one real collector, down to the month's books.

Ten minutes are 120 of the five seconds in which a card with a counter is read. Here they are 120
tenths of a second: the rules of the books go by sampling periods.
"""

import datetime as dt
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import polars as pl
import requests
from rig.collecting import collecting, events, rows, until
from rig.engine import answering
from rig.nvml import LOST, FakeCards
from rig.oracle import Books as Oracle

from analytics.books import keep_books
from analytics.month import month
from analytics.periods import Period
from analytics.read import Ledger
from analytics.states import BUCKET_NS
from collector.clock import from_ns, now_ns, to_ns
from collector.events import Event, Sample
from collector.settings import Electricity, EngineSettings, Hardware, RigSettings, Settings

ANEW, SAME, STAYS = (f"GPU-{letter * 8}-0000-0000-0000-000000000001" for letter in "abc")
ALL = (ANEW, SAME, STAYS)
LOST_SAMPLES = 120
HIGH_MJ = 10**12  # no counter that began anew a moment ago stands so high


def test_cards_that_are_lost_for_120_readings(tmp_path: Path, cards: FakeCards) -> None:
    for card in ALL:  # they tell no power, which would belie a counter that waits for its turn
        cards.add(card, power=None, energy=HIGH_MJ)
    before_ns = now_ns()
    with (
        answering({"/health": {}}) as engine,
        collecting(tmp_path, _toml(engine), {}, sample_seconds=0.1) as door,
    ):

        def read(count: int, *, lost: bool = False) -> None:
            """Wait for so many more readings of a card, good or bad."""
            have = len(_samples(tmp_path, ANEW, lost=lost))
            until(lambda: len(_samples(tmp_path, ANEW, lost=lost)) >= have + count)

        until(lambda: rows(tmp_path, "heartbeat"))
        read(20)
        for card in ALL:
            cards.answer(card, energy=HIGH_MJ + 5_000)
        read(20)
        request = _request(door, time.monotonic_ns())
        for card in (ANEW, SAME):
            cards.answer(card, all_error=LOST)
        cards.answer(STAYS, energy=HIGH_MJ + 9_000)
        read(LOST_SAMPLES // 2, lost=True)
        request(time.monotonic_ns())
        read(LOST_SAMPLES // 2, lost=True)
        cards.answer(ANEW, all_error=None, energy=70)
        cards.answer(SAME, all_error=None, energy=HIGH_MJ + 60_000)
        read(20)
        cards.answer(ANEW, energy=2_070)
        read(20)
    now = now_ns() + BUCKET_NS
    told = events(tmp_path)
    settings = _settings()
    period = Period("span", before_ns // BUCKET_NS * BUCKET_NS, now // BUCKET_NS * BUCKET_NS)
    kept = Ledger(tmp_path / "ledger")
    document = month(kept, settings, period, now)
    books = keep_books(kept, settings, period.from_ns, period.to_ns, now)

    # What was drawn: each counter's way, less what nobody knows of the one that began anew.
    assert _by_card(books.card_energy, "energy_uj") == {
        ANEW: (5_000 + 2_000) * 1000,
        SAME: 60_000 * 1000,
        STAYS: 9_000 * 1000,
    }
    good = {card: [to_ns(s.at) for s in _told(told, card, lost=False)] for card in ALL}
    bad = [to_ns(s.at) for s in _told(told, ANEW, lost=True)]
    assert len(bad) >= LOST_SAMPLES
    silent = (max(t for t in good[ANEW] if t < bad[0]), min(t for t in good[ANEW] if t > bad[0]))
    assert silent[0] < bad[0] <= bad[-1] < silent[1]
    whole = {card: times[-1] - times[0] for card, times in good.items()}
    whole[ANEW] -= silent[1] - silent[0]
    assert _by_card(books.card_energy, "ns") == whole

    # The engine was watched all the time: the lost card was busy or idle, never unknown.
    during = books.states.filter(
        pl.col("card") == ANEW, pl.col("start_ns") < silent[1], pl.col("end_ns") > silent[0]
    )
    assert set(during["state"]) == {"busy", "idle"}
    assert document["quality"]["counter_resets"] == 1
    assert any("without an energy reading" in reason for reason in document["at_least"])

    # And all of it, money too, as the second set of books has it.
    second = Oracle(told, settings, period.from_ns, period.to_ns, now)
    assert {k: v for k, v in document["states_ns"].items() if v} == second_states(second)
    assert document["energy_uj"]["cards"] == sum(second.energy.values())
    drawn = sum(sum(leaves.values()) for leaves in second.money.values())
    assert document["cost_nano"]["total"] == drawn + second.unassigned


def second_states(books: Oracle) -> dict[str, int]:
    found: dict[str, int] = defaultdict(int)
    for leaf, ns in books.time.items():
        found[leaf[2]] += ns
    return dict(found)


def _by_card(energy: pl.DataFrame, column: str) -> dict[str, int]:
    return dict(energy.group_by("card").agg(pl.col(column).sum()).iter_rows())


def _samples(folder: Path, card: str, *, lost: bool) -> list[dict[str, Any]]:
    return [
        row
        for row in rows(folder, "sample")
        if row["device"] == card and (row["energy_uj_total"] is None) == lost
    ]


def _told(events: list[Event], card: str, *, lost: bool) -> list[Sample]:
    own = [e for e in events if isinstance(e, Sample) and e.device == card]
    return sorted((s for s in own if (s.energy_uj_total is None) == lost), key=lambda s: s.at)


def _request(door: str, began_ns: int) -> Any:
    """A request on the card that is lost meanwhile; told when it is over."""
    received = from_ns(now_ns())

    def end(ended_ns: int) -> None:
        told = {
            "kind": "attempt", "source": "tap", "event_id": "1", "rig": "desk", "engine": "one",
            "received_at": received.isoformat(), "duration_ns": ended_ns - began_ns,
            "ttft_ns": 10**8, "input_tokens": 10, "cache_read_tokens": 0, "output_tokens": 5,
            "usage_source": "engine", "status": "ok",
        }  # fmt: skip
        answer = requests.post(f"{door}/v1/events", json=[told], timeout=30)
        assert answer.status_code == 202, answer.text

    return end


def _settings() -> Settings:
    return Settings(
        rig=RigSettings(name="desk"),
        engines=[EngineSettings(name="one", url="http://127.0.0.1:1", gpus=list(ALL), slots=1)],
        hardware=[
            Hardware(name="box", price="17000", in_service=dt.date(2020, 1, 1), life_years=50)
        ],
        electricity=[Electricity(from_=dt.date(2020, 1, 1), price_per_kwh="0.20", host_watts=90)],
    )


def _toml(engine: str) -> str:
    return f"""
[rig]
name = "desk"
[collector]
listen = "127.0.0.1:0"
[[engines]]
name = "one"
url = "{engine}"
slots = 1
gpus = {list(ALL)}
""".replace("'", '"')
