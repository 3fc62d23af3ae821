"""Samples of the NVIDIA cards, read by a child process that is replaced when the driver hangs."""

import datetime as dt
import logging
import os
import secrets
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from collector import clock
from collector.events import Event, Sample
from collector.settings import EngineSettings, Settings
from collector.sources.child import Child, ChildEndedError, ChildSilentError
from collector.sources.nvml_wire import NO_NVML, Counter, Plan, Port, Reading, Round

log = logging.getLogger(__name__)
Deliver = Callable[[list[Event]], None]
MODULES = Path("/sys/module")
SILENCE_S = 10.0
# Without persistence mode the driver wakes every card first, seconds each.
START_S = 30.0
ABSENT_RETRY_S = 60.0
LOG_AGAIN_NS = 3600 * clock.SECOND_NS
LOG_KEPT = 64
BACK_OFF_S = (0.5, 2.0, 5.0, 10.0, 30.0, 60.0)


@dataclass(frozen=True)
class NvmlStatus:
    """How the source fares.

    `last_seen_ns`: when each card (by UUID) last answered, ns since the epoch. `children`: child
    processes started so far.
    """

    driver: str | None = None
    last_seen_ns: dict[str, int] = field(default_factory=dict)
    last_error: str | None = None
    last_error_ns: int | None = None
    children: int = 0


