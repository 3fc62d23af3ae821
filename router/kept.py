"""Connections to engines that are kept open between requests, for a moment.

Connecting is the larger part of what a request waits for on its way. Yet an engine that has just
closed a connection would fail a request that it never saw. So one is kept for a second, less than
any engine closes it after; none is used again before the engine has left one open for so long, and
none from which something can be read. llama.cpp's server keeps a thread waiting on each idle
connection while requests on new ones queue, and tells so by a `Keep-Alive` field: its connections
are not kept.
"""

import asyncio
import select
from collections import deque
from dataclasses import dataclass, field

from router.sockets import Answering, Place

IDLE_S = 1.0
# Of one place; more than most engines compute at once.
MOST = 32


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A connection that waits for a request, since an instant of the loop's clock, s."""

    made: Answering
    since_s: float
    poll: select.poll

    def is_silent(self) -> bool:
        """Whether it is open, and nothing has come that nobody asked for, nor its end."""
        return self.made.may_serve_again and not self.poll.poll(0)


@dataclass
class _Idle:
    """The connections to one place; `proven`: the last one that was looked at, it had kept open."""

    waiting: deque[_Waiting] = field(default_factory=deque)
    proven: bool = False


class Kept:
    """The connections of one port to its engines that no request uses."""

    def __init__(self) -> None:
        """Nothing is kept yet."""
        self._idle: dict[Place, _Idle] = {}
        # Each connection holds a thread there.
        self._threaded: set[Place] = set()
        self._sweeping: asyncio.TimerHandle | None = None
        self._closed = False

    def wanted(self, place: Place) -> bool:
        """Whether its connections are kept at all."""
        return place not in self._threaded

    def take(self, place: Place) -> Answering | None:
        """A connection on which a request can go out at once; None where there is none."""
        idle = self._idle.get(place)
        now = asyncio.get_running_loop().time()
        while idle is not None and idle.proven and idle.waiting:
            found = idle.waiting.pop()
            idle.proven = found.is_silent()
            if idle.proven and now - found.since_s <= IDLE_S:
                return found.made
            found.made.close()
        return None

    def give(self, place: Place, made: Answering, *, threaded: bool) -> None:
        """Keep a connection whose answer has come whole. `threaded`: the engine has told for how
        long it waits, as those do that have a thread waiting for each; others would queue there."""
        if threaded:
            self._threaded.add(place)
        idle = self._idle.setdefault(place, _Idle())
        transport, full = made.transport, len(idle.waiting) >= MOST
        if self._closed or threaded or full or transport is None or not made.may_serve_again:
            made.close()
            return
        made.rest()
        loop = asyncio.get_running_loop()
        poll = select.poll()
        poll.register(transport.get_extra_info("socket"), select.POLLIN)
        idle.waiting.append(_Waiting(made, loop.time(), poll))
        if self._sweeping is None:
            self._sweeping = loop.call_later(IDLE_S / 2, self._sweep)

    def close(self) -> None:
        """Keep nothing from now on."""
        self._closed = True
        if self._sweeping is not None:
            self._sweeping.cancel()
        for idle in self._idle.values():
            for found in idle.waiting:
                found.made.close()
        self._idle.clear()

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        self._sweeping = None
        for idle in self._idle.values():
            while idle.waiting and loop.time() - idle.waiting[0].since_s > IDLE_S:
                found = idle.waiting.popleft()
                idle.proven = found.is_silent()
                found.made.close()
            if idle.waiting and self._sweeping is None:
                self._sweeping = loop.call_later(IDLE_S / 2, self._sweep)
