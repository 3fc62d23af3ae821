"""The collector's door, open on a free port in a thread of its own."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from collector.commit import Committer
from collector.connections import Connections
from collector.metrics import Tally
from collector.serve import Door, start
from collector.store import Store


@dataclass
class Opened:
    """A running door."""

    door: Door
    port: int

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def opened(
    path: Path,
    *,
    secret: str | None = None,
    max_events: int = 100_000,
    listen: str = "127.0.0.1:0",
    connections: Connections | None = None,
) -> Iterator[Opened]:
    """Serve a ledger until the block ends."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    with Store(path) as store:
        tally = Tally()
        committer = Committer(store, max_events=max_events, observe=tally.kept)
        clients = connections or Connections()
        door = Door(store, committer, tally, secret, connections=clients)
        try:
            starting = asyncio.run_coroutine_threadsafe(start(door, listen), loop)
            runner, port = starting.result()
            try:
                yield Opened(door, port)
            finally:
                asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
        finally:
            committer.close()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()
