"""Events that wait for the collector: a small SQLite file that outlives kills and outages.

However many events: one statement, and one row of an answer. Between two rows Python's SQLite lets
other threads in, and each such change of hands would cost the data path more than the row.
"""

import itertools
import json
import os
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from collector.settings import SettingsError

SPOOL_BYTES = 256 * 1024 * 1024
REFUSED_ROWS = 10_000
INSERTED_ROWS = 500

_TABLES = """
CREATE TABLE IF NOT EXISTS waiting (seq INTEGER PRIMARY KEY AUTOINCREMENT, body BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS refused (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, body BLOB NOT NULL, error TEXT NOT NULL
);
"""
# The oldest: their numbers, their sizes in bytes, and their bodies as one.
_FIRST = """
SELECT json_group_array(seq), json_group_array(length(body)), CAST(group_concat(body, '') AS BLOB)
FROM (
    SELECT seq, body, sum(length(body)) OVER up_to AS total, row_number() OVER up_to AS nth
    FROM waiting WINDOW up_to AS (ORDER BY seq) ORDER BY seq LIMIT ?
) WHERE total <= ? OR nth = 1
"""


class SpoolUnusable(SettingsError):
    """The spool's file cannot be opened; the message says what to do."""


class SpoolBusy(SpoolUnusable):
    """Another process holds the spool."""


class Spool:
    """Encoded events in their order. One thread of one process owns it.

    `append` returns after the events are on disk; beyond `limit_bytes` of waiting events the
    newest are dropped and counted in `dropped`.
    """

    def __init__(self, path: Path, limit_bytes: int = SPOOL_BYTES) -> None:
        """Open or create the file. A damaged file is moved aside (`damaged`), never deleted;
        what can still be read of it stays in the spool.

        Raises SpoolBusy when another process holds it, SpoolUnusable when it cannot be written.
        """
        self.dropped = 0
        self.damaged: Path | None = None
        self._limit_bytes = limit_bytes
        try:
            self._db = _open(path)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise _refusal(path, error) from None
            self.damaged = _move_aside(path)
            self._db = _open(path)
            _recover(self.damaged, self._db)
        row = self._db.execute("SELECT coalesce(sum(length(body)), 0), count(*) FROM waiting")
        self._bytes, self._count = row.fetchone()

    def __len__(self) -> int:
        """Events waiting."""
        return int(self._count)

    def append(self, bodies: Sequence[bytes]) -> None:
        """Keep encoded events durably, in order, as one commit. Raises sqlite3.Error."""
        fitting = self._fitting(bodies)
        with self._db:
            for at in range(0, len(fitting), INSERTED_ROWS):
                some = fitting[at : at + INSERTED_ROWS]
                places = ",".join(["(?)"] * len(some))
                self._db.execute(f"INSERT INTO waiting (body) VALUES {places}", some)  # noqa: S608
        self._bytes += sum(map(len, fitting))
        self._count += len(fitting)
        self.dropped += len(bodies) - len(fitting)

    def first(self, rows: int, size_bytes: int) -> list[tuple[int, bytes]]:
        """The oldest waiting events as (seq, body): at most `rows`, and at least one if any."""
        seqs, sizes, bodies = self._db.execute(_FIRST, (rows, size_bytes)).fetchone()
        if bodies is None:
            return []
        ends = list(itertools.accumulate(json.loads(sizes)))
        cut = [bodies[start:end] for start, end in zip([0, *ends], ends, strict=False)]
        return sorted(zip(json.loads(seqs), cut, strict=True))

    def settle(self, batch: Sequence[tuple[int, bytes]], refused: dict[int, str]) -> None:
        """Forget a batch that the collector answered; `refused` (seq → error) is put aside."""
        aside = [(body, refused[seq]) for seq, body in batch if seq in refused]
        with self._db:
            seqs = json.dumps([seq for seq, _ in batch])
            self._db.execute(
                "DELETE FROM waiting WHERE seq IN (SELECT value FROM json_each(?))", (seqs,)
            )
            self._db.executemany("INSERT INTO refused (body, error) VALUES (?, ?)", aside)
            self._db.execute(
                "DELETE FROM refused WHERE seq <= (SELECT max(seq) FROM refused) - ?",
                (REFUSED_ROWS,),
            )
        self._bytes -= sum(len(body) for _, body in batch)
        self._count -= len(batch)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _fitting(self, bodies: Sequence[bytes]) -> list[bytes]:
        fitting: list[bytes] = []
        free = self._limit_bytes - self._bytes
        for body in bodies:
            if len(body) > free:
                break
            free -= len(body)
            fitting.append(body)
        return fitting


def _open(path: Path) -> sqlite3.Connection:
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    db = sqlite3.connect(path, timeout=1.0, check_same_thread=False)
    try:
        # The exclusive lock is what keeps a second process from sending the same events.
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        if (verdict := db.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            raise sqlite3.DatabaseError(verdict)
        db.executescript(_TABLES)
    except BaseException:
        db.close()
        raise
    return db


def _refusal(path: Path, error: sqlite3.OperationalError) -> Exception:
    if "locked" in str(error):
        return SpoolBusy(
            f"{path}: another process holds this spool; stop the other `rigledger route` first"
        )
    return SpoolUnusable(
        f"{path}: the spool cannot be opened ({error}); check the folder's permissions"
    )


def _move_aside(path: Path) -> Path:
    """The file and its log to the quarantine beside it."""
    quarantine = path.parent / "quarantine"
    quarantine.mkdir(mode=0o700, exist_ok=True)
    aside = quarantine / f"{time.time_ns()}-{path.name}"
    path.rename(aside)
    wal = path.with_name(f"{path.name}-wal")
    if wal.exists():
        wal.rename(aside.with_name(f"{aside.name}-wal"))
    path.with_name(f"{path.name}-shm").unlink(missing_ok=True)
    return aside


def _recover(aside: Path, db: sqlite3.Connection) -> None:
    """Take over the waiting events that can be read from either end of the damaged file."""
    found: dict[int, bytes] = {}
    with closing(sqlite3.connect(f"{aside.absolute().as_uri()}?mode=ro", uri=True)) as old:
        for order in ("ASC", "DESC"):
            try:
                query = f"SELECT seq, body FROM waiting ORDER BY seq {order}"  # noqa: S608
                found.update(old.execute(query))
            except sqlite3.DatabaseError:
                continue
    with db:
        rows = [row for row in sorted(found.items()) if isinstance(row[1], bytes)]
        db.executemany("INSERT INTO waiting (seq, body) VALUES (?, ?)", rows)