def local_port(url: str) -> int | None:
    """The port of a loopback address, None for any other."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host not in {"localhost", "::1"} and not host.startswith("127."):
        return None
    return parts.port or (443 if parts.scheme == "https" else 80)


def driver_load(modules: Path = MODULES) -> str | None:
    """What tells one load of the driver from the next within a boot; None where nothing does.

    A card counts its energy since the driver was loaded. The kernel gives every load of a module
    a directory with a number of its own.
    """
    try:
        return str((modules / "nvidia").stat().st_ino)
    except OSError:
        return None


def current_engines(engines: list[EngineSettings], today: dt.date) -> list[Port]:
    """Where the engines in force today listen: of each name the latest entry that has begun."""
    latest: dict[str, EngineSettings] = {}
    for engine in sorted(engines, key=lambda engine: engine.from_):
        if engine.from_ <= today:
            latest[engine.name] = engine
    return [Port(port=local_port(each.url), gpus=each.gpus) for each in latest.values()]


class NvmlSource:
    """A thread that keeps one child sampling and turns its lines into `Sample` events."""

    def __init__(
        self,
        settings: Settings,
        *,
        silence_s: float = SILENCE_S,
        placed: clock.Placed = clock.PLACED,
        modules: Path = MODULES,
    ) -> None:
        """`silence_s`: a child is killed once it said nothing for so long and for three rounds."""
        self.settings = settings
        self.silence_s = silence_s
        self._placed = placed
        self._modules = modules
        self._boot_id = clock.boot_id()
        self._run = secrets.token_hex(8)
        self._told = 0
        self._counters: dict[str, Counter] = {}
        self._status = NvmlStatus()
        self._logged: dict[str, int] = {}
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._wake = (-1, -1)

    @property
    def status(self) -> NvmlStatus:
        """A snapshot for the health page."""
        return self._status

    def start(self, deliver: Deliver) -> None:
        """Begin to sample. `deliver` gets a round at a time, in the source's own thread."""
        self._wake = os.pipe()
        self._thread = threading.Thread(
            target=self._supervise, args=(deliver,), name="nvml", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """End child and thread within 2 s, even where the driver hangs."""
        if self._thread is None:
            return
        self._stopping.set()
        os.write(self._wake[1], b".")
        self._thread.join(2.0)
        if not self._thread.is_alive():
            for end in self._wake:
                os.close(end)
        self._thread = None

    def _supervise(self, deliver: Deliver) -> None:
        """Keep one child running; wait longer after each that brought nothing."""
        failures = 0
        while not self._stopping.is_set():
            before = self._told
            absent = self._one_child(deliver)
            failures = 0 if self._told > before else failures + 1
            pause = BACK_OFF_S[min(failures, len(BACK_OFF_S) - 1)]
            self._stopping.wait(ABSENT_RETRY_S if absent else pause)

    def _one_child(self, deliver: Deliver) -> bool:
        """A child's whole life; True where it found nothing to read. Never raises."""
        child = None
        absent = False
        try:
            child = Child(self._command())
            self._status = replace(self._status, children=self._status.children + 1)
            self._listen(child, deliver)
        except ChildSilentError as error:
            self._note(f"The process that reads the cards was killed ({error}); the driver hangs.")
        except ChildEndedError as error:
            absent = error.status == NO_NVML
            self._note(
                str(error) if absent else f"The process that reads the cards failed: {error}"
            )
        except Exception as error:
            self._note(f"The NVML source starts again after {type(error).__name__}: {error}")
        while child is not None and not child.end() and not self._stopping.is_set():
            # A second process would only hang in the kernel beside the first.
            self._note(f"Process {child.pid} hangs in the driver and cannot be killed; reboot.")
            self._stopping.wait(BACK_OFF_S[-1])
        return absent

    def _command(self) -> list[str]:
        """The child's command line, with what earlier children learned."""
        today = dt.datetime.now(self.settings.zone).date()
        plan = Plan(
            sample_seconds=self.settings.collector.sample_seconds,
            engines=current_engines(self.settings.engines, today),
            cards=self._counters,
            boot="-".join(filter(None, (self._boot_id or self._run, driver_load(self._modules)))),
        )
        argument = msgspec.json.encode(plan).decode()
        # -P: whatever lies in the current folder, our own packages come first.
        return [sys.executable, "-P", "-m", "collector.sources.nvml_child", argument]

    def _listen(self, child: Child, deliver: Deliver) -> None:
        """Deliver the child's rounds until the source is stopped."""
        silence_s = START_S + self.silence_s
        while (line := child.line(silence_s, self._wake[0])) is not None:
            told = msgspec.json.decode(line, type=Round)
            silence_s = max(self.silence_s, 3 * told.sample_seconds)
            self._counters = told.counters
            self._see(told)
            samples: list[Event] = [self._sample(reading) for reading in told.cards]
            try:
                deliver(samples)
            except Exception as error:
                self._note(f"A round of card samples was lost: {type(error).__name__}: {error}")

    def _see(self, told: Round) -> None:
        """Keep the status: who answered, and what failed."""
        seen = dict(self._status.last_seen_ns)
        for reading in told.cards:
            if not reading.lost:
                seen[reading.device] = self._placed.place(reading.at_ns)
            if reading.error is not None:
                self._note(f"Card {reading.device}: {reading.error}")
        self._status = replace(self._status, driver=told.driver, last_seen_ns=seen)
        for error in told.errors:
            self._note(f"A card without a UUID cannot be sampled: {error}")

    def _sample(self, reading: Reading) -> Sample:
        """A reading as an event; its id is this start's random name and a running number."""
        self._told += 1
        values = msgspec.structs.asdict(reading)
        del values["lost"]
        return Sample(
            source="nvml",
            event_id=f"{self._run}-{self._told}",
            rig=self.settings.rig.name,
            boot_id=self._boot_id,
            scope="card",
            sensor="nvml",
            at=clock.from_ns(self._placed.place(values.pop("at_ns"))),
            **values,
        )

    def _note(self, message: str) -> None:
        """Keep an error for the status; log it, but the same one once an hour only."""
        now_ns = clock.now_ns()
        self._status = replace(self._status, last_error=message, last_error_ns=now_ns)
        if now_ns - self._logged.get(message, 0) < LOG_AGAIN_NS:
            return
        if len(self._logged) >= LOG_KEPT:
            self._logged.clear()
        self._logged[message] = now_ns
        log.warning(message)
