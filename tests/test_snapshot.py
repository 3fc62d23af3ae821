"""Readers get one consistent picture, at any time, from any process."""

import threading
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
from rig.events import NOON_NS, host
from rig.ledger import heartbeats

from collector.clock import SECOND_NS
from collector.columns import schema
from collector.conflicts import conflicts
from collector.manifest import LedgerError
from collector.snapshot import first_ns, snapshot, snapshots
from collector.store import Store

EVER = (0, 2**62)


def count(path: Path) -> tuple[int, int]:
    """Rows and distinct ids as DuckDB sees them over one snapshot."""
    seen = snapshot(path, "host", *EVER)
    with duckdb.connect() as con:
        con.register("hot", seen.hot)
        sealed = ""
        if seen.files:
            con.execute("SET VARIABLE files = ?", [[str(file) for file in seen.files]])
            sealed = (
                " UNION ALL BY NAME SELECT event_id FROM"
                " read_parquet(getvariable('files'), hive_partitioning = false)"
            )
        query = f"SELECT count(*), count(DISTINCT event_id) FROM (SELECT event_id FROM hot{sealed})"  # noqa: S608
        ((total, distinct),) = con.execute(query).fetchall()
    return total, distinct


def test_a_folder_without_a_ledger_is_told_with_its_remedy(tmp_path: Path) -> None:
    for missing in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(FileNotFoundError, match="rigledger collect"):
            snapshot(missing, "host", *EVER)


def test_a_ledger_without_rows_is_empty(tmp_path: Path) -> None:
    Store(tmp_path).close()
    seen = snapshot(tmp_path, "host", *EVER)
    assert (seen.files, seen.hot.num_rows, seen.superseded.num_rows) == ([], 0, 0)
    assert seen.hot.schema == schema("host")
    assert conflicts(tmp_path, *EVER) == 0


def test_a_manifest_just_created_is_empty(tmp_path: Path) -> None:
    (tmp_path / "manifest.sqlite").touch()
    assert snapshot(tmp_path, "host", *EVER).hot.num_rows == 0
    assert conflicts(tmp_path, *EVER) is None


def test_the_books_begin_with_the_earliest_row_of_the_kinds_asked_for(tmp_path: Path) -> None:
    (tmp_path / "manifest.sqlite").touch()
    assert first_ns(tmp_path, ["host"]) is None
    hour_ns = 3_600 * SECOND_NS
    with Store(tmp_path) as store:
        assert first_ns(tmp_path, ["host"]) is None
        store.append([host(1, at_ns=NOON_NS + hour_ns)])
        assert first_ns(tmp_path, ["host", "sample"]) == NOON_NS + hour_ns
        assert first_ns(tmp_path, ["sample"]) is None
        store.seal()
        assert first_ns(tmp_path, ["host"]) == NOON_NS + hour_ns
        store.append([host(2, at_ns=NOON_NS)])
        assert first_ns(tmp_path, ["host"]) == NOON_NS


def test_an_unknown_kind_is_the_callers_mistake(tmp_path: Path) -> None:
    Store(tmp_path).close()
    with pytest.raises(KeyError):
        snapshot(tmp_path, "invoice", *EVER)


def test_a_damaged_manifest_is_told(tmp_path: Path) -> None:
    (tmp_path / "manifest.sqlite").write_bytes(b"this is no database, certainly not" * 100)
    with pytest.raises(LedgerError, match="cannot be read"):
        snapshot(tmp_path, "host", *EVER)


def test_the_range_is_half_open_and_prunes(tmp_path: Path) -> None:
    later = NOON_NS + 10 * SECOND_NS
    with Store(tmp_path) as store:
        store.append([host(1, at_ns=NOON_NS)])
        store.append([host(2, at_ns=later)])

        def hot(from_ns: int, to_ns: int) -> list[str]:
            ids: list[str] = snapshot(tmp_path, "host", from_ns, to_ns).hot["event_id"].to_pylist()
            return ids

        assert hot(NOON_NS, later) == ["1"]
        assert hot(NOON_NS, later + 1) == ["1", "2"]
        assert hot(NOON_NS + 1, later + 1) == ["2"]
        assert hot(later + 1, later + 2) == []
        store.seal()

        def months(from_ns: int, to_ns: int) -> list[str]:
            return [f.parent.name for f in snapshot(tmp_path, "host", from_ns, to_ns).files]

        assert months(NOON_NS, later) == ["month=2026-10"]
        assert months(NOON_NS, later + 1) == ["month=2026-10", "month=2026-11"]
        assert months(NOON_NS + 1, later + 1) == ["month=2026-11"]


def test_a_closed_ledger_can_be_read(tmp_path: Path) -> None:
    """The writer's clean end removes SQLite's side files; a reader must not need them."""
    with Store(tmp_path) as store:
        store.append([host(1)])
    left = sorted(file.name for file in tmp_path.iterdir())
    assert left == ["manifest.sqlite", "reserve", "writer.lock"]
    assert count(tmp_path) == (1, 1)


def test_readers_see_every_commit_once_while_the_writer_writes_and_seals(tmp_path: Path) -> None:
    done = threading.Event()
    written = 0
    failures: list[BaseException] = []
    seen: list[int] = []

    def read() -> None:
        try:
            while not done.is_set():
                before = written
                total, distinct = count(tmp_path)
                assert total == distinct
                assert total >= before
                seen.append(total)
        except BaseException as error:
            failures.append(error)

    with Store(tmp_path) as store:
        reader = threading.Thread(target=read)
        reader.start()
        for round_no in range(60):
            store.append([host(round_no * 10 + n) for n in range(10)])
            written = (round_no + 1) * 10
            if round_no % 7 == 6:
                store.seal()
        while len(seen) < 5 and not failures:
            store.append([host(0)])
        done.set()
        reader.join()
    assert not failures
    assert seen == sorted(seen), "what was seen once must stay"
    assert count(tmp_path) == (600, 600)


def test_several_kinds_are_seen_at_one_instant(tmp_path: Path) -> None:
    """What is told together is seen together, however the writer hurries meanwhile."""
    with Store(tmp_path) as store:

        def write() -> None:
            for n in range(60):
                store.append([host(n), *heartbeats(n, n + 1, ["e"], every=1)])
                if n % 20 == 10:
                    store.seal()

        writer = threading.Thread(target=write)
        writer.start()
        looks = 0
        while writer.is_alive() or not looks:
            seen = snapshots(tmp_path, ["host", "heartbeat"], *EVER)
            rows = {
                kind: found.hot.num_rows + sum(pq.read_metadata(f).num_rows for f in found.files)
                for kind, found in seen.items()
            }
            assert rows["host"] == rows["heartbeat"]
            looks += 1
        writer.join()
    assert rows["host"] > 0


def test_snapshots_of_a_ledger_that_holds_nothing(tmp_path: Path) -> None:
    Store(tmp_path).close()
    seen = snapshots(tmp_path, ["host", "attempt"], *EVER)
    assert [(kind, found.hot.num_rows) for kind, found in seen.items()] == [
        ("host", 0),
        ("attempt", 0),
    ]
