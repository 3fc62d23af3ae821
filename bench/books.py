"""The month's report on a million and on ten million requests, and the building of their days."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median

from bench import crowd, rig
from bench.attempts import START_NS
from bench.children import Ran, rigledger, timed
from bench.day import built_s
from bench.result import Result, figure, spread
from collector.clock import SECOND_NS

A_DAY = 33_000  # a million requests in 31 days
MIB = 1024 * 1024
Build = Callable[[Path, int, int], Path]


def measure_report(
    work: Path, *, requests_a_day: int = A_DAY, days: int = rig.DAYS, rounds: int = 3
) -> Result:
    """Seconds of `rigledger report` as a command, once its days are built."""
    return _report("report_1m_s", _place(work, "month", requests_a_day, days), rig.build, rounds)


def measure_large_report(
    work: Path,
    *,
    requests_a_day: int = crowd.REQUESTS_A_DAY,
    days: int = crowd.DAYS,
    rounds: int = 3,
) -> Result:
    """The same on ten million requests of 20,000 sessions, and 8 million samples."""
    return _report("report_10m_s", _place(work, "crowd", requests_a_day, days), crowd.build, rounds)


def measure_day(
    work: Path, *, requests_a_day: int = A_DAY, days: int = rig.DAYS, rounds: int = 5
) -> Result:
    """Seconds until a day's books are built from its events."""
    config = rig.build(*_place(work, "month", requests_a_day, days))
    middle = START_NS + days // 2 * rig.DAY_S * SECOND_NS
    seconds = [built_s(config, middle) for _ in range(rounds + 1)]
    return Result(
        "day_33k_built_s",
        median(seconds[1:]),
        "s",
        {},
        f"{spread(seconds[1:])}, {requests_a_day:,} requests in the day;"
        f" {figure(seconds[0])} s in a process that has just started",
    )


def measure_large_day(
    work: Path,
    *,
    requests_a_day: int = crowd.REQUESTS_A_DAY,
    days: int = crowd.DAYS,
    rounds: int = 3,
) -> Result:
    """Seconds until a busy day is built by a process that has just started."""
    config = crowd.build(*_place(work, "crowd", requests_a_day, days))
    middle = crowd.START_NS + days // 2 * crowd.DAY_S * SECOND_NS
    command = [sys.executable, "-m", "bench.day", str(config), str(middle)]
    runs = [timed(command) for _ in range(rounds)]
    seconds = [float(run.output) for run in runs]
    return Result(
        "day_330k_built_s",
        median(seconds),
        "s",
        {},
        f"{spread(seconds)} on {os.cpu_count()} cores, {requests_a_day:,} requests in the day,"
        f" samples of three cards each second; {_memory(runs)}",
    )


def _place(work: Path, name: str, requests_a_day: int, days: int) -> tuple[Path, int, int]:
    return work.resolve() / f"{name}-{requests_a_day}-{days}", requests_a_day, days


def _report(name: str, place: tuple[Path, int, int], build: Build, rounds: int) -> Result:
    folder, requests_a_day, days = place
    config = build(*place)
    report = folder / "report.json"
    command = rigledger(config, "report", rig.MONTH, "--json", "--out", str(report))
    first = timed(command, shown=True)
    runs = [timed(command) for _ in range(rounds)]
    told = json.loads(report.read_text(encoding="utf-8"))["tokens"]["requests"]
    # The last few end in the month after.
    if not 0.99 * requests_a_day * days <= told <= requests_a_day * days:
        raise RuntimeError(f"the report tells of {told} requests, not {requests_a_day * days}")
    seconds = [run.seconds for run in runs]
    return Result(
        name,
        median(seconds),
        "s",
        {},
        f"{spread(seconds)} of the whole command, {requests_a_day * days:,} requests;"
        f" {_memory(runs)}; {figure(first.seconds)} s the first time, which builds the days",
    )


def _memory(runs: list[Ran]) -> str:
    return f"at most {max(run.peak_b for run in runs) / MIB:,.0f} MiB of memory"
