"""The collector as one process: store, writer thread, sealing thread, sources and the door."""

import asyncio
import gc
import logging
import signal
import threading
from collections.abc import Callable
from typing import Protocol

import duckdb
import pyarrow as pa
import uvloop

from collector import face, guard, serve
from collector.clock import now_ns
from collector.commit import Committer, Feed
from collector.compact import RETIRED_NS
from collector.events import Event
from collector.manifest import LedgerError
from collector.metrics import Tally
from collector.parcel import Parcel
from collector.settings import Settings
from collector.sources.engine_health import EngineHealth
from collector.sources.host import HostSource
from collector.sources.meters import MeterSource
from collector.sources.nvml import NvmlSource
from collector.store import Receipt, Store, StoreUnavailable

log = logging.getLogger(__name__)
# Few and large files read best; the store's thresholds seal a busy rig sooner.
SEAL_SECONDS = 6 * 3600.0
SEAL_RETRY_SECONDS = 30.0
GARBAGE_OBJECTS = 100_000


class Source(Protocol):
    """Something that is read: it delivers events from a thread of its own."""

    def start(self, deliver: Callable[[list[Event]], None]) -> None:
        """Begin to read."""

    def stop(self) -> None:
        """Stop; returns when no more will be delivered."""


class Sealer:
    """Seals, merges and renews the face on its own thread, when it is due and at intervals."""

    def __init__(self, store: Store, *, interval_s: float = SEAL_SECONDS) -> None:
        self._store = store
        self._interval_s = interval_s
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sealer")
        self._thread.start()

    def nudge(self) -> None:
        """Look again whether enough is hot."""
        if self._store.seal_due:
            self._wake.set()

    def close(self) -> None:
        """Stop; waits for a seal under way."""
        self._stop.set()
        self._wake.set()
        self._thread.join()

    def _run(self) -> None:
        if self._store.seal_due:
            self._wake.set()
        else:
            self._renew_face()  # the folder may have been moved since
        while not self._stop.is_set():
            nudged = self._wake.wait(self._interval_s)
            self._wake.clear()
            # Nudges given during the last seal counted the rows that it was moving.
            if self._stop.is_set() or (nudged and not self._store.seal_due):
                continue
            try:
                self._tend()
                pa.default_memory_pool().release_unused()  # a seal's tables are not needed soon
            except StoreUnavailable as error:
                log.error("sealing failed and is tried again: %s", error)
                self._stop.wait(SEAL_RETRY_SECONDS)
            except Exception:
                log.exception("sealing failed and is tried again")
                self._stop.wait(SEAL_RETRY_SECONDS)

    def _tend(self) -> None:
        rows = self._store.seal()
        try:
            merged = self._store.compact()
        finally:  # a merge that fails for want of room is helped by what the one before left
            self._renew_face()
            self._store.bury(now_ns() - RETIRED_NS)
        self._store.forget_keys(now_ns())
        log.info("sealed %d rows, merged %d files", rows, merged)

    def _renew_face(self) -> None:
        try:
            face.sweep(self._store.path)
            face.build(self._store.path)
        except (duckdb.Error, OSError, LedgerError) as error:
            log.error("%s is as it was before: %s", face.FACE, error)


def sources(settings: Settings) -> list[Source]:
    """What this rig's collector reads by itself."""
    host = HostSource(settings, settings.store_path())
    return [host, EngineHealth(settings), NvmlSource(settings), MeterSource(settings)]


async def run(
    settings: Settings,
    store: Store,
    own: list[Source],
    *,
    started: Callable[[int], None] = lambda port: None,
) -> None:
    """Collect until SIGTERM or SIGINT; `started` gets the port once the door is open.

    Raises SettingsError where it cannot listen. The caller closes the store.
    """
    secret = guard.token(settings.collector.listen, settings.collector.token_file)
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stopping.set)
    tally = Tally()
    sealer = Sealer(store)

    def observe(parcel: Parcel, receipt: Receipt) -> None:
        tally.kept(parcel, receipt)
        sealer.nudge()

    committer = Committer(store, observe=observe, failed=sealer.nudge)
    begun: list[Source] = []
    try:
        runner, port = await serve.start(
            serve.Door(store, committer, tally, secret), settings.collector.listen
        )
        try:
            feed = Feed(committer)
            for source in own:
                source.start(feed.deliver)
                begun.append(source)
            log.info("collecting into %s, listening on port %d", store.path, port)
            started(port)
            await stopping.wait()
            log.info("stopping")
        finally:
            await runner.cleanup()
            for source in begun:
                await asyncio.to_thread(source.stop)
    finally:
        committer.close()
        sealer.close()


def collect(settings: Settings, *, reading: bool = True) -> int:
    """`rigledger collect`: run until told to stop; without `reading` only HTTP brings events."""
    with Store(settings.store_path()) as store:
        # What is loaded by now stays, and batches make many objects but hardly a cycle: looking
        # for cycles every 700 objects took a fifth of all time.
        gc.freeze()
        gc.set_threshold(GARBAGE_OBJECTS)
        uvloop.run(run(settings, store, sources(settings) if reading else []))
    return 0
