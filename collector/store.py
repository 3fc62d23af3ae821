"""The ledger's writer: append and acknowledge, then seal.

An append is one group commit over all kinds: Arrow batches and idempotency keys in the same
SQLite transaction, durable when it returns. Readers use `collector.snapshot`.
"""

import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from collector import compact, conflicts, manifest, rebuild, repair, reserve, retention
from collector.damage import Unreadable
from collector.events import Event
from collector.parcel import Parcel, pack
from collector.plan import plan, write
from collector.progress import Progress
from collector.repair import Listed
from collector.seal import Segment, record, rounds

log = logging.getLogger(__name__)


class StoreUnavailable(RuntimeError):
    """Nothing was kept or changed: the disk is full, SQLite failed, or a file cannot be read. The
    same call may be tried again."""


@dataclass(frozen=True)
class Receipt:
    """What became of an append, by index into its events; all else was accepted."""

    accepted: int
    duplicate_at: list[int]
    conflicts: list[int]

    @property
    def duplicates(self) -> int:
        """Events that the ledger already had, with the same content."""
        return len(self.duplicate_at)


class Store:
    """The one writer of a ledger folder. Safe to use from several threads.

    Whatever is damaged in the folder is put in order first: it is kept in `quarantine/`, recorded
    and logged. Raises LedgerError where the folder or a file of it cannot be used or another
    process writes it, and SchemaTooNew where a newer version of the program wrote it.
    """

    def __init__(
        self,
        path: Path,
        *,
        seal_rows: int = 50_000,
        seal_batches: int = 2_000,
        compact_files: int = compact.SMALL_FILES,
    ) -> None:
        self.path = path
        self.seal_rows = seal_rows
        self.seal_batches = seal_batches
        self.compact_files = compact_files
        self._lock = threading.Lock()
        self._sealing = threading.Lock()
        manifest.make_folder(path)
        try:
            self._descriptor = manifest.lock(path)
        except OSError as error:
            raise self._unusable(error) from error
        try:
            with Progress(path) as progress:
                self._db = self._opened(progress.doing)
        except BaseException as error:
            os.close(self._descriptor)
            if isinstance(error, sqlite3.Error | OSError):
                raise self._unusable(error) from error
            raise
        self.hot_rows, self.hot_batches = self._count_hot()
        self._starved = False
        self._forgotten: retention.Aged | None = None
        reserve.keep(path)

    def _opened(self, doing: Callable[[str], None]) -> sqlite3.Connection:
        """The manifest, whole and in keeping with the files."""
        rebuild.if_needed(self.path, doing)
        db = manifest.open_manifest(self.path)
        try:
            repair.repair(self.path, db, doing)
        except BaseException:
            db.close()
            raise
        return db

    def append(self, events: Sequence[Event]) -> Receipt:
        """Keep the events as `keep` does.

        Raises StoreUnavailable, and ValueError for an event that cannot be stored; nothing was
        kept then.
        """
        return self.keep(pack(events))

    def keep(self, parcel: Parcel) -> Receipt:
        """Keep the events; on return they are durable, and told twice they count once.

        Raises StoreUnavailable when nothing could be kept.
        """
        if not parcel:
            return Receipt(0, [], [])
        try:
            with self._lock:
                told = plan(self._db, parcel)
                fresh = parcel.rows(told.fresh)
                with manifest.transaction(self._db) as db:
                    write(db, fresh, told, parcel.marks)
                    conflicts.count(db, parcel.rows(told.conflicts))
                self.hot_rows += len(told.fresh)
                self.hot_batches += len(fresh)
        except sqlite3.Error as error:
            self._starved = reserve.is_full(error)
            raise self._unavailable(error) from error
        return Receipt(len(told.fresh), told.duplicate_at, told.conflicts)

    @property
    def seal_due(self) -> bool:
        """Whether readers would gain from a seal, or appends on a full disk."""
        full = self._starved and self.hot_rows > 0
        return full or self.hot_rows >= self.seal_rows or self.hot_batches >= self.seal_batches

    def seal(self) -> int:
        """Move what is hot now into Parquet; returns the rows moved. Appends go on meanwhile.

        On a full disk it takes the reserve for it. Raises StoreUnavailable; the rows are then
        still hot and nothing is lost.
        """
        with self._sealing:
            try:
                moved = self._seal()
            except (sqlite3.Error, OSError) as error:
                if not (reserve.is_full(error) and reserve.release(self.path)):
                    raise self._unavailable(error) from error
                log.warning("%s: the disk is full; sealing with the reserve", self.path)
                moved = self._seal_on_full_disk()
            self._starved = False
            reserve.keep(self.path)
            return moved

    def _seal(self) -> int:
        moved = 0
        for written in rounds(self.path):
            with self._lock, self._listing(written.segments) as db:
                record(db, written)
                self.hot_rows, self.hot_batches = self._count_hot()
            moved += written.rows
        return moved

    def _seal_on_full_disk(self) -> int:
        try:
            moved = self._seal()
            with self._lock:  # the log's room is more use than the log
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except (sqlite3.Error, OSError) as error:
            raise self._unavailable(error) from error
        return moved

    def compact(self) -> int:
        """Merge small sealed files into larger ones; returns how many files went into others.

        Appends go on meanwhile. Raises StoreUnavailable; nothing has changed then.
        """
        with self._sealing:
            try:
                with self._lock:
                    groups = list(compact.groups(compact.listed(self._db), self.compact_files))
                return sum(map(self._merge, groups))
            except (sqlite3.Error, OSError) as error:
                raise self._unavailable(error) from error

    def _merge(self, group: list[Listed]) -> int:
        flaws = compact.flaws(self.path, group)
        with self._lock:
            for segment, what in flaws:
                repair.replace(self.path, self._db, segment, what)
            if flaws:
                return 0  # what is left of them is merged another time
            replaced = compact.replaced_versions(self._db, group[0].kind)
        merged, dropped = compact.merge(self.path, group, replaced)
        with self._lock, self._listing(merged) as db:
            compact.record(db, group, merged, dropped)
        return len(group)

    @contextmanager
    def _listing(self, segments: list[Segment]) -> Iterator[sqlite3.Connection]:
        """A transaction that lists new files; where there is no room for it they are removed.

        After any other failure the log may hold it all the same: then the files stay, and the
        next start finds out.
        """
        try:
            with manifest.transaction(self._db) as db:
                yield db
        except sqlite3.Error as error:
            if reserve.is_full(error):
                for segment in segments:
                    (self.path / segment.file).unlink(missing_ok=True)
            raise

    def bury(self, before_ns: int) -> int:
        """Delete files that were merged into others before an instant; returns how many.

        Raises StoreUnavailable; what was not deleted is tried again next time.
        """
        with self._sealing:
            try:
                with self._lock:
                    files = compact.due(self._db, before_ns)
                for file in files:
                    (self.path / file).unlink(missing_ok=True)
                with self._lock, manifest.transaction(self._db) as db:
                    done = [(file,) for file in files]
                    db.executemany("DELETE FROM retired WHERE file = ?", done)
            except (sqlite3.Error, OSError) as error:
                raise self._unavailable(error) from error
            return len(files)

    def forget_keys(self, now_ns: int) -> int:
        """Drop idempotency keys older than `retention` keeps them; returns how many.

        Raises StoreUnavailable; the rest is dropped next time.
        """
        gone = 0
        with self._sealing:
            try:
                months = retention.aged(self.path, now_ns)
                if months == self._forgotten:
                    return 0
                for after, up_to in list(retention.stretches(self.path, months)):
                    with self._lock, manifest.transaction(self._db) as db:
                        gone += retention.forget(db, after, up_to, months)
                if gone:
                    with self._lock, manifest.transaction(self._db) as db:
                        retention.forget_replaced(db)
            except sqlite3.Error as error:
                raise self._unavailable(error) from error
            self._forgotten = months
        return gone

    def counters(self) -> dict[tuple[str, str], int]:
        """Events ever told, by (accepted | duplicate | conflict, kind)."""
        with self._lock:
            rows = self._db.execute("SELECT name, kind, sum(value) FROM counter GROUP BY 1, 2")
            return {(name, kind): value for name, kind, value in rows}

    def segments(self) -> int:
        """Sealed files that count."""
        with self._lock:
            (count,) = self._db.execute("SELECT count(*) FROM segment").fetchone()
            return int(count)

    def damage(self) -> dict[str, int]:
        """How often something was found damaged, ever, by part of the ledger."""
        with self._lock:
            return dict(self._db.execute("SELECT part, count(*) FROM damage GROUP BY part"))

    def close(self) -> None:
        """Give the folder back; waits for an append or seal under way."""
        with self._sealing, self._lock:
            self._db.close()
            os.close(self._descriptor)

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _count_hot(self) -> tuple[int, int]:
        query = "SELECT coalesce(sum(rows), 0), count(*) FROM hot"
        rows, batches = self._db.execute(query).fetchone()
        return rows, batches

    def _unusable(self, error: Exception) -> manifest.LedgerError:
        if isinstance(error, Unreadable):
            return manifest.LedgerError(str(error))
        return manifest.LedgerError(
            f"{self.path} cannot be used ({error}): check disk space and rights"
        )

    def _unavailable(self, error: Exception) -> StoreUnavailable:
        if isinstance(error, Unreadable):
            return StoreUnavailable(f"{error}; nothing was changed")
        return StoreUnavailable(
            f"{self.path} cannot be written ({error}): free disk space or check the disk;"
            " nothing was kept, send it again"
        )
