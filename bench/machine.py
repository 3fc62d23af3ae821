"""How fast one core of this machine is just now, to read the other figures by."""

import time
from pathlib import Path
from statistics import median

from bench.result import Result, spread

ADDITIONS = 5_000_000


def measure(_work: Path, *, rounds: int = 5) -> Result:
    """Millions of integers that one core of plain Python adds up in a second.

    Targets are seconds and do not know the machine; hosts that share their cores differ by a factor
    of three from one hour to the next.
    """
    rates = [_rate() for _ in range(rounds)]
    return Result(
        "machine_additions_m_per_s", median(rates), "M/s", {}, f"{spread(rates)}, one thread"
    )


def _rate() -> float:
    start, total = time.perf_counter(), 0
    for number in range(ADDITIONS):
        total += number
    if total != ADDITIONS * (ADDITIONS - 1) // 2:
        raise RuntimeError("the machine cannot add")
    return ADDITIONS / 1e6 / (time.perf_counter() - start)
