"""A front door on a loopback port, before engines by script."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from random import Random

from aiohttp import web

from collector.events import Attempt, Event
from collector.settings import EngineSettings, RouterSettings, Settings
from router.choice import Chooser
from router.door import Door
from router.event_ids import EventIds
from router.labels import Labels
from router.passing import Booking, Limits
from router.receipt import Receipt
from router.watch import Origin


@dataclass
class Doored:
    """One door and what it has put on the books."""

    port: int
    door: Door
    chooser: Chooser
    receipt: Receipt
    runner: web.ServerRunner
    events: list[Attempt] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Where clients find it."""
        return f"http://127.0.0.1:{self.port}"

    async def booked(self, number: int = 1) -> list[Attempt]:
        """The events, once there are `number` of them; AssertionError if that takes 5 s."""
        for _ in range(1000):
            if len(self.events) >= number:
                break
            await asyncio.sleep(0.005)
        assert len(self.events) == number, f"{len(self.events)} events instead of {number}"
        return self.events

    def idle(self) -> bool:
        """Whether nothing is in flight, pending or held."""
        cards = [self.chooser.card(engine.name) for engine in self.chooser.engines()]
        return self.receipt.held == 0 and all(card.in_flight == 0 for card in cards)


def fleet(*urls: str, **options: object) -> Settings:
    """Settings with an engine per address: card0, card1 …"""
    engines = [
        EngineSettings(name=f"card{n}", url=url, gpus=[f"GPU-{n}"], slots=2, model=None)
        for n, url in enumerate(urls)
    ]
    return Settings(engines=engines, router=RouterSettings(**options))  # type: ignore[arg-type]


@contextlib.asynccontextmanager
async def doored(
    settings: Settings,
    limits: Limits | None = None,
    receipt: Receipt | None = None,
    token: str | None = None,
    seed: int = 1,
    *,
    put: Callable[[Event], None] | None = None,
    lost: Callable[[], None] = lambda: None,
) -> AsyncIterator[Doored]:
    """Serve a door on a free loopback port; its events go to `put`, without one into a list;
    `lost` hears of those that could not be made."""
    events: list[Event] = []
    labels = Labels(b"s" * 32, settings.router.plain_labels)
    chooser = Chooser(settings, labels, Random(seed))
    receipt = receipt or Receipt()
    door = Door(
        chooser,
        Booking(Origin("router", "desk", "boot-1", labels), put or events.append, EventIds(), lost),
        limits or Limits(),
        receipt,
        token=token,
        only_here=True,
    )
    runner = web.ServerRunner(door.server, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port = runner.addresses[0][1]
    try:
        yield Doored(port, door, chooser, receipt, runner, events)  # type: ignore[arg-type]
    finally:
        await runner.cleanup()
        await door.close()
