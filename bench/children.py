"""The program's own processes, started for a benchmark and stopped after it."""

import contextlib
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

START_S = 90.0
STOP_S = 30.0


class NotStarted(RuntimeError):
    """A process ended, or did not answer in time; the message holds its last words."""


def free_address() -> str:
    """A loopback address that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


@contextlib.contextmanager
def running(command: Sequence[str], health: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process, once `health` answers 200, until the block ends. Raises NotStarted."""
    environment = {k: v for k, v in os.environ.items() if k != "RIGLEDGER_DATA"}
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env=environment)
    try:
        due = time.monotonic() + START_S
        while not _answers(health):
            if process.poll() is not None or time.monotonic() > due:
                raise NotStarted(f"{' '.join(command)}: {log.read_text(errors='replace')[-1000:]}")
            time.sleep(0.05)
        yield process
    finally:
        process.terminate()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@dataclass(frozen=True)
class Ran:
    """A command that ended well: how long it took, its largest memory, and what it printed."""

    seconds: float
    peak_b: int
    output: str


def timed(command: Sequence[str], *, shown: bool = False) -> Ran:
    """Run a command to its end; `shown` lets its progress be seen.

    Raises CalledProcessError where it fails.
    """
    start = time.perf_counter()
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=None if shown else subprocess.DEVNULL,
        text=True,
    ) as process:
        output = process.stdout.read() if process.stdout is not None else ""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Ran(time.perf_counter() - start, usage.ru_maxrss * 1024, output)


def rigledger(config: Path, *words: str) -> list[str]:
    """A command line of this program, from this checkout."""
    return [sys.executable, "-P", "-m", "rigledger", "--config", str(config), *words]


def cpu_seconds(process: subprocess.Popen[bytes]) -> float:
    """Processor time of a running process so far, s."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
