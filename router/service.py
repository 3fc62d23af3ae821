"""The door and all taps of the settings in one process, with their feed and their heartbeat."""

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine, Iterator
from random import Random

from aiohttp import web

from collector import guard
from collector.clock import PLACED, boot_id, from_ns
from collector.events import Heartbeat
from collector.manifest import make_folder
from collector.settings import Settings, SettingsError
from collector.settings import Tap as TapSettings
from collector.settings_check import is_loopback, split_address
from router.choice import Chooser
from router.door import Door
from router.engines import Assignments
from router.event_ids import EventIds
from router.feed import Feed
from router.front import Front, workers
from router.gate import Gate
from router.labels import Labels, load_secret
from router.minding import failure, mind
from router.passing import Booking, Limits
from router.receipt import Receipt
from router.spool import SPOOL_BYTES, Spool
from router.tap import Tap
from router.watch import Origin

SOURCE = "tap"
FRONT = "front"
DOOR = "router"
HEARTBEAT_S = 10.0
DRAIN_S = 30.0


class PortTaken(SettingsError):
    """An address of the settings cannot be listened on."""


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
    """The ports of one process; `run` serves them until SIGTERM or SIGINT."""

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
        self._labels = Labels(load_secret(settings.store_path()), settings.router.plain_labels)
        self._ids = EventIds()
        self._boot_id = boot_id()
        self._door: Door | None = None
        self._gates: list[Gate] = []
        self._runners: list[web.ServerRunner] = []

    async def run(self) -> None:
        """Serve; at the signal take no new connections, give running requests `drain_s` to
        finish, cut and book the rest. Raises PortTaken, SettingsError."""
        stop = asyncio.Event()
        for signum in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(signum, stop.set)
        try:
            await self._start()
            async with asyncio.TaskGroup() as tasks:
                minding = [tasks.create_task(each) for each in self._minding()]
                await stop.wait()
                for task in minding:
                    task.cancel()
            self._say("stopping: no new connections; running requests are finishing")
            await self._drain()
        finally:
            for runner in self._runners:
                await runner.cleanup()
            if self._door is not None:
                await self._door.close()

    async def _start(self) -> None:
        if self._settings.router.listen is not None:
            await self._open_door(self._settings.router.listen)
        for declared in self._settings.taps:
            await self._serve(self._tap(declared), f"tap for {declared.behind}", declared.listen)

    def _tap(self, declared: TapSettings) -> Gate:
        only_here = is_loopback(split_address(declared.listen)[0])
        if declared.front is not None:
            known = workers(self._settings)
            booking = self._booking(FRONT)
            return Front(declared.front, known, booking, self._limits, only_here=only_here)
        assignments = Assignments(self._settings, declared.behind)
        return Tap(assignments, self._booking(SOURCE), self._limits, only_here=only_here)

    async def _open_door(self, listen: str) -> None:
        chosen = self._settings.router
        chooser = Chooser(self._settings, self._labels, Random())  # noqa: S311 (ties, no secrets)
        door = Door(
            chooser,
            self._booking(DOOR),
            self._limits,
            Receipt(chosen.body_mb * 1024 * 1024),
            token=guard.token(listen, chosen.token_file, "router"),
            only_here=is_loopback(split_address(listen)[0]),
        )
        self._door = door
        await self._serve(door, "router", listen)
        await failure(door.ask_models)  # `mind` asks again at once, and tells what failed

    async def _serve(self, gate: Gate, what: str, listen: str) -> None:
        self._gates.append(gate)
        runner = web.ServerRunner(gate.server, shutdown_timeout=0.1)
        self._runners.append(runner)
        await runner.setup()
        self._say(f"{what}: http://{await _listen(runner, what, listen)}")

    def _booking(self, source: str) -> Booking:
        origin = Origin(source, self._settings.rig.name, self._boot_id, self._labels)
        return Booking(origin, self._feed.put, self._ids, self._feed.lose)

    async def _drain(self) -> None:
        for runner in self._runners:
            for site in list(runner.sites):
                await site.stop()
        # Connections accepted before that begin their requests now.
        await asyncio.sleep(0)
        await asyncio.gather(*(gate.drain(self._drain_s) for gate in self._gates))

    def _minding(self) -> Iterator[Coroutine[None, None, None]]:
        """What goes on beside the requests."""
        taps = sorted({tap.engine for tap in self._settings.taps if tap.engine})
        if taps:
            yield self._beating(SOURCE, taps)
        if self._door is not None:
            yield self._beating(DOOR, sorted({each.name for each in self._settings.engines}))
            yield from self._door.minding()

    def _beating(self, witness: str, covers: list[str]) -> Coroutine[None, None, None]:
        async def beat() -> None:
            self._feed.put(
                Heartbeat(
                    source=witness,
                    event_id=self._ids.next(),
                    rig=self._settings.rig.name,
                    boot_id=self._boot_id,
                    witness=witness,
                    covers=covers,
                    at=from_ns(PLACED.now_ns()),
                )
            )

        return mind(f"the heartbeat of {witness}", beat, HEARTBEAT_S)


async def _listen(runner: web.ServerRunner, what: str, listen: str) -> str:
    host, port = split_address(listen)
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError as error:
        raise PortTaken(
            f"the {what} cannot listen on {listen} ({os.strerror(error.errno or 0)}):"
            " stop what listens there, or choose another port in the settings"
        ) from None
    return f"{listen.rpartition(':')[0]}:{runner.addresses[0][1]}"


def check(settings: Settings) -> None:
    """Raise SettingsError when there is nothing to serve or to serve it with."""
    if settings.router.listen is None and not settings.taps:
        raise SettingsError(
            "neither a router nor taps are configured; set listen in [router], or add a [[taps]]"
            " entry with engine and listen, in rigledger.toml"
        )
    if settings.router.listen is not None and not settings.engines:
        raise SettingsError("[router] has no engine to choose; add them under [[engines]]")
    for tap in settings.taps:
        if tap.engine is not None:
            Assignments(settings, tap.engine)
