"""Damaged files: how they are noticed, kept for a look, recorded and told.

What is damaged is moved to `quarantine/` inside the ledger, never deleted. Damaged is what has
other content than was written, or is missing; a file that cannot be read for want of rights,
descriptors, memory or a working disk may be whole, and is left alone (`Unreadable`).
"""

import errno
import hashlib
import logging
import os
import sqlite3
from dataclasses import astuple, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from collector.clock import from_ns, now_ns
from collector.files import sync_folder

log = logging.getLogger(__name__)
QUARANTINE = "quarantine"
SINCE_VERSION = 3
PARTS = ("manifest", "log", "batch", "segment")
# What the system says of a file that is not there, or of something else in its place; a library
# that stumbles over the content gives no number at all.
TELLING = {None, errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP}
FAILURES = (OSError, ValueError, AttributeError, MemoryError, pa.ArrowException)
RIGHTS = "give the user who runs this the right to read it"
FILES = "allow more open files (`ulimit -n`)"
REMEDIES = {
    errno.EACCES: RIGHTS,
    errno.EPERM: RIGHTS,
    errno.EMFILE: FILES,
    errno.ENFILE: FILES,
    errno.ENOMEM: "free memory",
}
DISK = "check the disk; a file that is lost for good counts as damaged once it is moved away"


class Unreadable(OSError):
    """A file cannot be read, which tells nothing of its content; its text is one sentence."""

    def __str__(self) -> str:
        remedy = REMEDIES.get(self.errno or 0, DISK)
        return f"{self.filename} cannot be read ({self.strerror}): {remedy}"


@dataclass(frozen=True)
class Damage:
    """One thing found damaged, and what it cost.

    `part` is manifest, log, batch or segment; `file` and `kept` (where it lies now, None where
    nothing was left) are relative to the ledger. What it held lay between `min_ns` and `max_ns`;
    `rows` were lost. None: unknown.
    """

    at_ns: int
    part: str
    file: str
    what: str
    kept: str | None = None
    kind: str | None = None
    min_ns: int | None = None
    max_ns: int | None = None
    rows: int | None = None

    def concerns(self, from_ns: int, to_ns: int) -> bool:
        """Whether rows between two instants (half open) are lost, or may be."""
        if self.rows == 0 or self.min_ns is None or self.max_ns is None:
            return self.rows != 0
        return self.min_ns < to_ns and self.max_ns >= from_ns

    def __str__(self) -> str:
        lost = "an unknown number of" if self.rows is None else f"{self.rows:,}"
        rows = f"{lost} {self.kind or 'event'} rows are lost" if self.rows != 0 else "nothing lost"
        kept = f"; the damaged file is kept as {self.kept}" if self.kept else ""
        return f"{self.file} is damaged ({self.what}): {rows}{kept}"


COLUMNS = ", ".join(field.name for field in fields(Damage))


def record(db: sqlite3.Connection, found: Damage, *, again: bool = False) -> None:
    """Write it down, inside the caller's transaction, and say so unless it was said `again`."""
    marks = ", ".join("?" * len(fields(Damage)))
    db.execute(
        f"INSERT INTO damage ({COLUMNS}, retold) VALUES ({marks}, ?)",  # noqa: S608
        (*astuple(found), found.rows == 0),
    )
    if not again:
        log.error("%s", found)


def recorded(db: sqlite3.Connection) -> list[Damage]:
    """Everything written down, oldest first."""
    return [Damage(*row) for row in db.execute(f"SELECT {COLUMNS} FROM damage ORDER BY id")]  # noqa: S608


def place(folder: Path, name: str, at_ns: int | None = None) -> str:
    """A free name in the quarantine for something called `name`, relative to the ledger."""
    quarantine = folder / QUARANTINE
    quarantine.mkdir(mode=0o700, exist_ok=True)
    stamp = f"{from_ns(at_ns or now_ns()).astimezone(UTC):%Y%m%dT%H%M%S%f}"
    return f"{QUARANTINE}/{stamp}-{name}"


def keep(folder: Path, name: str, kept: str) -> None:
    """Move a damaged file to its place in the quarantine."""
    if (folder / name).exists():
        (folder / name).rename(folder / kept)
        sync_folder((folder / name).parent)
        sync_folder(folder / QUARANTINE)


def keep_bytes(folder: Path, content: bytes, kept: str) -> None:
    """Put damaged content in the quarantine."""
    file = folder / kept
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())
    sync_folder(folder / QUARANTINE)


def verify(file: Path, sha256: bytes | None) -> str | None:
    """What is wrong with a sealed file, every byte of it considered; None if nothing is.

    Raises Unreadable.
    """
    try:
        if sha256 is not None:
            return None if digest(file) == sha256 else "its SHA-256 is another"
        with pq.ParquetFile(file, page_checksum_verification=True) as parquet:
            for group in range(parquet.num_row_groups):
                parquet.read_row_group(group)
    except FAILURES as error:
        return flaw(file, error)
    return None


def flaw(file: Path, error: Exception, sha256: bytes | None = None) -> str:
    """What is wrong with a file's content or place, as an attempt to read it failed.

    Raises Unreadable where the failure tells nothing of that.
    """
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return "it is missing"
    number: int | None = getattr(error, "errno", None)
    # A damaged length asks for more memory than there is, too.
    if isinstance(error, MemoryError) and sha256 is not None and verify(file, sha256) is None:
        number = errno.ENOMEM
    if number not in TELLING:
        raise Unreadable(number, os.strerror(number or 0), str(file)) from error
    return said(error)


def digest(file: Path) -> bytes:
    """SHA-256 of a file's content."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").digest()


def readable(file: Path, columns: list[str] | None = None) -> pa.Table | None:
    """The rows of those row groups that are still whole; None where there is none.

    Raises Unreadable.
    """
    whole = []
    try:
        with pq.ParquetFile(file, page_checksum_verification=True) as parquet:
            for group in range(parquet.num_row_groups):
                try:
                    whole.append(parquet.read_row_group(group, columns))
                except FAILURES as error:
                    flaw(file, error)
    except FAILURES as error:
        flaw(file, error)
        return None
    return pa.concat_tables(whole) if whole else None


def month_bounds(month: str) -> tuple[int, int]:
    """First and last nanosecond of a month written 2026-10."""
    year, number = int(month[:4]), int(month[5:7])
    following = (year + number // 12, number % 12 + 1)
    first, end = (datetime(*when, 1, tzinfo=UTC) for when in ((year, number), following))
    return int(first.timestamp()) * 10**9, int(end.timestamp()) * 10**9 - 1


def said(error: Exception) -> str:
    """An error of a library as a part of a sentence."""
    return " ".join(str(error).split())[:200] or type(error).__name__
