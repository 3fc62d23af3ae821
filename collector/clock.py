"""Time as the ledger keeps it: UTC instants and boot-clock durations, in integer nanoseconds.

The wall clock may be set at any moment, the boot clock runs evenly through sleep and steps. So
what a process of ours sees is placed by one `Placed` clock: the boot clock plus an offset.
While the wall clock is only slewed, the offset follows slowly, and the order of events is kept.
When it is stepped, the offset follows at once and the step is remembered, to become one recorded
`clock_step`: everything before it bears the old clock's time, everything after it the new one's.
After a step back the same wall time is therefore told twice; `analytics.host` says which part,
and the books count it once.
"""

import threading
import time
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND_NS = 1_000_000_000
# A smaller step is followed slowly, like a slewed clock.
STEP_NS = SECOND_NS
# The offset follows a slewed clock at a tenth of the time that passes: faster than any slews.
SLEW_DIVISOR = 10
# Two clocks cannot be read at once; a look that was interrupted between them says nothing.
LOOK_NS = 20_000_000
LOOKS = 5


def now_ns() -> int:
    """The wall clock, ns since the epoch (UTC). It places events; it never measures them."""
    return time.time_ns()


def boot_ns() -> int:
    """The boot clock, ns: monotonic and counting through suspend, so durations survive both."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def awake_ns() -> int:
    """The monotonic clock, ns: like the boot clock, but it stands still while suspended."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def boot_id(root: Path = Path("/proc")) -> str | None:
    """The kernel's id of this boot, or None where the kernel does not tell."""
    try:
        return (root / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None


def to_ns(instant: datetime) -> int:
    """An aware instant as ns since the epoch, exactly (datetime carries microseconds)."""
    since = instant - EPOCH
    return ((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds) * 1000


def from_ns(instant_ns: int) -> datetime:
    """Ns since the epoch as an aware UTC datetime, floored to the microsecond."""
    return EPOCH + timedelta(microseconds=instant_ns // 1000)


@dataclass(frozen=True)
class Step:
    """The wall clock was set: `step_ns` forward (or back, negative), noticed at `boot_ns`.

    `at_ns` is that moment by the new clock.
    """

    at_ns: int
    step_ns: int
    boot_ns: int


class Placed:
    """A wall clock that is ordered between recorded steps. Safe to use from several threads."""

    def __init__(self, wall: Callable[[], int] = now_ns, boot: Callable[[], int] = boot_ns) -> None:
        """`wall` and `boot` give ns; they are read at once, to anchor the offset."""
        self._wall = wall
        self._boot = boot
        self._lock = threading.Lock()
        offset, at = self._look() or (wall() - boot(), boot())
        self._seen_ns = at
        # From which boot instant each offset holds: one entry more than steps.
        self._since = [at]
        self._offsets = [offset]
        self._steps: list[Step] = []

    def now_ns(self) -> int:
        """The wall time of this moment, ns since the epoch; notices steps."""
        with self._lock:
            at = self._follow()
            return at + self._offsets[-1]

    def place(self, boot_instant_ns: int) -> int:
        """The wall time of an instant of the boot clock, by the clock in force at that instant."""
        with self._lock:
            self._follow()
            era = max(0, bisect_right(self._since, boot_instant_ns) - 1)
            return boot_instant_ns + self._offsets[era]

    def steps(self, after: int = 0) -> list[Step]:
        """The steps noticed so far, less the first `after`."""
        with self._lock:
            self._follow()
            return self._steps[after:]

    def _follow(self) -> int:
        """Bring the offset up to this moment, which is returned on the boot clock."""
        look = self._look()
        if look is None:
            return self._boot()
        offset, at = look
        drift = offset - self._offsets[-1]
        if abs(drift) >= STEP_NS:
            self._steps.append(Step(at + offset, drift, at))
            self._since.append(at)
            self._offsets.append(offset)
        else:
            most = max(0, at - self._seen_ns) // SLEW_DIVISOR
            self._offsets[-1] += min(max(drift, -most), most)
        self._seen_ns = at
        return at

    def _look(self) -> tuple[int, int] | None:
        """How far the wall clock is ahead of the boot clock, and when; None: never at once."""
        for _ in range(LOOKS):
            before = self._boot()
            wall = self._wall()
            at = self._boot()
            if at - before <= LOOK_NS:
                return wall - at, at
        return None


PLACED = Placed()
"""The clock by which this process places what it sees."""
