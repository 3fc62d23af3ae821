"""A folder of frames and a few facts, written aside and then renamed: all of it or nothing.

Whoever comes first wins; both are right, as both were made of the same. The facts hold a check sum
of themselves and of every frame, so that neither damage nor a folder that came into the place while
it was read is taken for what was kept.
"""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import uuid4
from zlib import crc32

import polars as pl

FACTS = "facts.json"
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
    aside = place.with_name(f"{place.name}.{uuid4().hex}.tmp")
    try:
        place.parent.mkdir(mode=0o700, exist_ok=True)
        aside.mkdir(mode=0o700)
        sums = {name: _write(aside / f"{name}.parquet", frame) for name, frame in frames.items()}
        kept = {"facts": facts, "sums": sums}
        (aside / FACTS).write_text(json.dumps({"sum": _sum(kept), "kept": kept}), encoding="utf-8")
        _replace(aside, place)
    except OSError:
        return False
    finally:
        shutil.rmtree(aside, ignore_errors=True)
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


def _replace(aside: Path, place: Path) -> None:
    old = place.with_name(f"{place.name}.{uuid4().hex}.old")
    with suppress(FileNotFoundError):
        place.rename(old)
    try:
        aside.rename(place)
    finally:
        shutil.rmtree(old, ignore_errors=True)
