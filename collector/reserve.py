"""A few MiB kept back on disk, so that hot rows can still be sealed when nothing else fits."""

import errno
import os
import sqlite3
from pathlib import Path

RESERVE = "reserve"
SIZE_B = 8 * 1024 * 1024  # more than a seal's round and its commit take
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def is_full(error: Exception) -> bool:
    """Whether an error of SQLite or the system says that there is no room."""
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL
    return isinstance(error, OSError) and error.errno in FULL


def keep(folder: Path, size_b: int = SIZE_B) -> bool:
    """Set the room aside unless it is already; whether it is there now."""
    file = folder / RESERVE
    try:
        if file.exists() and file.stat().st_blocks * 512 >= size_b:
            return True
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(descriptor, 0, size_b)
        finally:
            os.close(descriptor)
    except OSError:
        # Also where the file system cannot set room aside; then a full disk waits for its user.
        file.unlink(missing_ok=True)
        return False
    return True


def release(folder: Path) -> bool:
    """Give the room up; whether there was any."""
    try:
        (folder / RESERVE).unlink()
    except FileNotFoundError:
        return False
    return True
