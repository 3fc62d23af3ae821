"""The store keeps each event once, whatever is done to it."""

import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rig.events import NOON_NS, host

from collector import seal
from collector.clock import SECOND_NS
from collector.conflicts import conflicts
from collector.events import Engine, Event, Host
from collector.manifest import LedgerError
from collector.migrations import SchemaTooNew, known, migrate, version
from collector.snapshot import snapshot
from collector.store import Store, StoreUnavailable

EVER = (0, 2**62)
MONTH_NS = 31 * 86_400 * SECOND_NS


def rows(path: Path, kind: str = "host") -> list[dict[str, object]]:
    """What a reader sees: sealed and hot rows, without those that were replaced."""
    seen = snapshot(path, kind, *EVER)
    tables = [pq.read_table(file, partitioning=None) for file in seen.files]
    found = [row for table in [*tables, seen.hot] for row in table.to_pylist()]
    gone = {(r["source"], r["event_id"], r["revision"]) for r in seen.superseded.to_pylist()}
    return [row for row in found if (row["source"], row["event_id"], row["revision"]) not in gone]


def values(path: Path) -> dict[str, tuple[int, int]]:
    """Event id to (revision, content); fails if a reader would count one twice."""
    found = rows(path)
    told = {row["event_id"]: (row["revision"], row["duration_ns"]) for row in found}
    assert len(told) == len(found), "an event is counted twice"
    return told  # type: ignore[return-value]


def model(events: Sequence[Event]) -> dict[str, tuple[int, int]]:
    """The same in a dictionary: the first content of the highest revision stays."""
    told: dict[str, tuple[int, int]] = {}
    for event in events:
        assert isinstance(event, Host)
        assert event.duration_ns is not None
        if event.event_id not in told or event.revision > told[event.event_id][0]:
            told[event.event_id] = (event.revision, event.duration_ns)
    return told


def test_what_is_acknowledged_survives_reopening(tmp_path: Path) -> None:
    with Store(tmp_path / "ledger") as store:
        receipt = store.append([host(1), host(2)])
    assert (receipt.accepted, receipt.duplicates, receipt.conflicts) == (2, 0, [])
    with Store(tmp_path / "ledger") as store:
        assert store.hot_rows == 2
        assert store.append([host(2), host(3)]).duplicate_at == [0]
    assert sorted(values(tmp_path / "ledger")) == ["1", "2", "3"]


