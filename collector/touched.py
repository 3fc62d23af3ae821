"""Which UTC hours got news: what the daily derived tables are checked against.

Late and revised events count as news of the hours that they speak of, whenever they arrive.
"""

import datetime as dt
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa

from collector.clock import SECOND_NS
from collector.columns import time_column
from collector.identity import Mark
from collector.manifest import MANIFEST
from collector.migrations import require_known
from collector.snapshot import reading

HOUR_NS = 3_600 * SECOND_NS
SINCE_VERSION = 2
TOUCH = (
    "INSERT INTO touched_hour VALUES (?, ?, (SELECT seq FROM sqlite_sequence WHERE name = 'hot'))"
    " ON CONFLICT (kind, hour) DO UPDATE SET number = excluded.number"
)


def touch(
    db: sqlite3.Connection, written: Mapping[str, pa.Table], replaced: Iterable[Mark]
) -> None:
    """Note the hours of rows just written, by kind, and those of a replaced version's month.

    Call it in the same transaction, after the hot rows are in.
    """
    hours = {(kind, hour) for kind, rows in written.items() for hour in _hours(kind, rows)}
    hours |= {(old.kind, hour) for old in replaced for hour in _month_hours(old.month)}
    db.executemany(TOUCH, sorted(hours))


def touched(path: Path) -> tuple[str, dict[tuple[str, int], int]]:
    """The manifest's identity, and the number of the last news by (kind, hour since the epoch).

    The identity is empty where the writer has not yet brought the manifest to this schema; then
    nothing can be said of its hours. Raises FileNotFoundError, SchemaTooNew, LedgerError.
    """
    with reading(path) as db:
        if require_known(db, path / MANIFEST) < SINCE_VERSION:
            return "", {}
        (born,) = db.execute("SELECT id FROM born").fetchone()
        rows = db.execute("SELECT kind, hour, number FROM touched_hour").fetchall()
    return born.hex(), {(kind, hour): number for kind, hour, number in rows}


def _hours(kind: str, rows: pa.Table) -> set[int]:
    start_ns = rows[time_column(kind)].to_numpy()
    end_ns = start_ns + rows["duration_ns"].to_numpy() if kind == "attempt" else start_ns
    spans = zip((start_ns // HOUR_NS).tolist(), (end_ns // HOUR_NS).tolist(), strict=True)
    return {hour for first, last in set(spans) for hour in range(first, last + 1)}


def _month_hours(month: int) -> range:
    first = dt.date(month // 100, month % 100, 1)
    following = (first + dt.timedelta(days=32)).replace(day=1)
    epoch = dt.date(1970, 1, 1)
    return range((first - epoch).days * 24, (following - epoch).days * 24)
