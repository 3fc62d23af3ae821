"""How long idempotency keys are kept: until the event's month has been over for 13 months."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from collector.clock import from_ns
from collector.identity import key
from collector.manifest import MANIFEST

KEPT_MONTHS = 13
CHUNK = 20_000  # keys looked at in one transaction: some 10 ms


def first_kept(folder: Path, now_ns: int) -> int:
    """The oldest month (202510) whose keys are kept.

    It follows the clock or the newest event, whichever is earlier: neither a clock gone wrong nor
    one event from the future drops every key.
    """
    with _reading(folder) as db:
        query = (
            "SELECT max(max_ns) FROM (SELECT max_ns FROM hot UNION ALL SELECT max_ns FROM segment)"
        )
        (newest_ns,) = db.execute(query).fetchone()
    at = from_ns(now_ns if newest_ns is None else min(now_ns, newest_ns))
    months = at.year * 12 + at.month - 1 - KEPT_MONTHS
    return months // 12 * 100 + months % 12 + 1


def stretches(folder: Path, before_month: int) -> Iterator[tuple[bytes, bytes]]:
    """Stretches of the key table (from after, up to) to be searched; none if no key is so old."""
    with _reading(folder) as db:
        if db.execute(
            "SELECT 1 FROM event_key WHERE month < ? LIMIT 1", (before_month,)
        ).fetchone():
            last = b""
            chunk = "SELECT key FROM event_key WHERE key > ? ORDER BY key LIMIT ?"
            query = f"SELECT max(key) FROM ({chunk})"  # noqa: S608
            while (end := db.execute(query, (last, CHUNK)).fetchone()[0]) is not None:
                yield last, end
                last = end


def forget(db: sqlite3.Connection, after: bytes, up_to: bytes, before_month: int) -> int:
    """Drop a stretch's keys that are too old, in the caller's transaction; returns how many."""
    query = "DELETE FROM event_key WHERE key > ? AND key <= ? AND month < ?"
    return db.execute(query, (after, up_to, before_month)).rowcount


def forget_replaced(db: sqlite3.Connection) -> None:
    """Drop what is known of replaced rows that are in no file, once their event's key is gone."""
    db.create_function("key_of", 2, key, deterministic=True)
    db.execute(
        "DELETE FROM superseded WHERE dropped = 1"
        " AND key_of(source, event_id) NOT IN (SELECT key FROM event_key)"
    )


def _reading(folder: Path) -> closing[sqlite3.Connection]:
    """A connection of its own: the search for old keys must hold up no append."""
    uri = f"{(folder / MANIFEST).absolute().as_uri()}?mode=ro"
    return closing(sqlite3.connect(uri, uri=True, timeout=10, isolation_level=None))
