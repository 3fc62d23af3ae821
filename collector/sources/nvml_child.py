"""The process that talks to the driver: `python -m collector.sources.nvml_child PLAN`.

A call into a broken driver may never return, so it is made here, where it can be killed. Each
round is one JSON line (`nvml_wire.Round`) on standard output. Exit status `NO_NVML`, with one
sentence on standard error, where nothing can be read.
"""

import contextlib
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pynvml

from collector.sources.nvml_card import Card, words
from collector.sources.nvml_wire import NO_NVML, Counter, Plan, Port, Reading, Round
from collector.sources.processes import engine_processes, listening_inodes

COUNTER_SECONDS = 5.0
POWER_SECONDS = 1.0
# While a card is lost NVML is opened anew every so many rounds: a reset card shows up only then.
REOPEN_ROUNDS = 10


class NoCardsError(Exception):
    """Nothing can be read on this host; the message says why and what to do."""


class OwnProcesses:
    """Which processes on the cards belong to our engines.

    The process table is read when a process or a socket has changed, and once a minute.
    """

    def __init__(self, engines: Iterable[Port], proc: Path) -> None:
        self.engines = list(engines)
        self.proc = proc
        self._key: object = None
        self._own: set[int] | None = None

    def among(self, pids: set[int]) -> set[int] | None:
        """The engines' processes as of these processes on the cards; None: cannot be told."""
        ports = [engine.port for engine in self.engines]
        if None in ports:
            return None
        inodes = listening_inodes([port for port in ports if port is not None], self.proc)
        if not all(inodes.values()):
            return None
        minute = time.monotonic() // 60
        key = (
            sorted((port, sorted(found)) for port, found in inodes.items()),
            sorted(pids),
            minute,
        )
        if key != self._key:
            self._key, self._own = key, engine_processes(inodes.values(), self.proc)
        return self._own


class Cards:
    """All cards of the host, open for reading."""

    def __init__(self, plan: Plan) -> None:
        """Open NVML and find the cards. Raises NoCardsError."""
        self.plan = plan
        self.cards = {uuid: Card(uuid, at, plan.boot) for uuid, at in plan.cards.items()}
        self.driver: str | None = None
        self.errors: list[str] = []
        self.rounds = 0
        self._open()
        here = [engine for engine in plan.engines if engine.port is not None or self._on(engine)]
        self.own = OwnProcesses(here, Path(plan.proc))

    def _on(self, engine: Port) -> bool:
        """Whether an engine uses a card of this host."""
        return not self.cards.keys().isdisjoint(engine.gpus)

    def _open(self) -> None:
        """Initialise NVML and learn the UUID of every card that tells it."""
        try:
            pynvml.nvmlInit()
            self.driver = pynvml.nvmlSystemGetDriverVersion()
            count = pynvml.nvmlDeviceGetCount()
        except pynvml.NVMLError as error:
            raise NoCardsError(
                f"No card can be read ({words(error.value)}); install, load or update the NVIDIA"
                " driver, or reboot after its update."
            ) from None
        self.errors = []
        for index in range(count):
            try:
                handle = pynvml.nvmlDeviceGetHandleByIndex(index)
                uuid = pynvml.nvmlDeviceGetUUID(handle)
            except pynvml.NVMLError as error:
                self.errors.append(f"card {index}: {words(error.value)}")
                continue
            self.cards.setdefault(uuid, Card(uuid, Counter(), self.plan.boot))
        if not self.cards and not self.errors:
            raise NoCardsError("The NVIDIA driver knows no card; check `nvidia-smi -L`.")

    def _reopen(self) -> None:
        """Start NVML anew; every handle from before is void."""
        with contextlib.suppress(pynvml.NVMLError):
            pynvml.nvmlShutdown()
        for card in self.cards.values():
            card.handle = None
        self._open()

    def _incomplete(self) -> bool:
        return bool(self.errors) or any(card.handle is None for card in self.cards.values())

    @property
    def sample_seconds(self) -> float:
        """The cadence: as set, else slow where every card counts energy by itself."""
        if self.plan.sample_seconds is not None:
            return self.plan.sample_seconds
        known = [
            card.counts_energy for card in self.cards.values() if card.counts_energy is not None
        ]
        return COUNTER_SECONDS if known and all(known) else POWER_SECONDS

    def read(self) -> Round:
        """One reading of every card. Raises NoCardsError where the driver has gone."""
        self.rounds += 1
        if self.rounds % REOPEN_ROUNDS == 0 and self._incomplete():
            self._reopen()
        told = [card.read() for card in self.cards.values()]
        self._count_foreign(told)
        return Round(
            driver=self.driver,
            sample_seconds=self.sample_seconds,
            cards=[reading for reading, _ in told],
            counters={uuid: card.counter for uuid, card in self.cards.items()},
            errors=self.errors,
        )

    def _count_foreign(self, told: list[tuple[Reading, set[int] | None]]) -> None:
        """Count on every card the processes that are none of our engines'."""
        present: set[int] = set().union(*(pids or () for _, pids in told))
        own = self.own.among(present) if present else set()
        for reading, pids in told:
            if pids is not None and not pids:
                reading.foreign_processes = 0
            elif pids is not None and own is not None:
                reading.foreign_processes = len(pids - own)


def _tell(line: bytes) -> bool:
    """Write to the collector; False once it has gone."""
    try:
        while line:
            line = line[os.write(1, line) :]
    except BrokenPipeError:
        return False
    return True


def main(argument: str) -> int:
    """Read the cards at their cadence until the collector goes. Returns the exit status."""
    try:
        cards = Cards(msgspec.json.decode(argument, type=Plan))
        due = time.monotonic()
        while _tell(msgspec.json.encode(cards.read()) + b"\n"):
            now = time.monotonic()
            due = max(due + cards.sample_seconds, now)
            time.sleep(due - now)
    except NoCardsError as error:
        sys.stderr.write(f"{error}\n")
        return NO_NVML
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
