"""How many threads compute some days makes no difference to any figure.

As a program, `python test_threads.py FOLDER THREADS` tells the digest of the days kept there.
"""

import hashlib
import json
import os
import random
import subprocess
import sys
from functools import partial
from pathlib import Path

import duckdb
import test_oracle_months as months

from analytics.month import summarize
from analytics.periods import Period
from analytics.read import Ledger
from analytics.shelf import FRAMES, Shelf
from collector.settings import Settings

SEED = 1054  # with 39 tellings, across the beginning of summer time
THREADS = ("1", "7")


def test_threads_change_nothing(tmp_path: Path) -> None:
    """Days of requests that share cards, wait, and are told twice and by several sources."""
    dice, made, period = some_days(tmp_path)
    events = months.happenings(dice, period, made)
    assert sum("Attempt" in type(event).__name__ for event in events) > 10
    months.kept(dice, events, tmp_path / "ledger")
    told = {subprocess.run(
        [sys.executable, __file__, str(tmp_path), threads],
        env={**os.environ, "POLARS_MAX_THREADS": threads, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, check=True,
    ).stdout for threads in THREADS}  # fmt: skip
    assert len(told) == 1
    assert len(told.pop().strip()) == 64


def some_days(folder: Path) -> tuple[random.Random, Settings, Period]:
    """Always the same."""
    dice = random.Random(SEED)
    zone, first, length = months.days_of(dice, SEED)
    made = months.rig(dice, zone, first, length, folder)
    return dice, made, months.span(made, first, length)


def digest(folder: Path) -> str:
    """Of the document, and of all that it adds up, in its order."""
    _, made, period = some_days(folder)
    shelf = Shelf(Ledger(folder / "ledger"), made, period.to_ns + 10**15, keeps=False)
    days = shelf.days(period.from_ns, period.to_ns)
    document = summarize(days, [], made, period, shelf.now_ns, billed=[])
    frames = [getattr(day, name).rows() for day in days for name in FRAMES]
    return hashlib.sha256(json.dumps([document, frames], default=str).encode()).hexdigest()


if __name__ == "__main__":
    duckdb.connect = partial(duckdb.connect, config={"threads": int(sys.argv[2])})
    print(digest(Path(sys.argv[1])))
