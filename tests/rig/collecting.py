"""A real `rigledger collect` with a folder of its own, and what its ledger tells meanwhile.

As a program, `python collecting.py SECONDS` is the same collector in the current folder, but its
cards are read every so many seconds, however few.
"""

import logging
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from collector import daemon
from collector.clock import from_ns
from collector.events import Attempt, Engine, Event, Heartbeat, Host, Sample
from collector.settings import CollectorSettings, load
from collector.snapshot import snapshot

EVER = (0, 2**62)
PATIENCE_S = 60.0
EVENTS: dict[str, type[Event]] = {
    "attempt": Attempt,
    "sample": Sample,
    "heartbeat": Heartbeat,
    "engine": Engine,
    "host": Host,
}


@contextmanager
def collecting(
    folder: Path,
    settings: str,
    environment: Mapping[str, str],
    sample_seconds: float | None = None,
) -> Iterator[str]:
    """`rigledger collect` once its door is open, until SIGTERM; yields the door's address."""
    (folder / "rigledger.toml").write_text(settings)
    around = {**os.environ, **environment, "RIGLEDGER_DATA": str(folder / "ledger")}
    command = [str(Path(sys.executable).with_name("rigledger")), "collect"]
    if sample_seconds is not None:
        command = [sys.executable, __file__, str(sample_seconds)]
    with subprocess.Popen(
        command, cwd=folder, env=around, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            lines = []
            for line in process.stderr:
                lines.append(line)
                if told := re.search(r"listening on port (\d+)", line):
                    break
            else:
                pytest.fail(f"the collector ended before it listened: {''.join(lines)}")
            yield f"http://127.0.0.1:{told[1]}"
            process.send_signal(signal.SIGTERM)
            rest = process.communicate(timeout=PATIENCE_S)[1]
            assert process.returncode == 0, rest
        finally:
            process.kill()


def rows(folder: Path, kind: str) -> list[dict[str, Any]]:
    """A kind's rows, while nothing is sealed."""
    found: list[dict[str, Any]] = snapshot(folder / "ledger", kind, *EVER).hot.to_pylist()
    return found


def events(folder: Path) -> list[Event]:
    """All that the ledger holds, as it was told."""
    found: list[Event] = []
    for kind, struct in EVENTS.items():
        for row in rows(folder, kind):
            told = {
                name.removesuffix("_ns") if name in ("at_ns", "received_at_ns") else name: (
                    from_ns(value) if name in ("at_ns", "received_at_ns") else value
                )
                for name, value in row.items()
            }
            found.append(struct(**{k: v for k, v in told.items() if v is not None}))
    return found


def until(holds: Callable[[], Any]) -> Any:
    """What it tells once it is true."""
    deadline = time.monotonic() + PATIENCE_S
    while not (found := holds()):
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.1)
    return found


def _hasty(sample_seconds: float) -> int:
    settings = load(None)
    collector: CollectorSettings = msgspec.structs.replace(
        settings.collector, sample_seconds=sample_seconds
    )
    return daemon.collect(msgspec.structs.replace(settings, collector=collector))


if __name__ == "__main__":
    logging.basicConfig(level="INFO")
    sys.exit(_hasty(float(sys.argv[1])))
