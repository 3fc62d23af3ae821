"""All taps of the settings in one process, with their feed and their heartbeat."""

import asyncio
import os
import signal
from collections.abc import Callable

from aiohttp import web

from collector import guard
from collector.clock import PLACED, boot_id, from_ns
from collector.events import Heartbeat
from collector.manifest import make_folder
from collector.settings import Settings, SettingsError
from collector.settings_check import is_loopback, split_address
from router.engines import Assignments
from router.event_ids import EventIds
from router.feed import Feed
from router.labels import Labels, load_secret
from router.passing import Booking, Limits
from router.spool import SPOOL_BYTES, Spool
from router.tap import Tap
from router.watch import Origin

SOURCE = "tap"
HEARTBEAT_S = 10.0
DRAIN_S = 30.0


class PortTaken(SettingsError):
    """A tap's address cannot be listened on."""


def collector_url(settings: Settings) -> str:
    """Where this host reaches the collector: a wildcard address is reached over loopback."""
    host, port = guard.address(settings.collector.listen)
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def open_feed(settings: Settings, *, spool_bytes: int = SPOOL_BYTES) -> Feed:
    """The feed of this process, not yet started. Raises SettingsError, SpoolBusy, LedgerError."""
    token = guard.token(settings.collector.listen, settings.collector.token_file)
    folder = settings.store_path()
    make_folder(folder)
    return Feed(
        Spool(folder / f"spool-{SOURCE}.sqlite", spool_bytes), collector_url(settings), token
    )


class Service:
    """The taps of one process; `run` serves them until SIGTERM or SIGINT."""

    def __init__(
        self,
        settings: Settings,
        feed: Feed,
        limits: Limits,
        *,
        say: Callable[[str], None],
        drain_s: float = DRAIN_S,
    ) -> None:
        """`say` gets lines for people. The feed is started and closed by the caller."""
        self._settings = settings
        self._feed = feed
        self._limits = limits
        self._say = say
        self._drain_s = drain_s
        labels = Labels(load_secret(settings.store_path()))
        origin = Origin(SOURCE, settings.rig.name, boot_id(), labels)
        self._booking = Booking(origin, feed.put, EventIds())
        self._taps: list[Tap] = []
        self._runners: list[web.ServerRunner] = []

    async def run(self) -> None:
        """Serve; at the signal take no new connections, give running requests `drain_s` to
        finish, cut and book the rest. Raises PortTaken, SettingsError."""
        stop = asyncio.Event()
        for signum in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(signum, stop.set)
        try:
            await self._start()
            beating = asyncio.create_task(self._beat())
            await stop.wait()
            beating.cancel()
            self._say("stopping: no new connections; running requests are finishing")
            await self._drain()
        finally:
            for runner in self._runners:
                await runner.cleanup()
            for tap in self._taps:
                await tap.close()

    async def _start(self) -> None:
        for declared in self._settings.taps:
            assignments = Assignments(self._settings, declared.engine)
            only_here = is_loopback(split_address(declared.listen)[0])
            tap = Tap(assignments, self._booking, self._limits, only_here=only_here)
            self._taps.append(tap)
            runner = web.ServerRunner(tap.server, shutdown_timeout=0.1)
            self._runners.append(runner)
            await runner.setup()
            address = await _listen(runner, declared.engine, declared.listen)
            self._say(f"tap for {declared.engine}: http://{address}")

    async def _drain(self) -> None:
        for runner in self._runners:
            for site in list(runner.sites):
                await site.stop()
        # Connections accepted before that begin their requests now.
        await asyncio.sleep(0)
        await asyncio.gather(*(tap.drain(self._drain_s) for tap in self._taps))

    async def _beat(self) -> None:
        covers = sorted({tap.engine for tap in self._settings.taps})
        origin = self._booking.origin
        while True:
            self._booking.put(
                Heartbeat(
                    source=origin.source,
                    event_id=self._booking.ids.next(),
                    rig=origin.rig,
                    boot_id=origin.boot_id,
                    witness="tap",
                    covers=covers,
                    at=from_ns(PLACED.now_ns()),
                )
            )
            await asyncio.sleep(HEARTBEAT_S)


async def _listen(runner: web.ServerRunner, engine: str, listen: str) -> str:
    host, port = split_address(listen)
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError as error:
        raise PortTaken(
            f"the tap for {engine!r} cannot listen on {listen} ({os.strerror(error.errno or 0)}):"
            " stop what listens there, or choose another port under [[taps]]"
        ) from None
    return f"{listen.rpartition(':')[0]}:{runner.addresses[0][1]}"


async def _stop_listening(runners: list[web.ServerRunner]) -> None:
    for runner in runners:
        for site in list(runner.sites):
            await site.stop()
        if runner.server is not None:
            runner.server.pre_shutdown()


def check(settings: Settings) -> None:
    """Raise SettingsError when there is nothing to serve or a tap names no engine."""
    if not settings.taps:
        raise SettingsError(
            "no taps are configured; add a [[taps]] entry with engine and listen to rigledger.toml"
        )
    for tap in settings.taps:
        Assignments(settings, tap.engine)
