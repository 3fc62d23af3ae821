"""Time as the ledger keeps it: UTC instants and boot-clock durations, in integer nanoseconds."""

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND_NS = 1_000_000_000


def now_ns() -> int:
    """The wall clock, ns since the epoch (UTC). It places events; it never measures them."""
    return time.time_ns()


def boot_ns() -> int:
    """The boot clock, ns: monotonic and counting through suspend, so durations survive both."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


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
