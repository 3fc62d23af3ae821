"""Kill -9 under load, while files are sealed, merged and removed and the face is renewed.

What was acknowledged is there once, and readers never notice. RIGLEDGER_KILLS says how often.
"""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from rig import crashing
from rig.crashing import EVER, KINDS, Sender, count, faced, made

from collector.columns import to_arrow
from collector.events import KIND_OF
from collector.snapshot import damaged, snapshot
from collector.store import Store

KILLS = int(os.environ.get("RIGLEDGER_KILLS", "60"))
SEED = 20261129


@contextmanager
def program(role: str, path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process of `rig.crashing`, with its pipes."""
    command = [sys.executable, crashing.__file__, role, str(path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        try:
            yield process
        finally:
            process.kill()


class Victim:
    """The collector, to be killed and started again."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.commands, self.answers = process.stdin, process.stdout
        self.pid: int | None = None
        self.port: int | None = None

    def start(self) -> None:
        """Start, and wait until it listens."""
        self.commands.write("start\n")
        pid, port = self.answers.readline().split()
        self.pid, self.port = int(pid), int(port)

    def kill(self) -> None:
        """kill -9; it must not have ended before by itself."""
        assert self.pid is not None
        os.kill(self.pid, signal.SIGKILL)
        assert self.answers.readline() == "-9\n"
        self.pid = self.port = None


def test_kills_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    chance = random.Random(SEED)
    with program("collect", path) as collecting:
        victim = Victim(collecting)
        senders = [Sender(name, lambda: victim.port) for name in range(3)]
        threads = [threading.Thread(target=sender.run, daemon=True) for sender in senders]
        try:
            victim.start()
            with program("read", path) as reading:
                for thread in threads:
                    thread.start()
                for kill in range(KILLS):
                    if kill % 5 == 0:  # read beside the writer, too
                        least = sum(sender.acknowledged for sender in senders)
                        assert count(path) >= least
                    threads[0].join(chance.uniform(0.05, 0.9))
                    victim.kill()
                    victim.start()
                bring_home(senders, threads)
                reads, _ = reading.communicate()
                assert reading.returncode == 0
            compare(path, senders)
            assert senders[0].one_more(), "the collector still keeps what is new"
            assert count(path) == sum(sender.sent for sender in senders)
            victim.kill()
        finally:
            if victim.pid is not None:
                os.kill(victim.pid, signal.SIGKILL)
    # Without these the test would prove nothing.
    assert int(reads) > 10
    assert sum(sender.acknowledged for sender in senders) > 500
    assert sum(sender.retried_duplicates for sender in senders) > 0
    with closing(sqlite3.connect(path / "manifest.sqlite")) as db:
        ((ever,),) = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'segment'").fetchall()
        ((now,),) = db.execute("SELECT count(*) FROM segment").fetchall()
    assert ever - now > KILLS // 6, "files were merged"
    put_in_order(path)
    compare(path, senders)
    assert faced(path) > 500
    assert damaged(path) == []


def bring_home(senders: list[Sender], threads: list[threading.Thread]) -> None:
    """Stop the senders once their last batch is acknowledged."""
    for sender in senders:
        sender.stopping.set()
    for thread in threads:
        thread.join(60)
    assert [sender.failure for sender in senders] == [None] * len(senders)
    assert all(sender.acknowledged == sender.sent for sender in senders)


def put_in_order(path: Path) -> None:
    """Whatever the last kill left half done, the next start ends: no file is lost or forgotten."""

    def stored() -> set[str]:
        return {str(file.relative_to(path)) for file in path.glob("month=*/*.parquet")}

    def named(table: str) -> set[str]:
        with closing(sqlite3.connect(path / "manifest.sqlite")) as db:
            return {file for (file,) in db.execute(f"SELECT file FROM {table}")}  # noqa: S608

    assert named("segment") <= stored()
    with Store(path) as store:
        store.bury(2**62)
    assert stored() == named("segment")
    assert named("retired") == set()


def compare(path: Path, senders: list[Sender]) -> None:
    """What is stored is what was sent, all of it, once, in every column."""
    sent = [made(sender.name, n) for sender in senders for n in range(sender.sent)]
    for kind in KINDS:
        some = [event for event in sent if KIND_OF[type(event)] == kind]
        expected = {(r["source"], r["event_id"]): r for r in to_arrow(kind, some).to_pylist()}
        seen = snapshot(path, kind, *EVER)
        tables = [pq.read_table(file, partitioning=None) for file in seen.files]
        rows = pa.concat_tables([*tables, seen.hot], promote_options="permissive").to_pylist()
        assert len(rows) == len(expected)
        assert {(r["source"], r["event_id"]): r for r in rows} == expected