def test_same_key_other_content_is_a_conflict_and_the_first_stays(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.append([host(1, duration_ns=5)])
        receipt = store.append([host(2), host(1, duration_ns=6), host(1, duration_ns=5)])
        assert (receipt.accepted, receipt.duplicate_at, receipt.conflicts) == (1, [2], [1])
        assert store.counters() == {
            ("accepted", "host"): 2,
            ("conflict", "host"): 1,
            ("duplicate", "host"): 1,
        }
    assert values(tmp_path)["1"] == (0, 5)
    assert conflicts(tmp_path, *EVER) == 1


def test_a_higher_revision_replaces(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.append([host(1, duration_ns=5)])
        store.seal()
        assert store.append([host(1, revision=2, duration_ns=6)]).accepted == 1
        # Told late, the version that was replaced is a duplicate; other content is not.
        assert store.append([host(1, duration_ns=5)]).duplicates == 1
        assert store.append([host(1, duration_ns=7)]).conflicts == [0]
        assert store.append([host(1, revision=1, duration_ns=5)]).conflicts == [0]
    assert values(tmp_path) == {"1": (2, 6)}


def test_revisions_in_one_batch(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        told = [host(1), host(1), host(1, revision=1, duration_ns=9), host(1), host(1, revision=3)]
        receipt = store.append(told)
        assert (receipt.accepted, receipt.duplicate_at, receipt.conflicts) == (3, [1, 3], [])
    assert values(tmp_path) == {"1": (3, 0)}


def test_a_revision_may_change_the_kind(tmp_path: Path) -> None:
    engine = Engine(
        source="test", event_id="1", rig="desk", engine="card0", state="up", at=host(1).at
    )
    with Store(tmp_path) as store:
        store.append([host(1)])
        assert store.append([engine]).conflicts == [0]
        corrected = Engine(
            source="test",
            event_id="1",
            revision=1,
            rig="desk",
            engine="card0",
            state="up",
            at=host(1).at,
        )
        assert store.append([corrected]).accepted == 1
    assert rows(tmp_path, "host") == []
    assert len(rows(tmp_path, "engine")) == 1


events = st.lists(
    st.builds(
        host,
        st.integers(0, 5),
        revision=st.integers(0, 2),
        duration_ns=st.integers(0, 1),
        at_ns=st.sampled_from([NOON_NS, NOON_NS + SECOND_NS, NOON_NS + MONTH_NS]),
    ),
    max_size=25,
)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_duplication_batching_sealing_and_reopening_change_nothing(data: st.DataObject) -> None:
    told = data.draw(events)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "ledger"
        store = Store(path)
        accepted = 0
        try:
            sent: list[Host] = []
            while len(sent) < len(told):
                size = data.draw(st.integers(1, len(told) - len(sent)))
                again = data.draw(st.lists(st.sampled_from(sent), max_size=3)) if sent else []
                batch = [*told[len(sent) : len(sent) + size], *again]
                before = len(batch)
                receipt = store.append(batch)
                assert receipt.accepted + receipt.duplicates + len(receipt.conflicts) == before
                accepted += receipt.accepted
                sent += told[len(sent) : len(sent) + size]
                step = data.draw(st.sampled_from(["seal", "reopen", "go on"]))
                if step == "seal":
                    store.seal()
                if step == "reopen":
                    store.close()
                    store = Store(path)
            assert values(path) == model(told)
            kept = store.counters().get(("accepted", "host"), 0)
            assert kept == accepted
        finally:
            store.close()


@settings(deadline=None, max_examples=30)
@given(st.permutations([host(n % 6, revision=n // 6, duration_ns=n) for n in range(18)]))
def test_the_order_of_telling_changes_nothing(told: list[Host]) -> None:
    """Each revision has one content here, so that every order must end the same."""
    with TemporaryDirectory() as folder, Store(Path(folder)) as store:
        for event in told:
            store.append([event])
        assert values(Path(folder)) == {str(n): (2, 12 + n) for n in range(6)}


def test_sealing_sorts_by_kind_and_utc_month(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    with Store(path) as store:
        store.append([host(2, at_ns=NOON_NS + SECOND_NS), host(1, at_ns=NOON_NS), host(3)])
        engine = Engine(source="a", event_id="1", rig="r", engine="e", state="up", at=host(1).at)
        store.append([engine])
        assert store.seal() == 4
        assert store.seal() == 0
        assert (store.hot_rows, store.hot_batches, store.segments()) == (0, 0, 3)
    files = sorted(str(file.relative_to(path)) for file in path.glob("month=*/*"))
    months = [(name.split("/")[0], name.split("/")[1].split("-")[0]) for name in files]
    assert months == [
        ("month=2026-10", "engine"),
        ("month=2026-10", "host"),
        ("month=2026-11", "host"),
    ]
    assert [pq.read_metadata(path / name).num_rows for name in files] == [1, 2, 1]
    assert len(rows(path)) == 3


def test_a_large_seal_goes_in_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seal, "ROUND_ROWS", 100)
    with Store(tmp_path) as store:
        for start, size in ((0, 60), (60, 60), (120, 250), (370, 30)):  # a batch is never split
            store.append([host(start + n) for n in range(size)])
        assert store.seal() == 400
        assert (store.hot_rows, store.hot_batches, store.segments()) == (0, 0, 4)
    assert len(values(tmp_path)) == 400


def test_appends_go_on_during_a_seal(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.append([host(n) for n in range(2000)])
        sealing = threading.Thread(target=store.seal)
        sealing.start()
        number = 2000
        while sealing.is_alive():
            store.append([host(number)])
            number += 1
        sealing.join()
        store.append([host(number)])
        assert store.hot_rows + 2000 >= number
        assert len(values(tmp_path)) == number + 1


def test_a_seal_is_due_by_rows_or_by_batches(tmp_path: Path) -> None:
    with Store(tmp_path, seal_rows=3, seal_batches=2) as store:
        store.append([host(1)])
        assert not store.seal_due
        store.append([host(2)])
        assert store.seal_due
        store.seal()
        assert not store.seal_due
        store.append([host(n) for n in range(3, 6)])
        assert store.seal_due


@contextmanager
def file_size_limit(limit: int) -> Iterator[None]:
    """Writes past `limit` bytes of a file fail, as on a full disk."""
    import resource  # noqa: PLC0415

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.append([host(0)])
        acknowledged = 1
        with file_size_limit(300_000):
            for number in range(1, 200):
                try:
                    store.append([host(number * 1000 + n) for n in range(100)])
                except StoreUnavailable as error:
                    assert "free disk space" in str(error)
                    break
                acknowledged += 100
            else:
                pytest.fail("the disk never filled")
            assert len(values(tmp_path)) == acknowledged
        assert store.append([host(-1)]).accepted == 1
        assert len(values(tmp_path)) == acknowledged + 1
        assert store.hot_rows == acknowledged + 1


def test_a_seal_on_a_full_disk_leaves_the_rows_hot(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.append([host(n) for n in range(500)])
        with file_size_limit(200), pytest.raises(StoreUnavailable):
            store.seal()
        assert list(tmp_path.glob("month=*/*")) == []
        assert len(values(tmp_path)) == 500
        assert store.seal() == 500
        assert len(values(tmp_path)) == 500


def test_an_event_that_cannot_be_stored_takes_nothing_with_it(tmp_path: Path) -> None:
    broken = Host(
        source="test", event_id="\ud800", rig="desk", what="boot", at=host(1).at, duration_ns=0
    )
    too_large = host(2, duration_ns=2**70)
    with Store(tmp_path) as store:
        for bad in (broken, too_large):
            with pytest.raises(ValueError, match=r".+"):
                store.append([host(1), bad])
        assert values(tmp_path) == {}
        assert store.append([host(1)]).accepted == 1


def test_one_writer_per_folder(tmp_path: Path) -> None:
    with Store(tmp_path):
        with pytest.raises(LedgerError, match=f"PID {os.getpid()}"):
            Store(tmp_path)
        other = "import sys, pathlib\nfrom collector.store import Store\n"
        other += "Store(pathlib.Path(sys.argv[1]))"
        run = subprocess.run(
            [sys.executable, "-c", other, str(tmp_path)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode != 0
        assert "is being written by another process" in run.stderr
    Store(tmp_path).close()


def test_only_the_owner_may_read(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    old = os.umask(0)
    try:
        with Store(path) as store:
            store.append([host(1)])
            store.seal()
            store.append([host(2)])
            modes = {file: stat.S_IMODE(file.stat().st_mode) for file in path.rglob("*")}
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert len(modes) >= 6
    for file, mode in modes.items():
        assert mode == (0o700 if file.is_dir() else 0o600), file


def test_leftovers_of_a_crash_are_removed_and_nothing_else(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.append([host(1)])
        store.seal()
    (listed,) = tmp_path.glob("month=*/*")
    orphan = listed.with_name(f"host-{'0' * 32}.parquet")
    orphan.write_bytes(listed.read_bytes())
    aside = listed.with_name(f"host-{'1' * 32}.parquet.tmp")
    aside.write_bytes(b"half")
    foreign = listed.with_name("notes.parquet")
    foreign.write_bytes(b"not ours")
    assert len(values(tmp_path)) == 1, "readers see listed files only"
    with Store(tmp_path):
        assert sorted(tmp_path.glob("month=*/*")) == sorted([listed, foreign])
        assert len(values(tmp_path)) == 1


def test_a_folder_that_cannot_be_used_is_told_with_its_remedy(tmp_path: Path) -> None:
    (tmp_path / "manifest.sqlite").mkdir()
    with pytest.raises(LedgerError, match="check disk space and rights"):
        Store(tmp_path)
    # The lock was given back.
    (tmp_path / "manifest.sqlite").rmdir()
    Store(tmp_path).close()


def test_a_newer_schema_is_refused_and_left_alone(tmp_path: Path) -> None:
    Store(tmp_path).close()
    db = sqlite3.connect(tmp_path / "manifest.sqlite")
    db.execute("INSERT INTO migration VALUES (999, '999_future')")
    db.commit()
    db.close()
    with pytest.raises(SchemaTooNew, match="schema version 999"):
        Store(tmp_path)
    with pytest.raises(SchemaTooNew):
        snapshot(tmp_path, "host", *EVER)


def test_a_migration_and_its_record_stand_or_fall_together(tmp_path: Path) -> None:
    steps = tmp_path / "schema"
    steps.mkdir()
    (steps / "001_one.sql").write_text(
        "-- one;\nCREATE TABLE one (a);\nINSERT INTO one VALUES (1);"
    )
    db = sqlite3.connect(":memory:", isolation_level=None)
    migrate(db, tmp_path, steps)
    (steps / "002_two.sql").write_text("CREATE TABLE two (a);\nINSERT INTO missing VALUES (1);")
    with pytest.raises(sqlite3.OperationalError, match="missing"):
        migrate(db, tmp_path, steps)
    assert version(db) == 1
    (steps / "002_two.sql").write_text("CREATE TABLE two (a);")
    migrate(db, tmp_path, steps)
    migrate(db, tmp_path, steps)
    assert version(db) == 2
    assert db.execute("SELECT count(*) FROM one").fetchall() == [(1,)]
    assert [number for number, _, _ in known(steps)] == [1, 2]
    db.close()


def test_hot_blobs_are_plain_arrow_streams(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.append([host(1), host(2)])
        db = sqlite3.connect(tmp_path / "manifest.sqlite")
        ((blob, count),) = db.execute("SELECT batch, rows FROM hot").fetchall()
        db.close()
    assert pa.ipc.open_stream(blob).read_all()["event_id"].to_pylist() == ["1", "2"]
    assert count == 2
