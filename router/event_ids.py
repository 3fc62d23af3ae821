"""Event ids: unique for ever and in the order of their making."""

import secrets
import threading
import uuid

from collector.clock import now_ns


class EventIds:
    """Time-ordered ids in the layout of UUID version 7.

    The millisecond never goes back, even if the wall clock does; within it a 12-bit count keeps
    the order, and 62 random bits keep processes apart.
    """

    def __init__(self) -> None:
        """Ids of one process."""
        self._lock = threading.Lock()
        self._last = 0

    def next(self) -> str:
        """A new id, greater than every one before it."""
        with self._lock:
            self._last = max(self._last + 1, (now_ns() // 1_000_000) << 12)
            millisecond, count = self._last >> 12, self._last & 0xFFF
        high = millisecond << 16 | 0x7000 | count
        low = 0b10 << 62 | secrets.randbits(62)
        return str(uuid.UUID(int=high << 64 | low))
