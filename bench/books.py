"""The month's report on a million requests, and the building of one of its days."""

import json
import shutil
import subprocess
import time
from pathlib import Path
from statistics import median

from analytics.periods import Period, day_at
from analytics.read import Ledger
from analytics.shelf import Shelf
from bench import rig
from bench.attempts import START_NS
from bench.children import rigledger
from bench.result import Result, figure, spread
from collector.clock import SECOND_NS, now_ns
from collector.settings import load

A_DAY = 33_000  # a million requests in 31 days


def measure_report(
    work: Path, *, requests_a_day: int = A_DAY, days: int = rig.DAYS, rounds: int = 3
) -> Result:
    """Seconds of `rigledger report` as a command, once its days are built."""
    folder = work.resolve() / f"month-{requests_a_day}-{days}"
    config = rig.build(folder, requests_a_day, days)
    report = folder / "report.json"
    command = rigledger(config, "report", rig.MONTH, "--json", "--out", str(report))
    seconds = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        seconds.append(time.perf_counter() - start)
    told = json.loads(report.read_text(encoding="utf-8"))["tokens"]["requests"]
    # The last few end in the month after.
    if not 0.99 * requests_a_day * days <= told <= requests_a_day * days:
        raise RuntimeError(f"the report tells of {told} requests, not {requests_a_day * days}")
    return Result(
        "report_1m_s",
        median(seconds[1:]),
        "s",
        {},
        f"{spread(seconds[1:])} of the whole command, {requests_a_day * days:,} requests,"
        f" heartbeats and samples of two cards each {rig.SAMPLE_S} s;"
        f" {figure(seconds[0])} s the first time, which builds the days",
    )


def measure_day(
    work: Path, *, requests_a_day: int = A_DAY, days: int = rig.DAYS, rounds: int = 5
) -> Result:
    """Seconds until a day's books are built from its events."""
    folder = work.resolve() / f"month-{requests_a_day}-{days}"
    config = rig.build(folder, requests_a_day, days)
    settings = load(config)
    day = day_at(START_NS + days // 2 * rig.DAY_S * SECOND_NS, settings.zone)
    seconds = [_built(folder / "ledger", config, day) for _ in range(rounds + 1)]
    return Result(
        "day_33k_built_s",
        median(seconds[1:]),
        "s",
        {},
        f"{spread(seconds[1:])}, {requests_a_day:,} requests in the day;"
        f" {figure(seconds[0])} s in a process that has just started",
    )


def _built(ledger: Path, config: Path, day: Period) -> float:
    shutil.rmtree(ledger / "derived", ignore_errors=True)
    settings = load(config)
    start = time.perf_counter()
    (built,) = Shelf(Ledger(ledger), settings, now_ns()).days(day.from_ns, day.to_ns)
    seconds = time.perf_counter() - start
    if built.tallies.is_empty():
        raise RuntimeError("the day is empty")
    return seconds
