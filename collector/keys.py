"""The idempotency keys: what is known of an event, and how rows found in files come to be known."""

import sqlite3
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from collector.batch import COLUMNS, Batch, DamagedBatch
from collector.damage import log
from collector.events import Event
from collector.identity import IDENTITY, Mark, key, mark
from collector.manifest import transaction
from collector.restore import ROWS, from_arrow
from collector.touched import touch

LOOKUP = 1000  # keys per SELECT; SQLite admits 32,766 variables
ENTER = 1000  # keys per INSERT, of five variables each
KNOWN = "SELECT key, digest, revision, month, kind FROM event_key WHERE key IN ({})"
# A version that is still in some file, or one that no file holds any more.
REPLACED = "INSERT OR REPLACE INTO superseded VALUES (?, ?, ?, ?, ?, 0)"
DROPPED = "INSERT OR IGNORE INTO superseded VALUES (?, ?, ?, ?, ?, 1)"


def known(db: sqlite3.Connection, keys: Iterable[bytes]) -> dict[bytes, Mark]:
    """What the ledger knows of these keys."""
    wanted, found = list(keys), {}
    for start in range(0, len(wanted), LOOKUP):
        some = wanted[start : start + LOOKUP]
        query = KNOWN.format(",".join("?" * len(some)))
        found.update({row[0]: Mark(*row) for row in db.execute(query, some)})
    return found


def enter(db: sqlite3.Connection, marks: Iterable[Mark]) -> None:
    """Know these from now on, inside the caller's transaction."""
    # Sorted, neighbours share a page. In few statements, other threads rarely come between.
    ordered = sorted(marks)
    for start in range(0, len(ordered), ENTER):
        some = ordered[start : start + ENTER]
        rows = ", ".join(["(?, ?, ?, ?, ?)"] * len(some))
        query = f"INSERT OR REPLACE INTO event_key VALUES {rows}"  # noqa: S608
        db.execute(query, list(chain.from_iterable(some)))


def admit(db: sqlite3.Connection, kind: str, rows: pa.Table, *, lacking: bool) -> pa.Table:
    """Make rows found in a file known, inside the caller's transaction; returns those to keep.

    `lacking`: the ledger is known to lack all of these rows, whatever its keys say; else a row
    whose version is known already is a duplicate. Replaced versions are not kept. Raises
    KeyError, ValueError for rows that are none of this kind.
    """
    keep: list[bool] = []
    events = from_arrow(kind, rows)
    while some := list(islice(events, ROWS)):
        kept = list(_admitted(db, some, lacking))
        pairs = zip(some, kept, strict=True)
        news = pa.array([event is not None and stays for event, stays in pairs], pa.bool_())
        touch(db, {kind: rows.slice(len(keep), len(some)).filter(news)}, [])
        keep += kept
    return rows.filter(pa.array(keep, pa.bool_()))


def _admitted(db: sqlite3.Connection, events: list[Event | None], lacking: bool) -> Iterator[bool]:
    marks = [None if event is None else mark(event) for event in events]
    have = known(db, {told.key for told in marks if told is not None})
    news: dict[bytes, Mark] = {}
    for event, told in zip(events, marks, strict=True):
        if event is None or told is None:
            yield True
            continue
        before = have.get(told.key)
        identity = (event.source, event.event_id)
        if before is None or told.revision > before.revision:
            if before is not None:
                db.execute(REPLACED, (*identity, before.revision, before.kind, before.digest))
            have[told.key] = news[told.key] = told
            yield True
        elif told.revision == before.revision:
            yield lacking
        else:
            db.execute(DROPPED, (*identity, told.revision, told.kind, told.digest))
            yield False
    enter(db, news.values())


def forget_lost(folder: Path, db: sqlite3.Connection) -> None:
    """Forget the keys of rows that were lost to damage, so that they can be told again."""
    query = (
        "SELECT DISTINCT kind, min_ns, max_ns FROM damage"
        " WHERE retold = 0 AND kind IS NOT NULL AND min_ns IS NOT NULL"
    )
    for kind, min_ns, max_ns in db.execute(query).fetchall():
        try:
            gone = _forget_absent(folder, db, kind, min_ns, max_ns)
        except (OSError, ValueError, pa.ArrowException) as error:
            log.warning("lost rows of kind %s cannot be told again yet: %s", kind, error)
            continue
        log.info("%d lost rows of kind %s can be told again", gone, kind)


def _forget_absent(
    folder: Path, db: sqlite3.Connection, kind: str, min_ns: int, max_ns: int
) -> int:
    """Drop every key of these months that no row bears; returns how many."""
    months = "CAST(strftime('%Y%m', ? / 1000000000, 'unixepoch') AS INTEGER)"
    first, last = db.execute(f"SELECT {months}, {months}", (min_ns, max_ns)).fetchone()
    db.execute("CREATE TEMP TABLE present (key BLOB PRIMARY KEY) WITHOUT ROWID")
    try:
        for rows in _stored(folder, db, kind, first, last):
            pairs = zip(*(rows[name].to_pylist() for name in IDENTITY), strict=True)
            db.executemany("INSERT OR IGNORE INTO present VALUES (?)", ((key(*p),) for p in pairs))
        with transaction(db):
            gone = db.execute(
                "DELETE FROM event_key WHERE kind = ? AND month BETWEEN ? AND ?"
                " AND key NOT IN (SELECT key FROM present)",
                (kind, first, last),
            ).rowcount
            done = "UPDATE damage SET retold = 1 WHERE kind = ? AND min_ns = ? AND max_ns = ?"
            db.execute(done, (kind, min_ns, max_ns))
    finally:
        db.execute("DROP TABLE present")
    return gone


def _stored(
    folder: Path, db: sqlite3.Connection, kind: str, first: int, last: int
) -> Iterator[pa.Table]:
    """Identities of a kind's rows, sealed and hot, of all months between two (202610)."""
    months = "CAST(replace(month, '-', '') AS INTEGER) BETWEEN ? AND ?"
    query = f"SELECT file FROM segment WHERE kind = ? AND {months}"  # noqa: S608
    for (file,) in db.execute(query, (kind, first, last)).fetchall():
        yield pq.read_table(folder / file, columns=IDENTITY, partitioning=None)
    query = f"SELECT {COLUMNS} FROM hot WHERE kind = ?"  # noqa: S608
    for row in db.execute(query, (kind,)).fetchall():
        try:
            yield Batch(*row).table.select(IDENTITY)
        except DamagedBatch:
            continue  # its keys can go, too: the next seal records that it is lost
