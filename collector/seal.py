"""Sealing: hot batches become zstd Parquet, one file per kind and UTC month.

Each file is written aside, made durable and renamed before one transaction lists it and drops
its hot rows; a crash in between leaves a file that nobody lists and rows that are still hot.
"""

import os
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from collector.columns import schema, time_column
from collector.manifest import MANIFEST, sync_folder

ROUND_ROWS = 25_000  # bounds the memory of one round


@dataclass(frozen=True)
class Segment:
    """One sealed file; `file` is relative to the ledger's folder."""

    kind: str
    month: str
    file: str
    rows: int
    min_ns: int
    max_ns: int


@dataclass(frozen=True)
class Round:
    """Files that are durable, and the hot batches whose rows they hold."""

    hot_ids: list[int]
    segments: list[Segment]

    @property
    def rows(self) -> int:
        """Rows in the round's files."""
        return sum(segment.rows for segment in self.segments)


def rounds(folder: Path) -> Iterator[Round]:
    """Write what is hot now, a bounded part at a time; the caller records each part.

    Raises OSError, sqlite3.Error; files of a part that failed are removed.
    """
    uri = f"{(folder / MANIFEST).absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True, timeout=10, isolation_level=None)) as db:
        todo = db.execute("SELECT id, kind, rows FROM hot ORDER BY id").fetchall()
        while todo:
            part, rows = defaultdict(list), 0
            while todo and (rows == 0 or rows + todo[0][2] <= ROUND_ROWS):
                hot_id, kind, count = todo.pop(0)
                part[kind].append(hot_id)
                rows += count
            yield _round(folder, db, part)


def record(db: sqlite3.Connection, written: Round) -> None:
    """List the files and drop their hot rows, inside the caller's transaction."""
    db.executemany(
        "INSERT INTO segment (kind, month, file, rows, min_ns, max_ns) VALUES (?, ?, ?, ?, ?, ?)",
        [(s.kind, s.month, s.file, s.rows, s.min_ns, s.max_ns) for s in written.segments],
    )
    db.executemany("DELETE FROM hot WHERE id = ?", [(hot_id,) for hot_id in written.hot_ids])


def _round(folder: Path, db: sqlite3.Connection, part: dict[str, list[int]]) -> Round:
    segments: list[Segment] = []
    try:
        for kind, hot_ids in part.items():
            for month, rows in _months(kind, _table(db, kind, hot_ids)):
                segments.append(_write(folder, kind, month, rows))
    except BaseException:
        for segment in segments:
            (folder / segment.file).unlink(missing_ok=True)
        raise
    return Round([hot_id for hot_ids in part.values() for hot_id in hot_ids], segments)


def _table(db: sqlite3.Connection, kind: str, hot_ids: list[int]) -> pa.Table:
    batches: list[pa.RecordBatch] = []
    for hot_id in hot_ids:
        (blob,) = db.execute("SELECT batch FROM hot WHERE id = ?", (hot_id,)).fetchone()
        batches.extend(pa.ipc.open_stream(blob))
    return pa.Table.from_batches(batches, schema(kind))


def _months(kind: str, table: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """The table by UTC month, each part in the order of time (row groups then prune well)."""
    column = time_column(kind)
    months = pc.strftime(table[column].cast(pa.timestamp("ns")), format="%Y-%m")
    for month in sorted(pc.unique(months).to_pylist()):
        yield month, table.filter(pc.equal(months, month)).sort_by(column)


def _write(folder: Path, kind: str, month: str, rows: pa.Table) -> Segment:
    place = folder / f"month={month}"
    if not place.exists():
        place.mkdir(mode=0o700)
        sync_folder(folder)
    final = place / f"{kind}-{uuid4().hex}.parquet"
    aside = final.with_name(f"{final.name}.tmp")
    try:
        with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            pq.write_table(rows, file, compression="zstd")
            file.flush()
            os.fsync(file.fileno())
        aside.rename(final)
        sync_folder(place)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    instants = rows[time_column(kind)]
    bounds = pc.min_max(instants).as_py()
    name = str(final.relative_to(folder))
    return Segment(kind, month, name, rows.num_rows, bounds["min"], bounds["max"])
