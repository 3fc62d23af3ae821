"""Ports of 127.0.0.1 that nobody listens on, and that nobody else takes before they are used.

The system's own choice (port 0) may fall on a port that was free a second ago; these lie below its
range (/proc/sys/net/ipv4/ip_local_port_range) and beside those that engines are known for. Each
process of a parallel run has a share of them, and starts somewhere in it, in case another checkout
is tested meanwhile.
"""

import os
import random
import socket
from collections.abc import Iterator
from itertools import chain, cycle

FIRST, END = 12_000, 29_000
_next: Iterator[int] | None = None


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on, all different, and not told before for a long time."""
    global _next  # noqa: PLW0603 - one walk through the share of this process
    _next = _next or _share()
    found: list[int] = []
    while len(found) < count:
        port = next(_next)
        if _is_free(port):
            found.append(port)
    return found


def free_port() -> int:
    """One of them."""
    return free_ports(1)[0]


def _share() -> Iterator[int]:
    """The ports of this process, again and again."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    width = (END - FIRST) // workers
    mine = range(FIRST + worker * width, FIRST + (worker + 1) * width)
    start = random.SystemRandom().randrange(width)
    return cycle(chain(mine[start:], mine[:start]))


def _is_free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True
