"""An opened request's decision and its misses: by hand, and all of them are the month's."""

import random
from pathlib import Path
from typing import Any

import pytest
from rig.ledger import SECOND, START, at, attempt, ledger
from test_routing import HOUR, LATER, conversations, prompt, rig, route, seen

from analytics.misses import CAUSES
from analytics.month import account
from analytics.one_request import Opened, opened
from analytics.periods import Period, day_at
from analytics.read import Ledger
from analytics.shelf import Shelf
from collector.events import Candidate, Event


def shelf_of(path: Path, *events: Event) -> Shelf:
    kept: Ledger = ledger(path / "ledger", events)
    return Shelf(kept, rig(), LATER)


def one(shelf: Shelf, name: str, seconds: float = 0) -> Opened:
    span = day_at(at(seconds), shelf.settings.zone)
    (day,) = shelf.days(span.from_ns, span.to_ns)
    found = opened(shelf, day, "test", name)
    assert found is not None
    return found


def test_a_decision_as_it_was_told(tmp_path: Path) -> None:
    weighed = [
        Candidate(engine="on-A", hit_tokens=90, pending_tokens=7, in_flight=2, estimate_ms=50),
        Candidate(engine="on-B"),
    ]
    told = route(hit=None, regret=-40, candidates=weighed, shadow_policy="q", shadow="on-B")
    shelf = shelf_of(tmp_path, attempt("1", 0, 10, "A", cache_read_tokens=80, **told))
    decision = one(shelf, "1").decision
    assert decision is not None
    assert decision["candidates"] == [
        {"engine": "on-A", "hit_tokens": 90, "pending_tokens": 7, "in_flight": 2,
         "estimate_ms": 50},
        {"engine": "on-B", "hit_tokens": None, "pending_tokens": None, "in_flight": None,
         "estimate_ms": None},
    ]  # fmt: skip
    figures = {
        "policy": "p", "reason": "home", "chosen": "on-A", "shadow_policy": "q", "shadow": "on-B",
        "hit_tokens": 90, "actual_hit_tokens": 80, "estimated_hit_tokens": None, "regret_ms": -40,
    }  # fmt: skip
    assert {name: decision[name] for name in figures} == figures


def test_an_estimated_hit_is_told_as_one(tmp_path: Path) -> None:
    guess: dict[str, Any] = {"usage_source": "estimated", "cache_read_tokens": 60}
    shelf = shelf_of(
        tmp_path, attempt("1", 0, 10, "A", **guess, **route(hit=70)), attempt("2", 20, 30, "A")
    )
    decision = one(shelf, "1").decision
    assert decision is not None
    assert (decision["actual_hit_tokens"], decision["estimated_hit_tokens"]) == (None, 60)
    assert one(shelf, "2").decision is None


def test_what_a_miss_took_and_cost(tmp_path: Path) -> None:
    """Of 400 tokens in ten seconds A had lost two hundred, B had had a hundred, one is new."""
    shelf = shelf_of(
        tmp_path,
        prompt("1", 0, "B", "abc"),
        prompt("2", 100, "A", "ab", session="t"),
        prompt("3", 200, "A", "abcd"),
    )
    assert one(shelf, "3").misses == {
        "misrouted": {"requests": 1, "tokens": 100, "ns": 2_500_000_000, "nano": 2_500_000_000},
        "evicted": {"requests": 1, "tokens": 200, "ns": 5_000_000_000, "nano": 5_000_000_000},
        "new": {"requests": 1, "tokens": 100, "ns": 2_500_000_000, "nano": 2_500_000_000},
    }


def test_a_miss_across_midnight_is_whole(tmp_path: Path) -> None:
    """Four seconds of prefill on one day, six on the next."""
    midnight = 16 * 3_600
    shelf = shelf_of(
        tmp_path, prompt("1", 100, "B", "ab"), prompt("2", midnight - 4, "A", "ab", session="t")
    )
    told = one(shelf, "2", midnight + 1).misses["misrouted"]
    assert (told["tokens"], told["ns"], told["nano"]) == (200, 10 * SECOND, 10 * SECOND)


@pytest.mark.parametrize("seed", range(3))
def test_misses_of_all_requests_are_the_months(tmp_path: Path, seed: int) -> None:
    events = [*conversations(random.Random(seed)), *seen(-30, 1800)]
    shelf = shelf_of(tmp_path, *events)
    day = Period("day", day_at(START, shelf.settings.zone).from_ns, HOUR.to_ns + 15 * 3600 * SECOND)
    told = account(shelf, day)["routing"]["misses"]
    if told is None:
        pytest.skip("nobody told prefix keys")
    sums = {cause: dict.fromkeys(("requests", "tokens", "ns", "nano"), 0) for cause in CAUSES}
    for event in events:
        if event.event_id.startswith("r"):
            for cause, own in one(shelf, event.event_id).misses.items():
                for figure, amount in own.items():
                    sums[cause][figure] += amount
    for cause, own in told["causes"].items():
        assert own == {
            "requests": sums[cause]["requests"], "tokens": sums[cause]["tokens"],
            "ns": sums[cause]["ns"], "cost_nano": sums[cause]["nano"],
        }, cause  # fmt: skip
