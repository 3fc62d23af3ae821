"""Every hour that an event speaks of has news, and no other."""

import datetime as dt
from pathlib import Path

import pytest
from rig.ledger import attempt, heartbeats

from collector.clock import from_ns
from collector.store import Store
from collector.touched import HOUR_NS, touched

EPOCH = dt.date(1970, 1, 1)
EIGHT = (dt.date(2026, 10, 5) - EPOCH).days * 24 + 8  # START's hour


@pytest.fixture
def store(tmp_path: Path):
    with Store(tmp_path) as opened:
        yield opened


def hours(store: Store, kind: str) -> dict[int, int]:
    return {hour - EIGHT: number for (told, hour), number in touched(store.path)[1].items()
            if told == kind}  # fmt: skip


def test_an_attempt_touches_every_hour_that_it_spans(store: Store) -> None:
    store.append([attempt("short", 0, 10), attempt("long", 3 * 3600 + 5, 5 * 3600 + 1)])
    assert sorted(hours(store, "attempt")) == [0, 3, 4, 5]
    assert hours(store, "heartbeat") == {}


def test_news_raises_the_number_and_a_duplicate_does_not(store: Store) -> None:
    store.append([attempt("a", 0, 10)])
    first = hours(store, "attempt")
    store.append([attempt("a", 0, 10), *heartbeats(0, 20, ["e"])])
    assert hours(store, "attempt") == first
    store.append([attempt("late", 5, 6)])
    assert hours(store, "attempt")[0] > first[0]


def test_numbers_go_on_after_a_seal_and_a_reopening(store: Store) -> None:
    store.append([attempt("a", 0, 10)])
    before = hours(store, "attempt")[0]
    store.seal()
    assert hours(store, "attempt") == {0: before}
    store.append([attempt("b", 0, 10)])
    assert hours(store, "attempt")[0] > before


def test_a_revision_touches_the_month_of_what_it_replaces(store: Store) -> None:
    store.append([attempt("a", 0, 10)])
    moved = attempt("a", 40 * 86_400, 40 * 86_400 + 10, revision=1)
    store.append([moved])
    told = hours(store, "attempt")
    october = {hour - 4 * 24 - 8 for hour in range(31 * 24)}
    assert set(told) == october | {40 * 24}
    assert len(set(told.values())) == 1


def test_each_manifest_has_an_identity_of_its_own(tmp_path: Path) -> None:
    for name in ("one", "two"):
        Store(tmp_path / name).close()
    one, two = (touched(tmp_path / name)[0] for name in ("one", "two"))
    assert one != two
    assert from_ns(HOUR_NS * EIGHT) == dt.datetime(2026, 10, 5, 8, tzinfo=dt.UTC)
