"""A folder of frames and a few facts, written aside and then renamed: all of it or nothing.

Whoever comes first wins; both are right, as both were made of the same. The facts hold a check sum
of themselves and of every frame, so that neither damage nor a folder that came into the place while
it was read is taken for what was kept. Who writes holds a lock on what is aside, which ends with
the process: what nobody holds was left by one that was killed, and the next to write takes it away.
"""

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import uuid4
from zlib import crc32

import polars as pl

FACTS = "facts.json"
ASIDE, OLD = ".tmp", ".old"  # being written; replaced, and of no use to anybody
Facts = dict[str, Any]
Kept = tuple[Facts, dict[str, pl.DataFrame]]  # facts, and frames by name


def make(place: Path) -> None:
    """Make a folder for its owner alone, unless it is there; where it cannot be, nothing is kept
    in it later."""
    with suppress(OSError):
        place.mkdir(mode=0o700, exist_ok=True)


def put(place: Path, frames: Mapping[str, pl.DataFrame], facts: Mapping[str, Any]) -> bool:
    """Keep frames and facts in a folder, in the place of what it held; False where the disk takes
    no more of it or the folder cannot be written. The folder above the one that it lies in must be
    there: who moved a ledger away gets none anew."""
    try:
        place.parent.mkdir(mode=0o700, exist_ok=True)
        _sweep(place.parent)
        with _aside(place) as aside:
            sums = {n: _write(aside / f"{n}.parquet", frame) for n, frame in frames.items()}
            kept = {"facts": facts, "sums": sums}
            whole = json.dumps({"sum": _sum(kept), "kept": kept})
            (aside / FACTS).write_text(whole, encoding="utf-8")
            _replace(aside, place)
    except OSError:
        return False
    return True


def read(
    place: Path,
    names: Sequence[str],
    columns: Sequence[str] = (),
    *,
    holds: Callable[[Facts], bool],
) -> Kept | None:
    """The facts of a folder, if they hold, and frames by name, all of their columns where none is
    named; None where any of it is gone, damaged or of another folder than the facts."""
    try:
        whole = json.loads((place / FACTS).read_bytes())
        facts, sums = whole["kept"]["facts"], whole["kept"]["sums"]
        if whole["sum"] != _sum(whole["kept"]) or not holds(facts):
            return None
        return facts, {
            name: _read(place / f"{name}.parquet", sums[name], columns) for name in names
        }
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _sum(kept: Mapping[str, Any]) -> int:
    return crc32(json.dumps(kept).encode())


def _write(file: Path, frame: pl.DataFrame) -> int:
    content = BytesIO()
    frame.write_parquet(content, compression="lz4")
    file.write_bytes(content.getbuffer())
    return crc32(content.getbuffer())


def _read(file: Path, told_sum: int, columns: Sequence[str]) -> pl.DataFrame:
    """The columns of a frame. Raises OSError, ValueError where it is not as it was written."""
    content = file.read_bytes()
    if crc32(content) != told_sum:
        raise ValueError(f"{file} is damaged")
    return pl.read_parquet(BytesIO(content), columns=list(columns) or None)


@contextmanager
def _aside(place: Path) -> Iterator[Path]:
    """A new folder beside a place, locked while it is written and gone at the end."""
    while True:
        aside = place.with_name(f"{place.name}.{uuid4().hex}{ASIDE}")
        aside.mkdir(mode=0o700)
        try:
            held = os.open(aside, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(held, fcntl.LOCK_EX)
            if aside.exists():  # before it was locked, another's sweep may have taken it away
                yield aside
                return
        finally:
            shutil.rmtree(aside, ignore_errors=True)
            os.close(held)


def _sweep(above: Path) -> None:
    """Take away what processes that are no more left in a folder."""
    for left in above.iterdir():
        if left.suffix == OLD:
            shutil.rmtree(left, ignore_errors=True)
        elif left.suffix == ASIDE:
            with suppress(OSError):  # its writer holds it, or has just renamed it
                _take_away(left)


def _take_away(aside: Path) -> None:
    """Remove a folder that nobody writes. Raises OSError where somebody does."""
    held = os.open(aside, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(aside, ignore_errors=True)
    finally:
        os.close(held)


def _replace(aside: Path, place: Path) -> None:
    old = place.with_name(f"{place.name}.{uuid4().hex}{OLD}")
    with suppress(FileNotFoundError):
        place.rename(old)
    try:
        aside.rename(place)
    finally:
        shutil.rmtree(old, ignore_errors=True)
