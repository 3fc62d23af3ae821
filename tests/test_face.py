"""Any DuckDB client reads the ledger's face, from any folder, whatever the collector does."""

import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import duckdb
import pytest
from rig.events import NOON_NS, host

from collector import face
from collector.clock import SECOND_NS, now_ns
from collector.columns import schema
from collector.daemon import Sealer
from collector.events import KINDS
from collector.store import Store


def asked(path: Path, query: str) -> list[tuple[object, ...]]:
    """What a client that knows nothing but the file gets."""
    with duckdb.connect(path / face.FACE, read_only=True) as client:
        return client.execute(query).fetchall()


def test_sealed_and_hot_rows_without_those_replaced(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.append([host(1, duration_ns=5), host(2, duration_ns=6)])
        store.seal()
        store.append([host(2, revision=1, duration_ns=7), host(3, at_ns=NOON_NS + SECOND_NS)])
        face.build(tmp_path)
    query = "SELECT event_id, revision, duration_ns FROM host ORDER BY event_id"
    assert asked(tmp_path, query) == [("1", 0, 5), ("2", 1, 7), ("3", 0, 0)]
    told = "SELECT at_ns, CAST(at_time AS VARCHAR) FROM host WHERE event_id = '3'"
    assert asked(tmp_path, told) == [(NOON_NS + SECOND_NS, "2026-11-01 00:00:00")]


def test_every_kind_has_the_columns_of_the_data_dictionary(tmp_path: Path) -> None:
    Store(tmp_path).close()
    face.build(tmp_path)
    for kind in KINDS:
        told = asked(tmp_path, f"DESCRIBE {kind}")
        names = [str(row[0]) for row in told]
        assert names[:-1] == schema(kind).names
        assert names[-1] == ("received_at" if kind == "attempt" else "at_time")
        assert told[-1][1] == "TIMESTAMP"
        assert asked(tmp_path, f"SELECT count(*) FROM {kind}") == [(0,)]  # noqa: S608


def test_it_is_opened_from_another_folder_and_under_another_name(tmp_path: Path) -> None:
    path = tmp_path / "it's a ledger"
    with Store(path) as store:
        store.append([host(1)])
        store.seal()
        store.append([host(2)])
    code = (
        "import duckdb, sys\n"
        "print(duckdb.connect(sys.argv[1], read_only=True)"
        ".execute('SELECT count(*) FROM host').fetchall())\n"
        "c = duckdb.connect()\n"
        "c.execute('ATTACH ' + repr(sys.argv[2]) + ' AS mine (READ_ONLY)')\n"
        "print(c.execute('SELECT count(*) FROM mine.host').fetchall())"
    )
    # As the collector does where its path is a relative one.
    relative = "from pathlib import Path\nfrom collector import face\nface.build(Path('.'))"
    subprocess.run([sys.executable, "-c", relative], cwd=path, check=True)
    link = tmp_path / "face.duckdb"
    link.symlink_to(path / face.FACE)
    run = subprocess.run(
        [sys.executable, "-c", code, path / face.FACE, link],
        cwd="/",
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == "[(2,)]\n[(2,)]\n"


def test_clients_are_never_in_the_way_and_never_turned_away(tmp_path: Path) -> None:
    failures: list[BaseException] = []
    done = threading.Event()
    counts: list[int] = []

    def read() -> None:
        try:
            while not done.is_set():
                ((count,),) = asked(tmp_path, "SELECT count(*) FROM host")
                counts.append(int(str(count)))
        except BaseException as error:
            failures.append(error)

    with Store(tmp_path, compact_files=3) as store:
        face.build(tmp_path)
        with duckdb.connect(tmp_path / face.FACE, read_only=True) as patient:
            reader = threading.Thread(target=read)
            reader.start()
            number = 0
            while (number < 25 or len(counts) < 10) and not failures:
                store.append([host(number)])
                number += 1
                store.seal()
                store.compact()
                face.build(tmp_path)
            done.set()
            reader.join()
            assert patient.execute("SELECT count(*) FROM host").fetchall() == [(0,)]
    assert failures == []
    assert counts == sorted(counts)
    assert asked(tmp_path, "SELECT count(*) FROM host") == [(number,)]
    assert list(tmp_path.glob("*.tmp*")) == []


def test_a_failed_build_leaves_the_former_face(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(tmp_path) as store:
        store.append([host(1)])
        face.build(tmp_path)
        store.append([host(2)])

        def no_room(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("os.fsync", no_room)
        with pytest.raises(OSError, match="No space left"):
            face.build(tmp_path)
    assert asked(tmp_path, "SELECT count(*) FROM host") == [(1,)]
    assert list(tmp_path.glob("*.tmp*")) == []


def test_only_its_owner_may_read_it_and_leftovers_go(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        with Store(tmp_path) as store:
            store.append([host(1)])
            face.build(tmp_path)
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / face.FACE).stat().st_mode) == 0o600
    left = tmp_path / f"{face.FACE}-0123.tmp"
    left.write_bytes(b"half a face")
    face.sweep(tmp_path)
    assert not left.exists()
    assert (tmp_path / face.FACE).exists()


def test_files_that_the_face_names_outlive_it_a_while(tmp_path: Path) -> None:
    with Store(tmp_path, compact_files=2) as store:
        for number in range(2):
            store.append([host(number)])
            store.seal()
        face.build(tmp_path)
        assert store.compact() == 2
        assert store.bury(now_ns() - SECOND_NS * 60) == 0
        assert asked(tmp_path, "SELECT count(*) FROM host") == [(2,)]


def test_the_collector_renews_it_at_each_seal(tmp_path: Path) -> None:
    with Store(tmp_path, seal_rows=2) as store:
        sealer = Sealer(store)
        try:
            store.append([host(1), host(2)])
            sealer.nudge()
            deadline = time.monotonic() + 60
            while store.hot_rows and time.monotonic() < deadline:
                time.sleep(0.02)
        finally:
            sealer.close()  # waits for what is under way
    assert asked(tmp_path, "SELECT count(*) FROM host") == [(2,)]
    assert asked(tmp_path, "SELECT count(*) FROM hot.host") == [(0,)]
