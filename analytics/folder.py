"""A folder of frames and a few facts, written aside and then renamed: all of it or nothing.

Whoever comes first wins; both are right, as both were made of the same.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import polars as pl

FACTS = "facts.json"


def put(place: Path, frames: Mapping[str, pl.DataFrame], facts: Mapping[str, Any]) -> bool:
    """Keep frames and facts in a folder, in the place of what it held; False where the disk takes
    no more of it or the folder cannot be written."""
    aside = place.with_name(f"{place.name}.{uuid4().hex}.tmp")
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        aside.mkdir(mode=0o700)
        for name, frame in frames.items():
            frame.write_parquet(aside / f"{name}.parquet", compression="lz4")
        (aside / FACTS).write_text(json.dumps(facts), encoding="utf-8")
        _replace(aside, place)
    except OSError:
        shutil.rmtree(aside, ignore_errors=True)
        return False
    return True


def facts(place: Path) -> dict[str, Any] | None:
    """The facts of a folder; None where there are none or they are damaged."""
    try:
        found = json.loads((place / FACTS).read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def frame(place: Path, name: str, columns: Sequence[str] = ()) -> pl.DataFrame | None:
    """The columns of a frame, all where none is named; None where it is gone or damaged."""
    try:
        return pl.read_parquet(place / f"{name}.parquet", columns=list(columns) or None)
    except (OSError, pl.exceptions.PolarsError):
        return None


def frames(place: Path, names: Sequence[str]) -> dict[str, pl.DataFrame] | None:
    """Several frames by name; None where one of them is gone or damaged."""
    found = {name: frame(place, name) for name in names}
    known = {name: each for name, each in found.items() if each is not None}
    return known if len(known) == len(found) else None


def _replace(aside: Path, place: Path) -> None:
    old = place.with_name(f"{place.name}.{uuid4().hex}.old")
    with suppress(FileNotFoundError):
        place.rename(old)
    aside.rename(place)
    shutil.rmtree(old, ignore_errors=True)
