"""A GET with a deadline for all of it: whoever answers a byte a second is given up, too."""

import contextlib
import socket
import threading
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPSConnection
from urllib.parse import urlsplit

STEP_S = 4.0
BODY_MAX = 1 << 20


def ask(
    url: str, within_s: float, body_max: int = BODY_MAX, headers: Mapping[str, str] | None = None
) -> tuple[int, bytes]:
    """Status and body (of `body_max` bytes at most) of an address; follows no redirect, asks no
    proxy.

    Raises OSError (TimeoutError past `within_s`, counted from the connection on, or 4 s without
    a byte), http.client.HTTPException, and ValueError for what is no address.
    """
    parts = urlsplit(url)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=min(STEP_S, within_s))
    over = threading.Event()
    try:
        connection.connect()
        # Held here: the connection forgets its socket once an answer says that it is the last.
        cut = threading.Timer(within_s, _cut, (connection.sock, over))
        cut.daemon = True
        cut.start()
        try:
            target = f"{parts.path or '/'}{'?' * bool(parts.query)}{parts.query}"
            connection.request("GET", target, headers=dict(headers or {}))
            with contextlib.closing(connection.getresponse()) as answer:
                found = answer.status, answer.read(body_max)
        except Exception:
            if over.is_set():
                raise TimeoutError(f"no whole answer within {within_s:g} s") from None
            raise
        finally:
            cut.cancel()
        # A head that was cut in its middle reads like a whole one.
        if over.is_set():
            raise TimeoutError(f"no whole answer within {within_s:g} s")
        return found
    finally:
        connection.close()


def _cut(sock: socket.socket, over: threading.Event) -> None:
    over.set()
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
