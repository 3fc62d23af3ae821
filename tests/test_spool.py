"""The spool: durable, in order, bounded, and never in the way of a start."""

import os
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from router.spool import INSERTED_ROWS, REFUSED_ROWS, Spool


@pytest.fixture
def path(tmp_path):
    return tmp_path / "spool-tap.sqlite"


def bodies(spool, rows=1000, size_bytes=1 << 20):
    return [body for _, body in spool.first(rows, size_bytes)]


def test_events_come_back_in_order_after_reopening(path):
    spool = Spool(path)
    spool.append([b"one", b"two"])
    spool.append([b"three"])
    spool.close()
    spool = Spool(path)
    assert len(spool) == 3
    assert bodies(spool) == [b"one", b"two", b"three"]
    spool.close()


def test_a_batch_is_bounded_in_rows_and_bytes_but_never_empty(path):
    spool = Spool(path)
    spool.append([b"x" * 40, b"y" * 40, b"z" * 40])
    assert len(spool.first(2, 1000)) == 2
    assert len(spool.first(10, 80)) == 2
    assert len(spool.first(10, 1)) == 1
    spool.close()


@given(
    st.lists(st.binary(max_size=40), max_size=30), st.integers(1, 8), st.integers(0, 100), st.data()
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_bytes_they_are_they_leave_in_order_and_once(tmp_path, sent, rows, size, data):
    folder = Path(tempfile.mkdtemp(dir=tmp_path))
    spool = Spool(folder / "spool.sqlite")
    cut = data.draw(st.integers(0, len(sent)))
    spool.append(sent[:cut])
    spool.append(sent[cut:])
    left, told = list(sent), []
    while left:
        batch = spool.first(rows, size)
        most = next((n for n in range(len(left), 1, -1) if sum(map(len, left[:n])) <= size), 1)
        assert [body for _, body in batch] == left[: min(rows, most)]
        spool.settle(batch, {})
        del left[: len(batch)]
        told += [seq for seq, _ in batch]
        assert len(spool) == len(left)
    assert spool.first(rows, size) == []
    assert told == sorted(set(told))
    spool.close()


def test_more_than_one_statement_holds_is_one_commit(path):
    spool = Spool(path)
    sent = [b"%d" % number for number in range(2 * INSERTED_ROWS + 1)]
    spool.append(sent)
    assert bodies(spool, rows=len(sent) + 1) == sent
    spool.close()


def test_settled_events_are_gone_and_refused_ones_stand_aside(path):
    spool = Spool(path)
    spool.append([b"good", b"bad", b"later"])
    batch = spool.first(2, 1000)
    spool.settle(batch, {batch[1][0]: "model: no"})
    assert bodies(spool) == [b"later"]
    assert len(spool) == 1
    spool.close()
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT body, error FROM refused").fetchall() == [(b"bad", "model: no")]
    db.close()


def test_the_newest_are_dropped_and_counted_when_it_is_full(path):
    spool = Spool(path, limit_bytes=100)
    spool.append([b"a" * 60, b"b" * 30, b"c" * 30])
    assert bodies(spool) == [b"a" * 60, b"b" * 30]
    assert spool.dropped == 1
    spool.append([b"d" * 30])
    assert spool.dropped == 2
    spool.settle(spool.first(1, 1), {})
    spool.append([b"e" * 30])
    assert bodies(spool) == [b"b" * 30, b"e" * 30]
    spool.close()
    reopened = Spool(path, limit_bytes=100)
    reopened.append([b"f" * 50])
    assert reopened.dropped == 1
    reopened.close()


def test_refused_events_are_bounded(path):
    spool = Spool(path)
    spool.append([b"%d" % n for n in range(REFUSED_ROWS + 5)])
    batch = spool.first(REFUSED_ROWS + 5, 1 << 30)
    spool.settle(batch, {seq: "no" for seq, _ in batch})
    spool.close()
    with sqlite3.connect(path) as db:
        count, first = db.execute("SELECT count(*), min(seq) FROM refused").fetchone()
    db.close()
    assert (count, first) == (REFUSED_ROWS, 6)


def test_a_second_process_is_turned_away(path):
    spool = Spool(path)
    code = (
        "import sys, pathlib\n"
        "from router.spool import Spool, SpoolBusy\n"
        "try:\n    Spool(pathlib.Path(sys.argv[1]))\n"
        "except SpoolBusy as error:\n    print(error); sys.exit(7)"
    )
    found = subprocess.run(
        [sys.executable, "-c", code, path], check=False, capture_output=True, text=True
    )
    assert found.returncode == 7, found.stderr
    assert "stop the other `rigledger route` first" in found.stdout
    spool.close()


def test_a_damaged_file_is_moved_aside_and_kept(path):
    path.write_bytes(b"this was never a database" * 400)
    spool = Spool(path)
    spool.append([b"fresh"])
    assert bodies(spool) == [b"fresh"]
    assert spool.damaged.read_bytes().startswith(b"this was never")
    spool.close()


def test_only_its_owner_can_read_it(path):
    old = os.umask(0)
    try:
        spool = Spool(path)
        spool.append([b"event"])
        for file in path.parent.iterdir():
            assert file.stat().st_mode & 0o077 == 0, file
        spool.close()
    finally:
        os.umask(old)


def test_what_append_returned_from_survives_a_kill(path):
    code = (
        "import os, sys, pathlib, signal\n"
        "from router.spool import Spool\n"
        "spool = Spool(pathlib.Path(sys.argv[1]))\n"
        "spool.append([b'kept'])\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", code, path], check=False).returncode == -9
    spool = Spool(path)
    assert bodies(spool) == [b"kept"]
    spool.close()
