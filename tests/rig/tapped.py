"""A tap in this process, its events in a list, and a client that sees raw bytes."""

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from aiohttp import web

from collector.events import Attempt, Event
from collector.settings import EngineSettings, Settings
from router.engines import Assignments
from router.event_ids import EventIds
from router.labels import Labels
from router.passing import Booking, Limits
from router.tap import Tap
from router.watch import Origin

# BLAKE2b of "card0", 16 bytes, keyed with 32 times "s", personalised with "tap".
MARK_OF_CARD0 = (
    b"k1:"
    + hashlib.blake2b(b"card0", key=b"s" * 32, person=b"tap", digest_size=16).hexdigest().encode()
)


@dataclass
class Tapped:
    """A running tap."""

    port: int
    tap: Tap
    runner: web.ServerRunner
    events: list[Attempt] = field(default_factory=list)
    url: str = ""

    async def booked(self, number: int = 1) -> list[Attempt]:
        """The events, once there are `number` of them; AssertionError if that takes 5 s."""
        for _ in range(1000):
            if len(self.events) >= number:
                break
            await asyncio.sleep(0.005)
        assert len(self.events) == number, f"{len(self.events)} events instead of {number}"
        return self.events


@contextlib.asynccontextmanager
async def tapped(
    upstream_url: str, limits: Limits | None = None, port: int = 0
) -> AsyncIterator[Tapped]:
    """Serve one tap on a loopback port, a free one unless told."""
    engine = EngineSettings(name="card0", url=upstream_url, gpus=["GPU-0"])
    events: list[Event] = []
    tap = Tap(
        Assignments(Settings(engines=[engine]), "card0"),
        Booking(Origin("tap", "desk", "boot-1", Labels(b"s" * 32)), events.append, EventIds()),
        limits or Limits(),
        only_here=True,
    )
    runner = web.ServerRunner(tap.server, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    port = runner.addresses[0][1]
    try:
        yield Tapped(port, tap, runner, events, f"http://127.0.0.1:{port}")  # type: ignore[arg-type]
    finally:
        await runner.cleanup()


def request(
    body: bytes,
    *headers: bytes,
    target: bytes = b"/v1/chat/completions",
    method: bytes = b"POST",
    close: bool = True,
) -> bytes:
    """A raw HTTP request."""
    lines = [
        method + b" " + target + b" HTTP/1.1",
        b"Host: localhost",
        b"Content-Length: %d" % len(body),
        *([b"Connection: close"] if close else []),
        *headers,
    ]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


async def exchange(port: int, data: bytes) -> bytes:
    """Send raw bytes and read until the connection closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    try:
        return await reader.read()
    finally:
        writer.close()


def body_of(raw: bytes) -> bytes:
    """The body of a raw answer; ValueError if a chunked one lacks its end."""
    head, _, rest = raw.partition(b"\r\n\r\n")
    if b"transfer-encoding: chunked" not in head.lower():
        return rest
    body = bytearray()
    while True:
        size, mark, rest = rest.partition(b"\r\n")
        if not mark:
            raise ValueError("the chunked body was cut")
        length = int(size, 16)
        if length == 0:
            return bytes(body)
        if len(rest) < length + 2:
            raise ValueError("the chunked body was cut")
        body += rest[:length]
        rest = rest[length + 2 :]
