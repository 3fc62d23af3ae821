"""How long idempotency keys are kept: until 45 days after the event's month was closed, or until
it has been over for 13 months.
"""

import datetime as dt
import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from collector import closed
from collector.clock import SECOND_NS, from_ns, to_ns
from collector.identity import key
from collector.manifest import MANIFEST

KEPT_MONTHS = 13
KEPT_CLOSED_NS = 45 * 86_400 * SECOND_NS  # from the instant at which the month was closed
CHUNK = 20_000  # keys looked at in one transaction: some 10 ms

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Aged:
    """The UTC months (202510) whose keys can go: those before one, and some closed ones since."""

    before: int
    closed: tuple[int, ...]

    @property
    def sql(self) -> str:
        """The same as a condition on `month`."""
        return f"(month < {self.before} OR month IN ({', '.join(map(str, self.closed))}))"


def aged(folder: Path, now_ns: int) -> Aged:
    """Which months' keys need not be kept.

    Time follows the clock or the newest event, whichever is earlier: neither a clock gone wrong
    nor one event from the future drops every key. A closed month is a local one; a UTC month is
    closed once all of it lies in such months, each closed for 45 days.
    """
    with _reading(folder) as db:
        query = (
            "SELECT max(max_ns) FROM (SELECT max_ns FROM hot UNION ALL SELECT max_ns FROM segment)"
        )
        (newest_ns,) = db.execute(query).fetchone()
    at_ns = now_ns if newest_ns is None else min(now_ns, newest_ns)
    at = from_ns(at_ns)
    months = at.year * 12 + at.month - 1
    bounds = [dt.datetime(m // 12, m % 12 + 1, 1, tzinfo=dt.UTC)
              for m in range(months - KEPT_MONTHS, months + 2)]  # fmt: skip
    spans = _closed_spans(folder, at_ns)
    covered = tuple(
        _number(first)
        for first, after in pairwise(bounds)
        if any(start <= to_ns(first) and to_ns(after) <= end for start, end in spans)
    )
    return Aged(_number(bounds[0]), covered)


def _number(first: dt.datetime) -> int:
    return first.year * 100 + first.month


def _closed_spans(folder: Path, at_ns: int) -> list[tuple[int, int]]:
    """Stretches of time (ns) that have been closed for long enough, those that meet joined."""
    spans: list[tuple[int, int]] = []
    for month in closed.months(folder):
        try:
            (first, *_) = closed.filed(folder, month)
            start, end, at = (first.content[name] for name in ("from_ns", "to_ns", "closed_at_ns"))
        except (closed.DamagedClosing, ValueError, KeyError) as error:
            log.warning("the keys of %s are kept as if it were open: %s", month, error)
            continue
        if at + KEPT_CLOSED_NS > at_ns:
            continue
        if spans and spans[-1][1] == start:
            start, _ = spans.pop()
        spans.append((start, end))
    return spans


def stretches(folder: Path, months: Aged) -> Iterator[tuple[bytes, bytes]]:
    """Stretches of the key table (from after, up to) to be searched; none if no key is so old."""
    with _reading(folder) as db:
        if db.execute(f"SELECT 1 FROM event_key WHERE {months.sql} LIMIT 1").fetchone():  # noqa: S608
            last = b""
            chunk = "SELECT key FROM event_key WHERE key > ? ORDER BY key LIMIT ?"
            query = f"SELECT max(key) FROM ({chunk})"  # noqa: S608
            while (end := db.execute(query, (last, CHUNK)).fetchone()[0]) is not None:
                yield last, end
                last = end


def forget(db: sqlite3.Connection, after: bytes, up_to: bytes, months: Aged) -> int:
    """Drop a stretch's keys that are too old, in the caller's transaction; returns how many."""
    query = f"DELETE FROM event_key WHERE key > ? AND key <= ? AND {months.sql}"  # noqa: S608
    return db.execute(query, (after, up_to)).rowcount


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
