"""Tellings that were refused: the same event had been told before with other content."""

import sqlite3
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from collector.clock import SECOND_NS
from collector.columns import time_column
from collector.manifest import MANIFEST
from collector.migrations import require_known
from collector.snapshot import reading

QUARTER_NS = 900 * SECOND_NS
SINCE_VERSION = 5
COUNT = (
    "INSERT INTO conflict VALUES (?, ?, ?)"
    " ON CONFLICT (kind, quarter_ns) DO UPDATE SET number = number + excluded.number"
)


def count(db: sqlite3.Connection, refused: Mapping[str, pa.Table]) -> None:
    """Note refused rows, by kind, where they would have stood, in the caller's transaction."""
    found = Counter(
        (kind, at_ns // QUARTER_NS * QUARTER_NS)
        for kind, rows in refused.items()
        for at_ns in rows[time_column(kind)].to_pylist()
    )
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
