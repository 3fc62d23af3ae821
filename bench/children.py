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
