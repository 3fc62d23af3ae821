"""TCP connections that notice by themselves when the other end has gone."""

import contextlib
import socket
from typing import Any

# Two minutes of silence from a host, not from an engine: its kernel answers the probes.
IDLE_S = 60
PROBE_S = 15
PROBES = 4
AddrInfo = tuple[Any, Any, int, str, tuple[Any, ...]]


def keep_alive(sock: socket.socket | None) -> None:
    """Have the kernel probe a silent peer, and end the connection where none answers."""
    if sock is None or sock.family not in (socket.AF_INET, socket.AF_INET6):
        return
    with contextlib.suppress(OSError):  # closed in this moment
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, IDLE_S)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, PROBE_S)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, PROBES)


def kept_alive(address: AddrInfo) -> socket.socket:
    """A new socket for an address of `getaddrinfo` that will be probed."""
    family, kind, protocol, _, _ = address
    sock = socket.socket(family, kind, protocol)
    keep_alive(sock)
    return sock
