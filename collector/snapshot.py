"""The reader's side of the store: one consistent picture, taken while the writer writes."""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from collector import damage
from collector.batch import COLUMNS, COLUMNS_BEFORE_CRC, CRC_SINCE_VERSION, Batch, DamagedBatch
from collector.clock import now_ns
from collector.columns import schema
from collector.damage import Damage
from collector.manifest import MANIFEST, LedgerError
from collector.migrations import require_known

DROPPED_SINCE_VERSION = 4
SUPERSEDED = pa.schema(
    [
        pa.field("source", pa.string(), False),
        pa.field("event_id", pa.string(), False),
        pa.field("revision", pa.int64(), False),
    ]
)


@dataclass(frozen=True)
class Snapshot:
    """Sealed files and hot rows of one kind at one instant, no row in both.

    Files and hot rows may hold rows outside the asked range; the reader filters. Rows listed in
    `superseded` (source, event_id, revision) have been replaced and must be left out. Hot rows
    that cannot be read are left out and told in `damaged`.
    """

    files: list[Path]
    hot: pa.Table
    superseded: pa.Table
    damaged: list[Damage] = field(default_factory=list)


def snapshot(path: Path, kind: str, from_ns: int, to_ns: int) -> Snapshot:
    """What the ledger at `path` holds of a kind between two instants (ns, half open).

    Works in any process, at any time; never waits for the writer. Raises FileNotFoundError where
    no ledger lies, SchemaTooNew, LedgerError.
    """
    return snapshots(path, [kind], from_ns, to_ns)[kind]


def snapshots(path: Path, kinds: Iterable[str], from_ns: int, to_ns: int) -> dict[str, Snapshot]:
    """Like `snapshot`, of several kinds at one and the same instant."""
    schemas = {kind: schema(kind) for kind in kinds}  # an unknown kind is the caller's mistake
    with reading(path) as db:
        version = require_known(db, path / MANIFEST)
        if version == 0:
            none = _superseded([])
            return {
                kind: Snapshot([], pa.Table.from_batches([], each), none)
                for kind, each in schemas.items()
            }
        hot = COLUMNS if version >= CRC_SINCE_VERSION else COLUMNS_BEFORE_CRC
        present = "dropped = 0" if version >= DROPPED_SINCE_VERSION else "true"
        return {kind: _held(db, path, (kind, from_ns, to_ns), hot, present) for kind in schemas}


def first_ns(path: Path, kinds: Iterable[str]) -> int | None:
    """The earliest instant that a row of these kinds is placed at; None where there is no row.

    Raises FileNotFoundError, SchemaTooNew, LedgerError.
    """
    wanted = list(kinds)
    marks = ",".join("?" * len(wanted))
    with reading(path) as db:
        if require_known(db, path / MANIFEST) == 0:
            return None
        found = [
            db.execute(f"SELECT min(min_ns) FROM {table} WHERE kind IN ({marks})", wanted)  # noqa: S608
            for table in ("segment", "hot")
        ]
        told = [first for ((first,),) in found if first is not None]
    return min(told, default=None)


def damaged(path: Path) -> list[Damage]:
    """What was ever found damaged in the ledger at `path`, oldest first: rows that no reading has.

    Raises FileNotFoundError, SchemaTooNew, LedgerError.
    """
    with reading(path) as db:
        if require_known(db, path / MANIFEST) < damage.SINCE_VERSION:
            return []
        return damage.recorded(db)


def _held(
    db: sqlite3.Connection, path: Path, span: tuple[str, int, int], hot: str, present: str
) -> Snapshot:
    kind = span[0]
    files = db.execute(
        "SELECT file FROM segment WHERE kind = ? AND max_ns >= ? AND min_ns < ?"
        " ORDER BY min_ns, id",
        span,
    ).fetchall()
    rows = db.execute(
        f"SELECT {hot} FROM hot WHERE kind = ? AND max_ns >= ? AND min_ns < ? ORDER BY id",  # noqa: S608
        span,
    ).fetchall()
    replaced = db.execute(
        f"SELECT source, event_id, revision FROM superseded WHERE kind = ? AND {present}",  # noqa: S608
        (kind,),
    ).fetchall()
    tables, flaws = [pa.Table.from_batches([], schema(kind))], []
    for row in rows:
        batch = Batch(*row)
        try:
            tables.append(batch.table)
        except DamagedBatch as error:
            told = (None, kind, batch.min_ns, batch.max_ns, batch.rows)
            flaws.append(Damage(now_ns(), "batch", MANIFEST, str(error), *told))
    return Snapshot(
        [path / name for (name,) in files], pa.concat_tables(tables), _superseded(replaced), flaws
    )


def _superseded(rows: list[tuple[str, str, int]]) -> pa.Table:
    if not rows:
        # pa.array looks for pandas, whose import alone takes longer than most queries.
        return pa.Table.from_batches([], SUPERSEDED)
    return pa.table([list(column) for column in zip(*rows, strict=True)], schema=SUPERSEDED)


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """One read transaction: every statement in it sees the same commit."""
    file = path / MANIFEST
    if not file.exists():
        raise FileNotFoundError(
            f"{path} holds no ledger ({MANIFEST} is missing):"
            " start `rigledger collect` once, or set store.path"
        )
    uri = f"{file.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True, timeout=10, isolation_level=None)) as db:
            db.execute("BEGIN")
            yield db
    except sqlite3.Error as error:
        raise LedgerError(
            f"{file} cannot be read ({error}): check that this user may read and write {path}"
        ) from error
