"""What befalls the host: boots, shutdowns, sleep, and steps of its wall clock.

Told is only what is shown. A `boot` says how long the host was off before it only where an
orderly shutdown is on record: in the ledger (the collector was stopped because the system went
down) or in `wtmp`. After a power cut nobody knows when the host went off, or whether it ran for a
while without a collector; that time stays unknown. A collector that is stopped or killed says
nothing of the host.
"""

import logging
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from uuid import uuid4

import msgspec

from collector import clock, life
from collector.clock import SECOND_NS, STEP_NS, Placed, from_ns
from collector.events import Event, Host
from collector.settings import Settings
from collector.sources import wtmp

log = logging.getLogger(__name__)
SOURCE = "collector"
INTERVAL_S = 5.0
# Between its word that the host goes down and the end, others may still be heard for so long.
FAREWELL_NS = 120 * SECOND_NS
SYSTEMCTL_S = 2.0
Deliver = Callable[[list[Event]], None]
What = Literal["boot", "shutdown", "suspend", "resume", "clock_step"]


def going_down() -> bool:
    """Whether the whole system is being shut down, by the word of systemd; False without it."""
    try:
        told = subprocess.run(
            ["systemctl", "is-system-running"],  # noqa: S607 (its folder differs by system)
            capture_output=True,
            text=True,
            timeout=SYSTEMCTL_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return told.stdout.strip() == "stopping"


@dataclass(frozen=True)
class Machine:
    """Where the host's clocks and records are read."""

    placed: Placed = field(default=clock.PLACED)
    boot: Callable[[], int] = clock.boot_ns
    awake: Callable[[], int] = clock.awake_ns
    proc: Path = Path("/proc")
    wtmp: Path = wtmp.WTMP
    going_down: Callable[[], bool] = going_down

    def asleep_ns(self) -> int | None:
        """How long the host has been suspended since it was booted; None: try again."""
        before = self.boot()
        awake = self.awake()
        after = self.boot()
        return after - awake if after - before <= clock.LOOK_NS else None


class HostSource:
    """Looks at the clocks every few seconds, on a thread of its own, until stopped."""

    def __init__(
        self,
        settings: Settings,
        ledger: Path,
        machine: Machine | None = None,
        *,
        interval_s: float = INTERVAL_S,
    ) -> None:
        """`ledger` is read once, when the source starts."""
        self._rig = settings.rig.name
        self._ledger = ledger
        self._machine = machine or Machine()
        self._interval_s = interval_s
        self._boot_id = clock.boot_id(self._machine.proc)
        self._id = self._boot_id or uuid4().hex
        self._asleep_ns = self._machine.asleep_ns()
        self._steps_told = 0
        self._boot_told: Host | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._deliver: Deliver | None = None

    def start(self, deliver: Deliver) -> None:
        """Begin; `deliver` gets what has befallen, on the source's thread."""
        self._deliver = deliver
        self._thread = threading.Thread(target=self._run, name="host", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop; where the whole system goes down, that is told first."""
        self._stop.set()
        if self._thread is None or self._deliver is None:
            return
        self._thread.join()
        if self._machine.going_down():
            self._deliver([self._event("shutdown", self._machine.placed.now_ns(), None)])

    def begin(self) -> list[Event]:
        """What befell before the source began: a boot, or a clock set while nobody looked.

        Raises what reading the ledger raises.
        """
        if self._boot_id is None:
            return []
        placed = self._machine.placed
        events = life.host_events(self._ledger, self._rig)
        self._steps_told = len(placed.steps())
        boot_ns = self._boot_at_ns()
        told = life.of_boot(events, "boot", self._boot_id)
        if told is None:
            last = life.last_life(self._ledger, self._rig, self._boot_id, placed.now_ns())
            off_ns = self._off_since_ns(boot_ns, events, last)
            self._boot_told = self._boot(boot_ns, off_ns, 0)
            return [*self._set_between_boots(boot_ns, last), self._boot_told]
        off_ns = None if told.duration_ns is None else told.at_ns - told.duration_ns
        self._boot_told = self._boot(told.at_ns, off_ns, told.revision)
        step_ns = boot_ns - told.at_ns
        if abs(step_ns) < STEP_NS:
            return []
        again = self._boot_again(self._boot_told, boot_ns)
        return [self._event("clock_step", placed.now_ns(), step_ns), again]

    def look(self) -> list[Event]:
        """What has befallen since the last look."""
        told: list[Event] = []
        steps = self._machine.placed.steps(self._steps_told)
        self._steps_told += len(steps)
        for step in steps:
            log.warning("the wall clock was set by %+.3f s", step.step_ns / SECOND_NS)
            told.append(self._event("clock_step", step.at_ns, step.step_ns, step.boot_ns))
        if steps and self._boot_told is not None:
            told.append(self._boot_again(self._boot_told, self._boot_at_ns()))
        asleep_ns = self._machine.asleep_ns()
        if asleep_ns is not None:
            slept_ns = 0 if self._asleep_ns is None else asleep_ns - self._asleep_ns
            self._asleep_ns = asleep_ns
            if slept_ns >= STEP_NS:
                log.info("the host was suspended for %.0f s", slept_ns / SECOND_NS)
                told.append(self._event("resume", self._machine.placed.now_ns(), slept_ns))
        return told

    def _run(self) -> None:
        if self._deliver is None:
            return
        begun = False
        while not self._stop.is_set():
            try:
                told = self.look() if begun else self.begin()
                begun = True
                if told:
                    self._deliver(told)
            except Exception:
                log.exception("a look at the host failed; the next one follows")
            self._stop.wait(self._interval_s)

    def _boot_at_ns(self) -> int:
        """When the host was booted, by the wall clock as it is now, to the whole µs."""
        now_ns = self._machine.placed.now_ns()
        return (now_ns - self._machine.boot()) // 1000 * 1000

    def _off_since_ns(
        self, boot_ns: int, events: list[life.Told], last: life.Life | None
    ) -> int | None:
        """Since when the host is shown to have been off before this boot."""
        ending = wtmp.ending(boot_ns, self._machine.wtmp)
        proofs = [] if ending is None or ending.shutdown_ns is None else [ending.shutdown_ns]
        own = life.of_boot(events, "shutdown", last.boot_id) if last is not None else None
        if own is not None and last is not None and last.at_ns <= own.at_ns + FAREWELL_NS:
            # A boot between that shutdown and this boot would make it no proof.
            between = None if ending is None else ending.earlier_boot_ns
            if between is None or between <= own.at_ns:
                proofs.append(own.at_ns)
        if not proofs:
            return None
        return max([*proofs, last.at_ns] if last is not None else proofs)

    def _set_between_boots(self, boot_ns: int, last: life.Life | None) -> list[Event]:
        """A clock step where an earlier boot's clock was ahead of this one's."""
        if last is None or last.at_ns - boot_ns < STEP_NS:
            return []
        step = self._event("clock_step", boot_ns, boot_ns - last.at_ns)
        # Not this boot's own: it began after the step.
        return [msgspec.structs.replace(step, boot_id=None)]

    def _boot(self, boot_ns: int, off_ns: int | None, revision: int) -> Host:
        off = None if off_ns is None or off_ns >= boot_ns else boot_ns - off_ns
        return Host(
            source=SOURCE,
            event_id=f"boot-{self._id}",
            revision=revision,
            rig=self._rig,
            boot_id=self._boot_id,
            what="boot",
            at=from_ns(boot_ns),
            duration_ns=off,
        )

    def _boot_again(self, before: Host, boot_ns: int) -> Host:
        """The boot as the new clock places it; what was off before it ended then, too."""
        was_ns = clock.to_ns(before.at)
        off_ns = None if before.duration_ns is None else was_ns - before.duration_ns
        self._boot_told = self._boot(boot_ns, off_ns, before.revision + 1)
        return self._boot_told

    def _event(self, what: What, at_ns: int, ns: int | None, boot_ns: int | None = None) -> Host:
        """An event whose id tells its place in the boot, so that ids of a boot sort by time."""
        mark = self._machine.boot() if boot_ns is None else boot_ns
        return Host(
            source=SOURCE,
            event_id=f"{what}-{self._id}-{mark:020d}",
            rig=self._rig,
            boot_id=self._boot_id,
            what=what,
            at=from_ns(at_ns),
            duration_ns=ns,
        )
