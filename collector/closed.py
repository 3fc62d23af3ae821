"""Closed months: files beside the ledger that are written once and never changed.

`closed/<month>/0000.json` is a month as it was closed, `0001.json` and so on are its restatements.
Each is one line of canonical JSON: its content, the digest of the file that it follows, and the
SHA-256 of both. What was edited, damaged or taken away in between is noticed at every reading.
"""

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from collector.files import sync_folder

FOLDER = "closed"
ASIDE = ".tmp"


class DamagedClosing(RuntimeError):
    """A closed month is not what was written; it is shown to nobody and replaced by nothing."""


class ClosingRefused(RuntimeError):
    """A month cannot be closed or restated; the message says why."""


@dataclass(frozen=True)
class Filed:
    """A month as it was closed (number 0), or a restatement of it."""

    number: int
    content: dict[str, Any]
    sha256: str


def filed(ledger: Path, month: str) -> list[Filed]:
    """A month (2026-10) as it was closed and its restatements in order; empty if it is open.

    Raises DamagedClosing.
    """
    place = ledger / FOLDER / month
    found: list[Filed] = []
    for number, file in enumerate(sorted(place.glob("*.json"))):
        if file.name != _name(number):
            raise DamagedClosing(f"{place / _name(number)} is missing; {_REMEDY}")
        found.append(_read(file, number, found[-1].sha256 if found else None))
    if not found and place.is_dir():
        raise DamagedClosing(f"{place / _name(0)} is missing; {_REMEDY}")
    return found


def months(ledger: Path) -> list[str]:
    """The names of the months that are closed, in order."""
    places = (ledger / FOLDER).glob("????-??")
    return sorted(place.name for place in places if place.is_dir())


def close(ledger: Path, month: str, content: Mapping[str, Any]) -> Path:
    """File a month for good; returns its file, durable. Raises ClosingRefused, OSError."""
    root = ledger / FOLDER
    with _locked(root):
        place = root / month
        if place.exists():
            raise ClosingRefused(f"{month} is closed already: {place}")
        aside = root / f"{month}.{uuid4().hex}{ASIDE}"
        aside.mkdir(mode=0o700)
        _write(aside / _name(0), content, None)
        sync_folder(aside)
        aside.rename(place)
        sync_folder(root)
        return place / _name(0)


def restate(ledger: Path, month: str, content: Mapping[str, Any], follows: str) -> Path:
    """File a restatement behind the file whose digest is `follows`; returns its file, durable.

    Raises ClosingRefused where another was filed meanwhile, DamagedClosing, OSError.
    """
    root = ledger / FOLDER
    with _locked(root):
        before = filed(ledger, month)
        if not before or before[-1].sha256 != follows:
            raise ClosingRefused(f"{month} was restated by someone else meanwhile; look again")
        place = root / month
        file, aside = place / _name(len(before)), root / f"{month}.{uuid4().hex}{ASIDE}"
        _write(aside, content, follows)
        os.link(aside, file)  # unlike a rename, it replaces nothing
        aside.unlink()
        sync_folder(place)
        return file


@contextmanager
def _locked(root: Path) -> Iterator[None]:
    """One at a time; what one that was killed has left aside is swept."""
    root.mkdir(mode=0o700, exist_ok=True)
    sync_folder(root.parent)
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        for left in root.glob(f"*{ASIDE}"):
            if left.is_dir():
                shutil.rmtree(left)
            else:
                left.unlink()
        yield
    finally:
        os.close(handle)


def _write(file: Path, content: Mapping[str, Any], follows: str | None) -> None:
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400)
    with os.fdopen(handle, "wb") as out:
        out.write(_canonical(_signed(content, follows)) + b"\n")
        out.flush()
        os.fsync(handle)


def _read(file: Path, number: int, follows: str | None) -> Filed:
    try:
        written = file.read_bytes()
    except OSError as error:
        raise DamagedClosing(f"{file} cannot be read: {error.strerror}") from None
    try:
        content = dict(json.loads(written)["content"])
    except (ValueError, KeyError, TypeError):
        content = {}
    told = _signed(content, follows)
    if written != _canonical(told) + b"\n":
        raise DamagedClosing(f"{file} is damaged or was edited: its SHA-256 differs; {_REMEDY}")
    return Filed(number, content, told["sha256"])


def _signed(content: Mapping[str, Any], follows: str | None) -> dict[str, Any]:
    told = {"content": content, "follows": follows}
    return {**told, "sha256": hashlib.sha256(_canonical(told)).hexdigest()}


def _canonical(told: Mapping[str, Any]) -> bytes:
    """One text for one content: keys in their order, which reports keep, no spaces, UTF-8."""
    return json.dumps(told, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def _name(number: int) -> str:
    return f"{number:04}.json"


_REMEDY = "put back a copy, or move the month's folder away to close it anew"
