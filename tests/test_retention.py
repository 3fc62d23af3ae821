"""Keys are kept for thirteen months after their month, and not for ever."""

import datetime as dt
import sqlite3
from contextlib import closing
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from rig.events import host

from collector import closed, retention
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
        assert retention.aged(tmp_path, noon(year, month)) == retention.Aged(first, ())
        store.seal()
        assert retention.aged(tmp_path, noon(year, month)) == retention.Aged(first, ())


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


def content(first: dt.datetime, after: dt.datetime, at_ns: int) -> dict[str, int]:
    """What retention reads of a closed month."""
    return {"from_ns": to_ns(first), "to_ns": to_ns(after), "closed_at_ns": at_ns}


def test_the_keys_of_a_closed_month_go_after_45_days(tmp_path: Path) -> None:
    """Closed on 10 October at noon; 45 days later is 24 November, noon."""
    old, young = told(1, 2026, 9), told(2, 2026, 10)
    first, after = (dt.datetime(2026, m, 1, tzinfo=dt.UTC) for m in (9, 10))
    closed.close(tmp_path, "2026-09", content(first, after, noon(2026, 10, 10)))
    with Store(tmp_path) as store:
        store.append([old, young, told(99, 2026, 12)])
        assert store.forget_keys(noon(2026, 11, 24) - 1) == 0
        assert store.append([old]).duplicates == 1
        assert store.forget_keys(noon(2026, 11, 24)) == 1
        assert store.append([young]).duplicates == 1
        assert store.append([old]).accepted == 1


def test_a_month_that_reaches_into_an_open_one_keeps_its_keys(tmp_path: Path) -> None:
    """In Los Angeles, UTC's September is the end of August and nearly all of September."""
    zone = ZoneInfo("America/Los_Angeles")
    firsts = [dt.datetime(2026, m, 1, tzinfo=zone).astimezone(dt.UTC) for m in (8, 9, 10)]
    with Store(tmp_path) as store:
        store.append([told(1, 2026, 9, 30), told(99, 2026, 12)])
        closed.close(tmp_path, "2026-09", content(*firsts[1:], noon(2026, 10, 10)))
        assert store.forget_keys(noon(2026, 12, 1)) == 0
        closed.close(tmp_path, "2026-08", content(*firsts[:2], noon(2026, 10, 10)))
        assert store.forget_keys(noon(2026, 12, 1)) == 1


def test_the_keys_of_a_month_that_was_edited_are_kept(tmp_path: Path) -> None:
    first, after = (dt.datetime(2026, m, 1, tzinfo=dt.UTC) for m in (9, 10))
    file = closed.close(tmp_path, "2026-09", content(first, after, noon(2026, 10, 10)))
    file.chmod(0o600)
    file.write_bytes(file.read_bytes().replace(b"from_ns", b"From_ns"))
    with Store(tmp_path) as store:
        store.append([told(1, 2026, 9), told(99, 2026, 12)])
        assert store.forget_keys(noon(2026, 12, 1)) == 0
