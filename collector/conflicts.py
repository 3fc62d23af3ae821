"""Tellings that were refused: the same event had been told before with other content."""

import sqlite3
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from collector.clock import SECOND_NS
from collector.columns import time_ns
from collector.events import KIND_OF, Event
from collector.manifest import MANIFEST
from collector.migrations import require_known
from collector.snapshot import reading

QUARTER_NS = 900 * SECOND_NS
SINCE_VERSION = 5
COUNT = (
    "INSERT INTO conflict VALUES (?, ?, ?)"
    " ON CONFLICT (kind, quarter_ns) DO UPDATE SET number = number + excluded.number"
)


def count(db: sqlite3.Connection, refused: Iterable[Event]) -> None:
    """Note refused events where they would have stood, in the caller's transaction."""
    found = Counter((KIND_OF[type(event)], _quarter(event)) for event in refused)
    db.executemany(COUNT, [(*place, number) for place, number in found.items()])


def conflicts(path: Path, from_ns: int, to_ns: int) -> int | None:
    """How many were refused that speak of [from_ns, to_ns), to the quarter of an hour; None where
    the ledger does not tell yet.

    Raises FileNotFoundError, SchemaTooNew, LedgerError.
    """
    with reading(path) as db:
        if require_known(db, path / MANIFEST) < SINCE_VERSION:
            return None
        query = "SELECT sum(number) FROM conflict WHERE quarter_ns >= ? AND quarter_ns < ?"
        (number,) = db.execute(query, (from_ns // QUARTER_NS * QUARTER_NS, to_ns)).fetchone()
        return number or 0


def _quarter(event: Event) -> int:
    return time_ns(KIND_OF[type(event)], event) // QUARTER_NS * QUARTER_NS
