"""The engines that a target takes: arrivals replayed by hand, and by a second, slower way."""

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rig.ledger import SECOND, START, attempt, engine, heartbeats, ledger, settings

from analytics.identities import BrokenIdentity, check
from analytics.month import month
from analytics.periods import Period
from analytics.render.report import as_text
from analytics.replay import _ms, begins, percentile
from collector.events import Event
from collector.settings import EngineSettings, Hardware, SloSettings
from dashboard import usage_sentences

HOUR = Period("hour", START, START + 3600 * SECOND)
LATER = START + 4 * 86_400 * SECOND
REQUESTS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 30)), max_size=25)


def told(path: Path, events: list[Event], seconds: float | None, *cards: str) -> dict[str, Any]:
    box = Hardware(name="box", price="17520", in_service=dt.date(2026, 10, 1), life_years=2)
    made = settings(*cards, hardware=[box], slo=SloSettings(ttft_p95_seconds=seconds))
    made.engines[:] = [
        EngineSettings(name=f"on-{card}", url=engine.url, gpus=[card], slots=1, pool="both")
        for card, engine in zip(cards, made.engines, strict=True)
    ]
    return month(ledger(path / "ledger", events), made, HOUR, LATER)


def pairs(count: int) -> list[Event]:
    """Every minute two requests at once, of ten seconds, their first tokens after two."""
    return [
        attempt(f"{card}{n}", 60 * n, 60 * n + 10, card, ttft_ns=2 * SECOND)
        for n in range(count)
        for card in "AB"
    ] + heartbeats(0, 3600, ["on-A", "on-B"])


def test_one_engine_lets_every_second_request_wait(tmp_path: Path) -> None:
    # On one slot the second of each pair begins ten seconds later: its first token after 12 s.
    found = told(tmp_path, pairs(20), 5.0, "A", "B")["headroom"]
    assert found["slo"] == {"ttft_p95_ms": 5000}
    (pool,) = found["needed"]
    assert (pool["name"], pool["engines"], pool["requests"], pool["untold"]) == ("both", 2, 40, 0)
    assert pool["p95_ms"] == {"1": 12_000, "2": 2000}
    assert (pool["needed"], pool["spare_nano"]) == (2, 0)


def test_what_can_be_spared_costs_its_hardware_and_idle_power(tmp_path: Path) -> None:
    document = told(tmp_path, pairs(20), 12.0, "A", "B")
    (pool,) = document["headroom"]["needed"]
    assert pool["needed"] == 1
    # Nothing but hardware costs here, and half of it is spare.
    assert pool["spare_nano"] == document["cost_nano"]["capital"] // 2 > 0
    assert "1 of 2" in as_text(document)
    assert "needs **1 of 2 engines**" in usage_sentences.needed(pool, 12_000, "EUR")


def test_a_target_that_no_number_meets_is_missed(tmp_path: Path) -> None:
    document = told(tmp_path, pairs(20), 1.0, "A", "B")
    (pool,) = document["headroom"]["needed"]
    assert (pool["needed"], pool["spare_nano"]) == (None, None)
    assert "missed" in as_text(document)


