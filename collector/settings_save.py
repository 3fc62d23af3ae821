"""Saves edits of `rigledger.toml`: one writer at a time, never over something unread or broken.

The new file is written aside, brought to the disk and renamed into place, with the mode of the old
one. A kill at any instant leaves the old file or the new one, whole.
"""

import datetime as dt
import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from collector.settings import Settings, SettingsError, StoreSettings
from collector.settings_edit import Change, Correct, edited, told
from collector.settings_file import defaults, settings_of
from collector.settings_history import History, Record, sync_folder
from collector.settings_news import news

FIRST_LINE = "# What rigledger assumes about this rig.\n"


class ChangedMeanwhile(SettingsError):
    """Someone else has changed the file since it was read; nothing was saved."""


@dataclass(frozen=True)
class Version:
    """A settings file as it was read; `text` is None where there was none."""

    path: Path
    text: str | None
    settings: Settings


def read_version(path: Path) -> Version:
    """The file as it stands now. Raises SettingsError, with file and line, when it is broken."""
    path = path.absolute()
    text = _text(path)
    return Version(path, text, defaults() if text is None else settings_of(text, path))


def candidate(version: Version, changes: Sequence[Change], day: dt.date) -> tuple[str, Settings]:
    """What the file would hold after the changes; writes nothing. Raises SettingsError."""
    if version.text is None:
        text = edited(FIRST_LINE, [*_folder(version), *changes], day)
    else:
        text = edited(version.text, changes, day)
    return text, settings_of(text, version.path)


def _folder(version: Version) -> list[Change]:
    """The first file must not hide the ledger that was used without any."""
    path = version.settings.store.path
    if Path(path) == version.path.absolute().parent / StoreSettings().path:
        return []
    return [Correct(("store", "path"), path, remark=False)]


def save(version: Version, changes: Sequence[Change], now: dt.datetime) -> Record:
    """Make the changes in the file that `version` was read from.

    `now` carries the rig's zone. Raises ChangedMeanwhile, or SettingsError for changes that cannot
    be made and for a file that cannot be written; the file is then as it was.
    """
    text, _ = candidate(version, changes, now.date())
    what = "; ".join(told(change, version.text or "") for change in changes)
    with _alone(version.path) as history:
        _require_unchanged(version)
        return _put(version, text, history.next(now, what, version.text, text))


def undo(version: Version, number: int, now: dt.datetime) -> Record:
    """Bring back the file from before change `number`, the last one that is not undone.

    The undo is a change of its own in the history. Raises SettingsError.
    """
    with _alone(version.path) as history:
        _require_unchanged(version)
        last = history.undoable(version.text)
        if last is None or last.number != number:
            raise ChangedMeanwhile(
                f"{version.path}: change {number} is not the last one any more; look at it again"
            )
        text = history.text_before(last)
        if text is not None:
            settings_of(text, version.path)
        record = history.next(now, f"undone: {last.what}", version.text, text, undoes=number)
        return _put(version, text, record)


def _put(version: Version, text: str | None, record: Record) -> Record:
    history = History(version.path)
    try:
        history.announce(record, version.text)
        _replace(version, text)
        history.confirm(record)
    except OSError as error:
        reason = (error.strerror or "it cannot be written").lower()
        raise SettingsError(
            f"{version.path}: not saved: {reason}; see that this user may write to the folder "
            "and that there is room on the disk"
        ) from None
    return record


@contextmanager
def _alone(path: Path) -> Iterator[History]:
    """Hold the lock that every writer of this file takes."""
    history = History(path)
    try:
        lock = history.open_lock()
    except OSError as error:
        reason = (error.strerror or "it cannot be written").lower()
        raise SettingsError(
            f"{history.folder}: {reason}; see that this user may write beside {path.name}"
        ) from None
    with os.fdopen(lock):
        fcntl.flock(lock, fcntl.LOCK_EX)
        history.settle(_text(path))
        yield history


def _require_unchanged(version: Version) -> None:
    """Raise ChangedMeanwhile, with what has changed, unless the file is as it was read."""
    text = _text(version.path)
    if text == version.text:
        return
    if text is None:
        raise ChangedMeanwhile(f"{version.path}: gone meanwhile; nothing was saved; try again")
    found = news(version.settings, settings_of(text, version.path))
    raise ChangedMeanwhile(
        f"{version.path}: changed meanwhile, nothing was saved: {found}; look at it again and "
        "save then"
    )


def _text(path: Path) -> str | None:
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise SettingsError(f"{path}: not UTF-8 text; save it as UTF-8") from None
    except OSError as error:
        reason = (error.strerror or "cannot be read").lower()
        raise SettingsError(f"{path}: {reason}; see that this user may read it") from None


def _replace(version: Version, text: str | None) -> None:
    # A link stays a link: what it points to is replaced.
    target = version.path.resolve()
    if text is None:
        _require_unchanged(version)
        target.unlink()
    else:
        aside = target.with_name(f".{target.name}.new")
        aside.unlink(missing_ok=True)
        try:
            _write(aside, text, target)
            # Editors take no lock: look once more at the last moment.
            _require_unchanged(version)
            aside.replace(target)
        finally:
            aside.unlink(missing_ok=True)
    sync_folder(target.parent)


def _write(aside: Path, text: str, like: Path) -> None:
    with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        if like.exists():
            old = like.stat()
            if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
                os.fchown(out.fileno(), old.st_uid, old.st_gid)
            os.fchmod(out.fileno(), old.st_mode & 0o7777)
        out.write(text.encode())
        out.flush()
        os.fsync(out.fileno())
