"""At the start: sealed files that are not as they were written, and files that nobody lists.

An unlisted file is what a crash left before its listing (its rows are still elsewhere), or the
only copy of rows whose listing was lost with a damaged log. Its rows tell which.
"""

import logging
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from collector import damage
from collector.batch import COLUMNS, Batch, DamagedBatch
from collector.clock import now_ns
from collector.columns import schema, time_column
from collector.damage import Damage
from collector.keys import admit, forget_lost
from collector.manifest import sealed, transaction
from collector.seal import Segment, enlist, set_aside, write_segments

log = logging.getLogger(__name__)
VERSION = ["source", "event_id", "revision"]
LISTED = "SELECT id, kind, month, file, rows, min_ns, max_ns, size_b, sha256 FROM segment"


class Listed(NamedTuple):
    """A row of `segment`."""

    id: int
    kind: str
    month: str
    file: str
    rows: int
    min_ns: int
    max_ns: int
    size_b: int | None
    sha256: bytes | None


def repair(folder: Path, db: sqlite3.Connection, doing: Callable[[str], None]) -> None:
    """Put the folder in order; whatever is damaged is kept, recorded and logged.

    `doing` is told what takes time. Raises OSError, sqlite3.Error; what was done until then stays
    done.
    """
    doing("the sealed files are being checked")
    for row in db.execute(LISTED).fetchall():
        segment = Listed(*row)
        if what := glance(folder, segment):
            replace(folder, db, segment, what)
    _set_aside_batches(folder, db)
    query = "SELECT file FROM segment UNION SELECT file FROM retired"
    listed = {folder / file for (file,) in db.execute(query)}
    for file in [file for file in sealed(folder) if file not in listed]:
        if file.suffix == ".parquet":
            doing(f"{file.name}, which is not listed, is being read")
            _take_in(folder, db, file)
        else:
            file.unlink()  # never finished; its rows are elsewhere
    doing("lost rows are being looked for, so that they can be told again")
    forget_lost(folder, db)


def _set_aside_batches(folder: Path, db: sqlite3.Connection) -> None:
    for hot_id, *row in db.execute(f"SELECT id, {COLUMNS} FROM hot").fetchall():  # noqa: S608
        batch = Batch(*row)
        try:
            _ = batch.table
        except DamagedBatch as error:
            found = set_aside(folder, hot_id, batch, str(error))
            with transaction(db):
                db.execute("DELETE FROM hot WHERE id = ?", (hot_id,))
                damage.record(db, found)
                _renew(db)


def glance(folder: Path, segment: Listed) -> str | None:
    """What is wrong with a sealed file, by its size and its footer alone; None if nothing is.

    Raises Unreadable.
    """
    file = folder / segment.file
    try:
        size_b = file.stat().st_size
        if segment.size_b not in (None, size_b):
            return f"it has {size_b:,} bytes instead of {segment.size_b:,}"
        return _misfit(pq.read_metadata(file), segment)
    except damage.FAILURES as error:
        return damage.flaw(file, error, segment.sha256)


def _misfit(footer: pq.FileMetaData, segment: Listed) -> str | None:
    """Where the footer differs from the listing."""
    if footer.num_rows != segment.rows:
        return f"its footer tells {footer.num_rows:,} rows instead of {segment.rows:,}"
    at = footer.schema.names.index(time_column(segment.kind))
    told = [footer.row_group(n).column(at).statistics for n in range(footer.num_row_groups)]
    if (min(t.min for t in told), max(t.max for t in told)) != (segment.min_ns, segment.max_ns):
        return "its footer tells another span of time"
    return None


def replace(folder: Path, db: sqlite3.Connection, segment: Listed, what: str) -> None:
    """Take a damaged segment out, with what can still be read of it in its place.

    Raises OSError, sqlite3.Error; nothing has changed then.
    """
    file, at_ns = folder / segment.file, now_ns()
    whole = damage.readable(file)
    fresh = [] if whole is None else _written(folder, segment.kind, whole)
    kept = damage.place(folder, file.name, at_ns) if file.exists() else None
    lost = max(0, segment.rows - sum(each.rows for each in fresh))
    span = (segment.min_ns, segment.max_ns, lost)
    with transaction(db):
        db.execute("DELETE FROM segment WHERE id = ?", (segment.id,))
        enlist(db, fresh)
        damage.record(db, Damage(at_ns, "segment", segment.file, what, kept, segment.kind, *span))
        _renew(db)
    if kept:
        damage.keep(folder, segment.file, kept)


