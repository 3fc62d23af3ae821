"""The ledger's folder: its manifest, its one writer's lock, who may read it, what a crash left.

Layout: `manifest.sqlite` (WAL) lists what counts; `month=YYYY-MM/<kind>-<id>.parquet` holds
sealed rows; `writer.lock` is held by the one process that writes.
"""

import fcntl
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from collector.events import KINDS
from collector.files import sync_folder
from collector.migrations import migrate

MANIFEST = "manifest.sqlite"
LOCK = "writer.lock"
OURS = re.compile(rf"({'|'.join(KINDS)})-[0-9a-f]{{32}}\.parquet(\.tmp)?")
# A checkpoint each 64 MB of log keeps commits short; the cache holds the upper key pages.
PRAGMAS = (
    "journal_mode = WAL",
    "synchronous = FULL",
    "wal_autocheckpoint = 16000",
    "journal_size_limit = 67108864",
    "cache_size = -65536",
    "busy_timeout = 10000",
)


class LedgerError(RuntimeError):
    """The ledger's folder cannot be used; the message says why and what to do."""


def lock(folder: Path) -> int:
    """Become the folder's one writer; returns the descriptor that holds the lock.

    Raises LedgerError where another process writes already. The kernel frees the lock with
    the process, so a killed writer never blocks its successor.
    """
    descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        holder = os.read(descriptor, 32).decode("ascii", "replace").strip() or "unknown"
        os.close(descriptor)
        raise LedgerError(
            f"{folder} is being written by another process (PID {holder}):"
            " stop that one, or choose another store.path"
        ) from None
    os.truncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return descriptor


def make_folder(folder: Path) -> None:
    """Make the folder, or close an own one to other users. Raises LedgerError."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_uid == os.geteuid():
            folder.chmod(0o700)
    except OSError as error:
        raise LedgerError(
            f"{folder} cannot be the ledger's folder ({error.strerror}):"
            " choose a store.path that this user may write"
        ) from None


def open_manifest(folder: Path) -> sqlite3.Connection:
    """The writer's connection, its schema up to date. Raises SchemaTooNew, sqlite3.Error."""
    path = folder / MANIFEST
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    sync_folder(folder)
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        for pragma in PRAGMAS:
            connection.execute(f"PRAGMA {pragma}").fetchall()
        migrate(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def sealed(folder: Path) -> Iterator[Path]:
    """Every file in the month folders that bears a name the store gives, listed or not.

    Raises OSError for a folder that cannot be looked into.
    """
    # A pattern of `glob` would pass over a folder that this user has no right to read.
    for month in folder.iterdir():
        if month.name.startswith("month=") and month.is_dir():
            yield from (file for file in month.iterdir() if OURS.fullmatch(file.name))


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """All of it or nothing, durable when the block has ended."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield db
        db.execute("COMMIT")
    except BaseException:
        # SQLite rolls back by itself after some errors, a full disk among them.
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
