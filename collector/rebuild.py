"""A manifest that cannot be trusted is built anew from what the ledger still holds.

Sealed rows tell their own keys and digests; hot rows are read out of the damaged file as far as
SQLite can. The new manifest is made aside and put in place when it is whole, so that a crash
meanwhile costs nothing but time.
"""

import logging
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from collector import damage, salvage
from collector.batch import COLUMNS as HOT
from collector.batch import DamagedBatch, batch_of
from collector.clock import now_ns
from collector.damage import Damage
from collector.files import sync_folder
from collector.keys import admit
from collector.manifest import MANIFEST, sealed, transaction
from collector.migrations import migrate, version
from collector.repair import segment_of
from collector.seal import enlist, set_aside, write_segments
from collector.wal import HEADER_BYTES, lost_commits

log = logging.getLogger(__name__)
BUILDING = "manifest.building"
BUILT = "manifest.built"
SIDES = ("-wal", "-shm")
CORRUPT = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def if_needed(folder: Path, doing: Callable[[str], None]) -> None:
    """Build the manifest anew where it is missing or damaged while something of it is left.

    Only the folder's writer may call it; `doing` is told what takes time. Raises OSError,
    sqlite3.Error.
    """
    doing(f"{MANIFEST} is being checked")
    _finish(folder)
    what = untrusted(folder)
    if what is not None:
        log.error("%s: %s; it is built anew", folder / MANIFEST, what)
        _build(folder, what, doing)
        _finish(folder)


def untrusted(folder: Path) -> str | None:
    """Why the manifest cannot be used as it is; None where it can, or where nothing is yet.

    Raises OSError, sqlite3.Error for what is no damage: rights, space, a lock.
    """
    path, wal = folder / MANIFEST, folder / f"{MANIFEST}-wal"
    if not path.exists() or path.stat().st_size == 0:
        # Asked now: SQLite would throw the log of an empty file away.
        logged = wal.exists() and wal.stat().st_size > HEADER_BYTES
        return "it is missing" if logged or any(sealed(folder)) else None
    try:
        # Read-only, so that closing does not write the log back before it has been judged.
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            if version(db) == 0 and any(sealed(folder)):
                return "it is empty"
            (verdict,) = db.execute("PRAGMA quick_check(1)").fetchone()
            if verdict != "ok":
                return " ".join(str(verdict).split())
            lost = lost_commits(path)
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF not in CORRUPT:
            raise
        return str(error)
    return f"the last {lost} commits of its log cannot be read" if lost else None


def _build(folder: Path, what: str, doing: Callable[[str], None]) -> None:
    for name in (BUILDING, *(f"{BUILDING}{side}" for side in ("-journal", *SIDES))):
        (folder / name).unlink(missing_ok=True)
    path = folder / BUILDING
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA synchronous = OFF")  # made durable as a whole, below
        db.execute("PRAGMA cache_size = -65536")
        migrate(db, path)
        db.execute("INSERT INTO sqlite_sequence VALUES ('hot', 1)")
        _list_all(folder, db, doing)
        doing(f"what can still be read of the former {MANIFEST} is being read")
        _recover(folder, db, what)
    with path.open("rb") as built:
        os.fsync(built.fileno())
    path.rename(folder / BUILT)
    sync_folder(folder)


def _finish(folder: Path) -> None:
    """Put a finished manifest in place; what it replaces goes to the quarantine."""
    if not (folder / BUILT).exists():
        return
    with closing(sqlite3.connect(folder / BUILT)) as db:
        found = damage.recorded(db)
    for each in found:
        if each.part == "segment" and each.kept is not None:
            damage.keep(folder, each.file, each.kept)
    kept = next((d.kept for d in reversed(found) if d.part in ("manifest", "log")), None)
    for side in ("", *SIDES):
        if kept is not None and side != "-shm" and (folder / f"{MANIFEST}{side}").exists():
            damage.keep(folder, f"{MANIFEST}{side}", f"{kept}{side}")
        (folder / f"{MANIFEST}{side}").unlink(missing_ok=True)
    (folder / BUILT).rename(folder / MANIFEST)
    sync_folder(folder)


def _list_all(folder: Path, db: sqlite3.Connection, doing: Callable[[str], None]) -> None:
    sizes_b = {file: file.stat().st_size for file in sealed(folder)}
    whole_b, read_b = sum(sizes_b.values()), 0
    for number, file in enumerate(sorted(sizes_b, key=lambda file: -sizes_b[file])):
        done = f"{100 * read_b // max(1, whole_b)} %, {number:,} of {len(sizes_b):,} sealed files"
        doing(f"{MANIFEST} is built anew: {done} have been read")
        if file.suffix == ".parquet":
            _list(folder, db, file)
        else:
            file.unlink()
        read_b += sizes_b[file]


def _list(folder: Path, db: sqlite3.Connection, file: Path) -> None:
    """List a sealed file, or what is whole and new in it; the larger copy of rows came before."""
    kind, name = file.name.partition("-")[0], str(file.relative_to(folder))
    what, rows = damage.verify(file, None), damage.readable(file)
    with transaction(db):
        try:
            if rows is not None:
                fresh = admit(db, kind, rows, lacking=False)
                if what is None and fresh.num_rows == rows.num_rows:
                    enlist(db, [segment_of(folder, kind, file, rows)])
                    return
                enlist(db, write_segments(folder, kind, fresh))
        except (KeyError, TypeError, ValueError, pa.ArrowException) as error:
            what = f"its rows are no events of kind {kind} ({error})"
        if what is None:
            return  # its rows are known from another file; the next start removes it
        at_ns = now_ns()
        kept = damage.place(folder, file.name, at_ns)
        span = damage.month_bounds(file.parent.name.removeprefix("month="))
        # It stays where it is until all is built: what is told of it would be lost with a crash.
        damage.record(db, Damage(at_ns, "segment", name, what, kept, kind, *span))


def _recover(folder: Path, db: sqlite3.Connection, what: str) -> None:
    """Everything that SQLite can still read in the damaged manifest, and the tale of its loss."""
    copy = folder / "manifest.copy"
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir(mode=0o700)
    try:
        found = salvage.salvage(folder, copy)
    finally:
        shutil.rmtree(copy)
    with transaction(db):
        for old in found.damage:
            damage.record(db, old, again=True)
        for hot_id, batch in found.hot:
            try:
                rows = admit(db, batch.kind, batch.table, lacking=False)
            except (KeyError, ValueError, DamagedBatch) as error:
                damage.record(db, set_aside(folder, hot_id, batch, str(error)))
                continue
            if rows.num_rows:
                db.execute(
                    f"INSERT INTO hot ({HOT}) VALUES (?, ?, ?, ?, ?, ?)",  # noqa: S608
                    batch_of(batch.kind, rows),
                )
        lost = salvage.counters_and_replaced(db, found)
        at_ns = now_ns()
        there = (folder / MANIFEST).exists() or (folder / f"{MANIFEST}-wal").exists()
        kept = damage.place(folder, MANIFEST, at_ns) if there else None
        part = "log" if "its log" in what else "manifest"
        told = Damage(at_ns, part, MANIFEST, what, kept)
        damage.record(db, replace(told, rows=lost))