def test_who_told_no_first_token_takes_a_slot_and_is_not_counted(tmp_path: Path) -> None:
    silent = [attempt(f"s{n}", 60 * n, 60 * n + 10, "A") for n in range(20)]
    heard = [attempt(f"h{n}", 60 * n + 1, 60 * n + 3, "B", ttft_ns=SECOND // 2) for n in range(20)]
    (pool,) = told(tmp_path, [*silent, *heard], 5.0, "A", "B")["headroom"]["needed"]
    assert (pool["requests"], pool["untold"]) == (20, 20)
    assert pool["p95_ms"] == {"1": 9500, "2": 500}


def test_without_a_target_nothing_is_judged(tmp_path: Path) -> None:
    document = told(tmp_path, pairs(2), None, "A", "B")
    assert document["headroom"]["slo"] is None
    assert document["headroom"]["needed"] == []
    assert "first tokens within" not in as_text(document)


def test_slots_that_nobody_told_are_not_guessed(tmp_path: Path) -> None:
    made = settings("A", slo=SloSettings(ttft_p95_seconds=1.0))
    made.engines[0] = EngineSettings(name="on-A", url=made.engines[0].url, gpus=["A"])
    late = [engine("on-A", 86_400, "up", slots=1), attempt("s", 90_000, 90_001, ttft_ns=SECOND)]
    kept = ledger(tmp_path / "ledger", [attempt("r", 0, 30, ttft_ns=30 * SECOND), *late])
    days = Period("days", START, START + 2 * 86_400 * SECOND)
    (pool,) = month(kept, made, days, LATER)["headroom"]["needed"]
    # What the second day tells of its slots does not judge the first.
    assert (pool["engines"], pool["requests"], pool["unjudged"]) == (1, 2, 1)
    assert (pool["p95_ms"], pool["needed"]) == ({}, None)
    assert "nobody told" in usage_sentences.needed(pool, 1000, "EUR")


@pytest.mark.parametrize(("key", "value"), [("needed", 1), ("p95_ms", {"1": 1, "2": 2})])
def test_a_broken_figure_is_not_published(tmp_path: Path, key: str, value: Any) -> None:
    document = told(tmp_path, pairs(20), 5.0, "A", "B")
    check(document, [], 0)
    document["headroom"]["needed"][0][key] = value
    with pytest.raises(BrokenIdentity, match="both"):
        check(document, [], 0)


def test_a_card_of_two_pools_is_spared_by_neither(tmp_path: Path) -> None:
    box = Hardware(name="box", price="17520", in_service=dt.date(2026, 10, 1), life_years=2)
    made = settings("A", "B", hardware=[box], slo=SloSettings(ttft_p95_seconds=9.0))
    url = made.engines[0].url
    made.engines[:] = [
        EngineSettings(name=f"{pool} on {card}", url=url, gpus=[card], slots=1, pool=pool)
        for pool in ("a+", "b")
        for card in ("AB" if pool == "b" else "AC")
    ]
    events = [attempt("r", 0, 1, "A", engine="a+ on A", ttft_ns=SECOND)]
    document = month(ledger(tmp_path / "ledger", events), made, HOUR, LATER)
    pools = {pool["name"]: pool for pool in document["headroom"]["needed"]}
    costs = {g["name"]: g["cost_nano"] for g in document["groups"]["card"]}
    # Only C serves the pool a+ alone, and B the pool b, which had no request to judge by.
    assert pools["a+"]["spare_nano"] == costs["C"] // 2 > 0
    assert pools["b"]["needed"] is None


@pytest.mark.parametrize(
    ("ns", "ms"),
    [(0, 0), (1, 1), (999_000_000, 999), (1_000_000_001, 1010), (12_341_000_000, 12_400)],
)
def test_a_time_is_told_to_three_digits_and_never_too_short(ns: int, ms: int) -> None:
    assert _ms(np.array([ns], dtype=np.int64)).tolist() == [ms]


@given(REQUESTS, st.integers(1, 4))
def test_a_queue_replayed_second_by_second(requests: list[tuple[int, int]], slots: int) -> None:
    requests = sorted(requests, key=lambda each: each[0])
    waiting, left, begun = list(range(len(requests))), [0] * slots, [-1] * len(requests)
    for second in range(60 + 30 * 26):
        left = [max(0, seconds - 1) for seconds in left]
        while waiting and requests[waiting[0]][0] <= second and 0 in left:
            first = waiting.pop(0)
            begun[first], left[left.index(0)] = second, requests[first][1]
    ready, takes = (np.array([each[n] for each in requests], dtype=np.int64) for n in (0, 1))
    assert begins(ready, takes, slots).tolist() == begun


@given(st.lists(st.integers(0, 50), min_size=1, max_size=200))
def test_a_percentile_is_the_nearest_rank(values: list[int]) -> None:
    counts = {value: values.count(value) for value in values}
    found = percentile(counts)
    assert found is not None
    assert 100 * sum(value <= found for value in values) >= 95 * len(values)
    assert 100 * sum(value < found for value in values) < 95 * len(values)
