"""Every day that an event speaks of has news, and no other."""

import datetime as dt
from pathlib import Path

import pytest
from rig.ledger import attempt, heartbeats

from collector.clock import from_ns
from collector.store import Store
from collector.touched import DAY_NS, touched

EPOCH = dt.date(1970, 1, 1)
MONDAY = (dt.date(2026, 10, 5) - EPOCH).days


@pytest.fixture
def store(tmp_path: Path):
    with Store(tmp_path) as opened:
        yield opened


def days(store: Store, kind: str) -> dict[int, int]:
    return {day - MONDAY: number for (told, day), number in touched(store.path)[1].items()
            if told == kind}  # fmt: skip


def test_an_attempt_touches_every_day_that_it_spans(store: Store) -> None:
    store.append([attempt("short", 0, 10), attempt("long", 15 * 3600, 42 * 3600)])
    assert sorted(days(store, "attempt")) == [0, 1, 2]
    assert days(store, "heartbeat") == {}


def test_news_raises_the_number_and_a_duplicate_does_not(store: Store) -> None:
    store.append([attempt("a", 0, 10)])
    first = days(store, "attempt")
    store.append([attempt("a", 0, 10), *heartbeats(0, 20, ["e"])])
    assert days(store, "attempt") == first
    store.append([attempt("late", 5, 6)])
    assert days(store, "attempt")[0] > first[0]


def test_numbers_go_on_after_a_seal_and_a_reopening(store: Store) -> None:
    store.append([attempt("a", 0, 10)])
    before = days(store, "attempt")[0]
    store.seal()
    assert days(store, "attempt") == {0: before}
    store.append([attempt("b", 0, 10)])
    assert days(store, "attempt")[0] > before


def test_a_revision_touches_the_month_of_what_it_replaces(store: Store) -> None:
    store.append([attempt("a", 0, 10)])
    moved = attempt("a", 40 * 86_400, 40 * 86_400 + 10, revision=1)
    store.append([moved])
    told = days(store, "attempt")
    october = {day - 4 for day in range(31)}
    assert set(told) == october | {40}
    assert len(set(told.values())) == 1


def test_each_manifest_has_an_identity_of_its_own(tmp_path: Path) -> None:
    for name in ("one", "two"):
        Store(tmp_path / name).close()
    one, two = (touched(tmp_path / name)[0] for name in ("one", "two"))
    assert one != two
    assert from_ns(DAY_NS * MONDAY).date() == dt.date(2026, 10, 5)
