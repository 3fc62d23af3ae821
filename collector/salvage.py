"""Reading what a damaged manifest still tells, row by row, from a copy of it."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from collector.batch import COLUMNS, COLUMNS_BEFORE_CRC, Batch
from collector.damage import COLUMNS as DAMAGE
from collector.damage import Damage
from collector.manifest import MANIFEST
from collector.migrations import migrate, version
from collector.wal import PAGE_BYTES

ONE_BY_ONE = 100_000  # ids between two readable stretches that are tried singly


@dataclass
class Salvage:
    """What could be read; `whole` names the tables that were read to their end."""

    hot: list[tuple[int, Batch]] = field(default_factory=list)
    counters: list[tuple[str, str, int, int]] = field(default_factory=list)
    conflicts: list[tuple[str, int, int]] = field(default_factory=list)
    replaced: list[tuple[str, str, int, str, bytes]] = field(default_factory=list)
    damage: list[Damage] = field(default_factory=list)
    whole: set[str] = field(default_factory=set)


def salvage(folder: Path, copy: Path) -> Salvage:
    """Read the manifest of `folder` by way of a copy in the empty folder `copy`."""
    found = Salvage()
    with _opened(folder, copy) as db:
        if db is None:
            return found
        for columns in (COLUMNS, COLUMNS_BEFORE_CRC):
            rows, whole = _by_id(db, "hot", columns)
            if rows or whole:
                found.hot = [(row[0], Batch(*row[1:])) for row in rows]
                break
        found.whole |= {"hot"} if whole else set()
        columns = "source, event_id, revision, kind, digest"
        for table, wanted, into in (
            ("counter", "name, kind, month, value", found.counters),
            ("conflict", "kind, quarter_ns, number", found.conflicts),
            ("superseded", columns, found.replaced),
        ):
            if _both_ways(db, table, wanted, into):
                found.whole.add(table)
        rows, _ = _by_id(db, "damage", DAMAGE)
        found.damage = [Damage(*row[1:]) for row in rows]
    return found


def counters_and_replaced(db: sqlite3.Connection, found: Salvage) -> int | None:
    """Carry over counts and replaced versions; returns the rows lost (None: unknown how many)."""
    db.executemany(
        "INSERT OR IGNORE INTO superseded (source, event_id, revision, kind, digest)"
        " VALUES (?, ?, ?, ?, ?)",
        found.replaced,
    )
    db.executemany("INSERT OR IGNORE INTO conflict VALUES (?, ?, ?)", found.conflicts)
    (there,) = db.execute(
        "SELECT (SELECT coalesce(sum(rows), 0) FROM hot)"
        " + (SELECT coalesce(sum(rows), 0) FROM segment)"
    ).fetchone()
    if "counter" not in found.whole:
        db.execute(
            "INSERT INTO counter SELECT 'accepted', kind, month, count(*) FROM event_key"
            " GROUP BY kind, month"
        )
        return 0 if "hot" in found.whole else None
    db.executemany("INSERT INTO counter VALUES (?, ?, ?, ?)", found.counters)
    if "hot" in found.whole:
        return 0
    (unknown, elsewhere) = db.execute(
        "SELECT count(*) - count(rows), coalesce(sum(rows), 0) FROM damage"
    ).fetchone()
    if unknown:
        return None
    accepted = sum(value for name, _, _, value in found.counters if name == "accepted")
    return max(0, int(accepted) - int(there) - int(elsewhere))


@contextmanager
def _opened(folder: Path, copy: Path) -> Iterator[sqlite3.Connection | None]:
    """The copy, opened; None where SQLite cannot even begin."""
    main, wal = copy / MANIFEST, copy / f"{MANIFEST}-wal"
    for file in (main, wal):
        if (folder / file.name).exists():
            shutil.copyfile(folder / file.name, file)
    if wal.exists() and (not main.exists() or main.stat().st_size < PAGE_BYTES):
        # Pages that are only in the log are found there once the file is not empty.
        main.write_bytes(bytes(PAGE_BYTES))
    if not main.exists():
        yield None
        return
    if not _begins(main):
        _graft(copy, main)
    with closing(sqlite3.connect(main, isolation_level=None)) as db:
        db.execute("PRAGMA cell_size_check = ON")
        yield db


def _begins(main: Path) -> bool:
    """Whether SQLite finds the tables at all."""
    try:
        with closing(sqlite3.connect(f"{main.absolute().as_uri()}?mode=ro", uri=True)) as db:
            return version(db) > 0
    except sqlite3.DatabaseError:
        return False


def _graft(copy: Path, main: Path) -> None:
    """Put an empty manifest's first page, which tells where each table begins, on the copy.

    Tables begin at the same pages in every manifest, as the same steps have laid it out.
    """
    fresh = copy / "fresh.sqlite"
    with closing(sqlite3.connect(fresh, isolation_level=None)) as db:
        migrate(db, fresh)
    page = bytearray(fresh.read_bytes()[:PAGE_BYTES])
    page[18:20] = b"\x02\x02"  # with a write-ahead log
    page[28:32] = (main.stat().st_size // PAGE_BYTES).to_bytes(4, "big")
    page[32:40] = bytes(8)  # no free pages: it is only read
    with main.open("r+b") as out:
        out.write(page)


def _by_id(db: sqlite3.Connection, table: str, columns: str) -> tuple[list[tuple[Any, ...]], bool]:
    """(id, columns...) of every row that can be reached from either end or by its id."""
    found: dict[int, tuple[Any, ...]] = {}
    ends: list[int] = []
    for order in ("ASC", "DESC"):
        last = None
        try:
            query = f"SELECT id, {columns} FROM {table} ORDER BY id {order}"  # noqa: S608
            for row in db.execute(query):
                last = row[0]
                if last in found:
                    break
                found[last] = row
            else:
                if order == "ASC":
                    return list(found.values()), True
        except sqlite3.DatabaseError:
            pass
        ends.append(last if last is not None else 0)
    low, high = min(ends), max(ends)
    for row_id in range(low + 1, min(high, low + ONE_BY_ONE)):
        if row_id not in found:
            try:
                query = f"SELECT id, {columns} FROM {table} WHERE id = ?"  # noqa: S608
                found.update({row[0]: row for row in db.execute(query, (row_id,))})
            except sqlite3.DatabaseError:
                continue
    return [found[row_id] for row_id in sorted(found)], False


def _both_ways(db: sqlite3.Connection, table: str, columns: str, into: list[Any]) -> bool:
    """Read a table from both ends of its key until damage is met; whether none was."""
    seen: dict[tuple[Any, ...], None] = {}
    whole = False
    for order in ("ASC", "DESC"):
        try:
            ways = ", ".join(f"{name} {order}" for name in columns.split(", ")[:3])
            for row in db.execute(f"SELECT {columns} FROM {table} ORDER BY {ways}"):  # noqa: S608
                if row in seen and order == "DESC":
                    break
                seen[row] = None
            else:
                whole = whole or order == "ASC"
        except sqlite3.DatabaseError:
            continue
    into.extend(seen)
    return whole
