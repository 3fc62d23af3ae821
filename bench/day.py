"""`python -m bench.day CONFIG AT_NS`: build the day of an instant anew, and tell how long it took.

A process of its own, so that its memory can be told.
"""

import shutil
import sys
import time
from pathlib import Path

from analytics.periods import day_at
from analytics.read import Ledger
from analytics.shelf import Shelf
from collector.clock import now_ns
from collector.settings import load


def built_s(config: Path, at_ns: int) -> float:
    """Seconds until the books of a day are built from its events and kept."""
    settings = load(config)
    ledger = config.parent / "ledger"
    day = day_at(at_ns, settings.zone)
    for kept in ("derived", "derived/time"):
        shutil.rmtree(ledger / kept / day.name, ignore_errors=True)
    start = time.perf_counter()
    (built,) = Shelf(Ledger(ledger), settings, now_ns()).days(day.from_ns, day.to_ns)
    seconds = time.perf_counter() - start
    if built.tallies.is_empty():
        raise RuntimeError("the day is empty")
    return seconds


if __name__ == "__main__":
    print(built_s(Path(sys.argv[1]), int(sys.argv[2])))