def _written(folder: Path, kind: str, rows: pa.Table) -> list[Segment]:
    try:
        return write_segments(folder, kind, rows.select(schema(kind).names))
    except (KeyError, ValueError, pa.ArrowException):
        return []  # readable, but no rows of this kind


def _take_in(folder: Path, db: sqlite3.Connection, file: Path) -> None:
    """List those rows of an unlisted file that are nowhere else; then the file can go."""
    kind, name = file.name.partition("-")[0], str(file.relative_to(folder))
    what, rows = damage.verify(file, None), damage.readable(file)
    try:
        fresh = [] if rows is None else _taken(folder, db, file, rows, what)
    except (KeyError, TypeError, ValueError, pa.ArrowException) as error:
        fresh, what = [], f"its rows are no events of kind {kind} ({error})"
    if what is not None:
        found = _unlisted(folder, file, kind, what)
        with transaction(db):
            damage.record(db, found)
        damage.keep(folder, name, str(found.kept))
    elif not any(segment.file == name for segment in fresh):
        file.unlink()
    if fresh:
        log.warning("%s was not listed; its rows that were nowhere else are taken in", name)


def _taken(
    folder: Path, db: sqlite3.Connection, file: Path, rows: pa.Table, what: str | None
) -> list[Segment]:
    kind = file.name.partition("-")[0]
    with transaction(db):
        lacking = _lacking(folder, db, kind, rows.select(schema(kind).names))
        wanted = admit(db, kind, lacking, lacking=True)
        fresh = _as_segments(folder, kind, file, wanted, what)
        enlist(db, fresh)
        if fresh:
            _renew(db)
    return fresh


def _as_segments(
    folder: Path, kind: str, file: Path, rows: pa.Table, what: str | None
) -> list[Segment]:
    """The file itself where it is whole and all of its rows are wanted, else a new one."""
    if not rows.num_rows:
        return []
    if what is None and rows.num_rows == pq.read_metadata(file).num_rows:
        return [segment_of(folder, kind, file, rows)]
    return write_segments(folder, kind, rows)


def segment_of(folder: Path, kind: str, file: Path, rows: pa.Table) -> Segment:
    """A file as it is to be listed."""
    bounds = pc.min_max(rows[time_column(kind)]).as_py()
    return Segment(
        kind,
        file.parent.name.removeprefix("month="),
        str(file.relative_to(folder)),
        rows.num_rows,
        bounds["min"],
        bounds["max"],
        file.stat().st_size,
        damage.digest(file),
    )


def _unlisted(folder: Path, file: Path, kind: str, what: str) -> Damage:
    at_ns = now_ns()
    kept = damage.place(folder, file.name, at_ns)
    span = damage.month_bounds(file.parent.name.removeprefix("month="))
    return Damage(at_ns, "segment", str(file.relative_to(folder)), what, kept, kind, *span)


def _lacking(folder: Path, db: sqlite3.Connection, kind: str, rows: pa.Table) -> pa.Table:
    """The rows that neither a listed file nor a hot batch holds."""
    bounds = pc.min_max(rows[time_column(kind)]).as_py()
    span = (kind, bounds["min"], bounds["max"])
    near = "WHERE kind = ? AND max_ns >= ? AND min_ns <= ?"
    for row in db.execute(f"{LISTED} {near}", span).fetchall():
        segment = Listed(*row)
        table = damage.readable(folder / segment.file, VERSION)
        rows = rows if table is None else _without(rows, table)
    for row in db.execute(f"SELECT {COLUMNS} FROM hot {near}", span).fetchall():  # noqa: S608
        try:
            rows = _without(rows, Batch(*row).table.select(VERSION))
        except DamagedBatch:
            continue
    return rows


def _without(rows: pa.Table, others: pa.Table) -> pa.Table:
    gone = set(zip(*(others[name].to_pylist() for name in VERSION), strict=True))
    mine = zip(*(rows[name].to_pylist() for name in VERSION), strict=True)
    return rows.filter(pa.array([version not in gone for version in mine], pa.bool_()))


def _renew(db: sqlite3.Connection) -> None:
    """What was derived from this ledger's rows is to be derived anew."""
    db.execute("UPDATE born SET id = randomblob(16)")
