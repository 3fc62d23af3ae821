"""Keys are kept for thirteen months after their month, and not for ever."""

import datetime as dt
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from rig.events import host

from collector import retention
from collector.clock import to_ns
from collector.events import Host
from collector.snapshot import snapshot
from collector.store import Store


def noon(year: int, month: int, day: int = 15) -> int:
    """An instant, ns."""
    return to_ns(dt.datetime(year, month, day, 12, tzinfo=dt.UTC))


def told(number: int, year: int, month: int, day: int = 15) -> Host:
    """Event `number` of a day."""
    return host(number, at_ns=noon(year, month, day))


@pytest.mark.parametrize(
    ("year", "month", "first"),
    [(2026, 11, 202510), (2026, 12, 202511), (2027, 1, 202512), (2027, 2, 202601)],
)
def test_a_month_is_kept_until_it_has_been_over_for_thirteen(
    tmp_path: Path, year: int, month: int, first: int
) -> None:
    with Store(tmp_path) as store:
        store.append([told(1, 2030, 1)])
        assert retention.first_kept(tmp_path, noon(year, month)) == first
        store.seal()
        assert retention.first_kept(tmp_path, noon(year, month)) == first


def test_old_keys_go_and_young_ones_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "CHUNK", 7)
    old = [told(n, 2025, 9, 30) for n in range(20)]
    young = [told(n, 2025, 10, 1) for n in range(20, 40)]
    with Store(tmp_path) as store:
        store.append([*old, *young, told(99, 2026, 11)])
        assert store.forget_keys(noon(2026, 10, 31)) == 0
        assert store.append(old).duplicates == 20
        assert store.forget_keys(noon(2026, 11, 1)) == 20
        assert store.forget_keys(noon(2026, 11, 2)) == 0
        assert store.append(young).duplicates == 20
        assert store.append(old[:1]).accepted == 1
    assert snapshot(tmp_path, "host", 0, 2**62).hot.num_rows == 42


def test_neither_a_wrong_clock_nor_an_event_from_the_future_drops_young_keys(
    tmp_path: Path,
) -> None:
    with Store(tmp_path) as store:
        store.append([told(1, 2026, 10)])
        assert store.forget_keys(noon(2036, 1)) == 0
        store.append([told(2, 2099, 1)])
        assert store.forget_keys(noon(2026, 11)) == 0
        assert store.append([told(1, 2026, 10)]).duplicates == 1


def test_an_empty_ledger_has_nothing_to_forget(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        assert store.forget_keys(noon(2026, 11)) == 0


def test_replaced_rows_that_are_gone_are_forgotten_with_their_key(tmp_path: Path) -> None:
    with Store(tmp_path, compact_files=2) as store:
        for day, revision in ((1, 0), (2, 1)):
            at_ns = noon(2025, 9, day)
            store.append([host(1, revision=revision, at_ns=at_ns), told(50 + day, 2026, 11)])
            store.seal()
        assert store.compact() == 4
        with closing(sqlite3.connect(tmp_path / "manifest.sqlite")) as db:
            count = "SELECT count(*) FROM superseded"
            assert db.execute(count).fetchall() == [(1,)]
            assert store.forget_keys(noon(2026, 11)) == 1
            assert db.execute(count).fetchall() == [(0,)]


def test_a_version_may_be_replaced_again_after_its_key_was_forgotten(tmp_path: Path) -> None:
    at_ns = noon(2025, 9)
    with Store(tmp_path) as store:
        versions = [host(1, at_ns=at_ns), host(1, revision=1, at_ns=at_ns)]
        store.append([*versions, told(99, 2026, 11)])
        assert store.forget_keys(noon(2026, 11)) == 1
        assert store.append(versions).accepted == 2
