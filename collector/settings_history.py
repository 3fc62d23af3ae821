"""Earlier versions of `rigledger.toml`, in a folder `rigledger.toml.d` beside it.

`000012.toml` is the file as change 12 found it, `000012.json` says what the change was. A change
is announced in `pending.json` before the file is replaced and confirmed after; one that a kill
left announced is settled by looking which of the two versions the file holds.
"""

import datetime as dt
import hashlib
import os
from pathlib import Path

import msgspec

from collector.settings import SettingsError

KEPT = 50


class Record(msgspec.Struct, kw_only=True, frozen=True):
    """One change; `before` and `after` are digests of the file, None where there was none."""

    number: int
    at: dt.datetime
    what: str
    before: str | None
    after: str | None
    undoes: int | None = None


class History:
    """The changes of one settings file. Only who holds the lock may call what writes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.folder = path.with_name(f"{path.name}.d")
        self._pending = self.folder / "pending.json"

    def records(self) -> list[Record]:
        """The changes that are kept, oldest first. Raises SettingsError when one is damaged."""
        return [self._record(file) for file in sorted(self.folder.glob("[0-9]*.json"))]

    def undoable(self, text: str | None) -> Record | None:
        """The last change that is not undone, if the file still holds what it wrote."""
        standing: list[Record] = []
        for record in self.records():
            if record.undoes is None:
                standing.append(record)
            elif standing and standing[-1].number == record.undoes:
                standing.pop()
        if not standing or standing[-1].after != digest(text):
            return None
        return standing[-1]

    def text_before(self, record: Record) -> str | None:
        """The file as a change found it. Raises SettingsError when that version is damaged."""
        if record.before is None:
            return None
        kept = self._version(record.number)
        try:
            text = kept.read_bytes().decode()
        except (OSError, UnicodeDecodeError):
            text = ""
        if digest(text) != record.before:
            raise SettingsError(f"{kept}: this version is damaged; edit {self.path.name} by hand")
        return text

    def open_lock(self) -> int:
        """The lock's file descriptor. Raises OSError."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        return os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def next(
        self,
        now: dt.datetime,
        what: str,
        before: str | None,
        after: str | None,
        undoes: int | None = None,
    ) -> Record:
        """A change that is about to be made; the texts of the file before and after it."""
        number = max((record.number for record in self.records()), default=0) + 1
        return Record(
            number=number,
            at=now,
            what=what,
            before=digest(before),
            after=digest(after),
            undoes=undoes,
        )

    def announce(self, record: Record, before: str | None) -> None:
        """Keep the version that is about to be replaced. Raises OSError."""
        if before is not None:
            _write(self._version(record.number), before.encode())
        _write(self._pending, msgspec.json.encode(record))
        sync_folder(self.folder)

    def confirm(self, record: Record) -> None:
        """The change has been made; drop what is older than the last `KEPT`. Raises OSError."""
        self._pending.replace(self._told(record.number))
        for old in self.records()[:-KEPT]:
            self._told(old.number).unlink()
            self._version(old.number).unlink(missing_ok=True)
        sync_folder(self.folder)

    def settle(self, text: str | None) -> None:
        """Decide about a change that was announced and not confirmed: has the file got it?"""
        if not self._pending.exists():
            return
        record = self._record(self._pending)
        if record.after == digest(text):
            self.confirm(record)
        else:
            self._pending.unlink()
            self._version(record.number).unlink(missing_ok=True)

    def _record(self, file: Path) -> Record:
        try:
            return msgspec.json.decode(file.read_bytes(), type=Record)
        except (OSError, msgspec.MsgspecError):
            raise SettingsError(f"{file}: damaged; move it out of this folder") from None

    def _told(self, number: int) -> Path:
        return self.folder / f"{number:06}.json"

    def _version(self, number: int) -> Path:
        return self.folder / f"{number:06}.toml"


def digest(text: str | None) -> str | None:
    """What tells two versions apart."""
    return None if text is None else hashlib.sha256(text.encode()).hexdigest()


def sync_folder(folder: Path) -> None:
    """Bring a folder's entries to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write(file: Path, content: bytes) -> None:
    aside = file.with_name(f"{file.name}.new")
    with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())
    aside.replace(file)
