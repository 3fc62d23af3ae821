"""What router and taps look like from outside: who listens, and what waits for the collector."""

import socket
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from collector.settings import Settings
from collector.settings_check import split_address
from router.service import SOURCE

CONNECT_S = 2.0


@dataclass(frozen=True)
class TapFacts:
    """Router and taps. `listening` by address; `waiting` and `refused` events of their spool.

    The latter two are None while a process holds the spool: it alone knows then.
    """

    listening: dict[str, bool]
    waiting: int | None = None
    refused: int | None = None


def gather(settings: Settings) -> TapFacts:
    """Look at every port of the settings and at their spool; changes nothing, never raises."""
    ports = [tap.listen for tap in settings.taps]
    if settings.router.listen is not None:
        ports.append(settings.router.listen)
    listening = {port: _listens(port) for port in ports}
    waiting, refused = _backlog(settings.store_path() / f"spool-{SOURCE}.sqlite")
    return TapFacts(listening, waiting, refused)


def _listens(address: str) -> bool:
    host, port = split_address(address)
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    try:
        socket.create_connection((host, port), timeout=CONNECT_S).close()
    except OSError:
        return False
    return True


def _backlog(spool: Path) -> tuple[int | None, int | None]:
    if not spool.exists():
        return 0, 0
    try:
        uri = f"{spool.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, timeout=0.5)) as db:
            (waiting,) = db.execute("SELECT count(*) FROM waiting").fetchone()
            (refused,) = db.execute("SELECT count(*) FROM refused").fetchone()
    except sqlite3.Error:
        return None, None
    return int(waiting), int(refused)
