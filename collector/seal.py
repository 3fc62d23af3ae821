"""Sealing: hot batches become zstd Parquet, one file per kind and UTC month.

Each file is written aside, made durable and renamed before one transaction lists it and drops
its hot rows; a crash in between leaves a file that nobody lists and rows that are still hot.
"""

import os
import sqlite3
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from collector import damage
from collector.batch import COLUMNS, Batch, DamagedBatch
from collector.clock import now_ns
from collector.columns import schema, time_column
from collector.damage import Damage
from collector.files import sync_folder
from collector.manifest import MANIFEST

# These bound the memory of one round: a row of a long conversation takes many thousand bytes.
ROUND_ROWS = 25_000
ROUND_B = 32 << 20
# These bound what a damaged page takes with it, and what is decoded at once.
GROUP_ROWS = 50_000
GROUP_B = 32 << 20


@dataclass(frozen=True)
class Segment:
    """One sealed file; `file` is relative to the ledger's folder."""

    kind: str
    month: str
    file: str
    rows: int
    min_ns: int
    max_ns: int
    size_b: int
    sha256: bytes


@dataclass(frozen=True)
class Round:
    """Files that are durable, and the hot batches whose rows they hold.

    `damaged` batches are among `hot_ids`; what they held is lost.
    """

    hot_ids: list[int]
    segments: list[Segment]
    damaged: list[Damage]

    @property
    def rows(self) -> int:
        """Rows in the round's files."""
        return sum(segment.rows for segment in self.segments)


def rounds(folder: Path) -> Iterator[Round]:
    """Write what is hot now, a bounded part at a time; the caller records each part.

    A part has at most ROUND_ROWS rows and ROUND_B bytes, or is one batch that has more.
    Raises OSError, sqlite3.Error; files of a part that failed are removed.
    """
    uri = f"{(folder / MANIFEST).absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True, timeout=10, isolation_level=None)) as db:
        query = "SELECT id, kind, rows, length(batch) FROM hot ORDER BY id"
        todo = deque(db.execute(query).fetchall())
        while todo:
            part, rows, size_b = defaultdict(list), 0, 0
            while todo:
                hot_id, kind, count, batch_b = todo[0]
                if rows and (rows + count > ROUND_ROWS or size_b + batch_b > ROUND_B):
                    break
                todo.popleft()
                part[kind].append(hot_id)
                rows, size_b = rows + count, size_b + batch_b
            yield _round(folder, db, part)


def record(db: sqlite3.Connection, written: Round) -> None:
    """List the files and drop their hot rows, inside the caller's transaction."""
    enlist(db, written.segments)
    db.executemany("DELETE FROM hot WHERE id = ?", [(hot_id,) for hot_id in written.hot_ids])
    for found in written.damaged:
        damage.record(db, found)


def enlist(db: sqlite3.Connection, segments: list[Segment]) -> None:
    """List files, inside the caller's transaction."""
    db.executemany(
        "INSERT INTO segment (kind, month, file, rows, min_ns, max_ns, size_b, sha256)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (s.kind, s.month, s.file, s.rows, s.min_ns, s.max_ns, s.size_b, s.sha256)
            for s in segments
        ],
    )


def _round(folder: Path, db: sqlite3.Connection, part: dict[str, list[int]]) -> Round:
    segments: list[Segment] = []
    damaged: list[Damage] = []
    try:
        for kind, hot_ids in part.items():
            rows, lost = _table(folder, db, kind, hot_ids)
            damaged += lost
            segments += write_segments(folder, kind, rows)
    except BaseException:
        for segment in segments:
            (folder / segment.file).unlink(missing_ok=True)
        raise
    return Round([hot_id for hot_ids in part.values() for hot_id in hot_ids], segments, damaged)


def _table(
    folder: Path, db: sqlite3.Connection, kind: str, hot_ids: list[int]
) -> tuple[pa.Table, list[Damage]]:
    whole, damaged = [pa.Table.from_batches([], schema(kind))], []
    for hot_id in hot_ids:
        row = db.execute(f"SELECT {COLUMNS} FROM hot WHERE id = ?", (hot_id,)).fetchone()  # noqa: S608
        batch = Batch(*row)
        try:
            whole.append(batch.table)
        except DamagedBatch as error:
            damaged.append(set_aside(folder, hot_id, batch, str(error)))
    return pa.concat_tables(whole), damaged


def set_aside(folder: Path, hot_id: int, batch: Batch, what: str) -> Damage:
    """Keep a damaged batch in the quarantine; the caller records the damage."""
    at_ns = now_ns()
    kept = damage.place(folder, f"batch-{hot_id}.arrows", at_ns)
    damage.keep_bytes(folder, batch.batch, kept)
    told = (batch.kind, batch.min_ns, batch.max_ns, batch.rows)
    return Damage(at_ns, "batch", f"{MANIFEST}, row {hot_id} of `hot`", what, kept, *told)


def write_segments(folder: Path, kind: str, rows: pa.Table) -> list[Segment]:
    """Write rows of a kind as one durable file per UTC month. Raises OSError; leaves nothing then.

    Each file is in the order of time: its row groups prune well.
    """
    column = time_column(kind)
    instants = rows[column].to_numpy()
    if np.any(instants[1:] < instants[:-1]):
        rows = rows.sort_by(column)
        instants = rows[column].to_numpy()
    months, begins = np.unique(instants.astype("M8[ns]").astype("M8[M]"), return_index=True)
    bounds = pairwise([*begins.tolist(), rows.num_rows])
    segments: list[Segment] = []
    try:
        for month, (first, after) in zip(months, bounds, strict=True):
            part = rows.slice(first, after - first)
            segments.append(write_segment(folder, kind, str(month), [part]))
    except BaseException:
        for segment in segments:
            (folder / segment.file).unlink(missing_ok=True)
        raise
    return segments


def write_segment(folder: Path, kind: str, month: str, parts: Iterable[pa.Table]) -> Segment:
    """Write rows of a kind and month, in parts that follow each other in time, as a durable file.

    Raises OSError; leaves nothing then.
    """
    place = folder / f"month={month}"
    if not place.exists():
        place.mkdir(mode=0o700)
        sync_folder(folder)
    final = place / f"{kind}-{uuid4().hex}.parquet"
    aside = final.with_name(f"{final.name}.tmp")
    try:
        with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            span = _write(file, kind, parts)
            file.flush()
            os.fsync(file.fileno())
        size_b, sha256 = aside.stat().st_size, damage.digest(aside)
        aside.rename(final)
        sync_folder(place)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    return Segment(kind, month, str(final.relative_to(folder)), *span, size_b, sha256)


def _write(file: BinaryIO, kind: str, parts: Iterable[pa.Table]) -> tuple[int, int, int]:
    """Returns rows, first and last instant."""
    rows = 0
    bounds: list[int] = []
    with pq.ParquetWriter(
        file, schema(kind), compression="zstd", write_page_checksum=True
    ) as writer:
        for part in parts:
            fit = GROUP_B * part.num_rows // max(1, part.nbytes)
            writer.write_table(part, row_group_size=max(1, min(GROUP_ROWS, fit)))
            found = pc.min_max(part[time_column(kind)]).as_py()
            rows, bounds = rows + part.num_rows, [*bounds, found["min"], found["max"]]
    return rows, min(bounds), max(bounds)
