"""An engine by script: a TCP server that keeps what it received and plays what a test says."""

import asyncio
import socket
import struct
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field


@dataclass
class Received:
    """One request as it came over the wire."""

    head: bytes
    body: bytes = b""

    @property
    def start_line(self) -> bytes:
        """Method, target and version."""
        return self.head.split(b"\r\n", 1)[0]

    @property
    def headers(self) -> dict[bytes, bytes]:
        """Header fields, names in lower case; of several with one name the last."""
        lines = self.head.split(b"\r\n")[1:]
        pairs = [line.partition(b":") for line in lines if line]
        return {name.lower(): value.strip() for name, _, value in pairs}


@dataclass
class Wire:
    """One connection, while a script plays on it."""

    received: Received
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    gone_at: float | None = None

    async def send(self, data: bytes) -> None:
        """Write and wait until the peer takes it."""
        self.writer.write(data)
        await self.writer.drain()

    async def send_chunk(self, data: bytes) -> None:
        """Write one chunk of a chunked body; an empty one ends it."""
        await self.send(b"%x\r\n%b\r\n" % (len(data), data))

    def reset(self) -> None:
        """Cut the connection with a TCP reset."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Play = Callable[[Wire], Awaitable[None]]


class Upstream:
    """`async with Upstream(play) as up`: one request per connection, then `play(wire)`."""

    def __init__(self, play: Play) -> None:
        self.play = play
        self.wires: list[Wire] = []
        self.arrived = asyncio.Event()
        self._counted = asyncio.Condition()

    async def __aenter__(self) -> "Upstream":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=1 << 20)
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for wire in self.wires:
            wire.writer.transport.abort()
        await self._server.wait_closed()

    @property
    def requests(self) -> list[Received]:
        """Every request so far."""
        return [wire.received for wire in self.wires]

    async def seen(self, number: int) -> None:
        """Wait until `number` requests have come."""
        async with self._counted:
            await self._counted.wait_for(lambda: len(self.wires) >= number)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n"))[:-2]
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()
            return
        wire = Wire(Received(head), reader, writer)
        self.wires.append(wire)
        self.arrived.set()
        async with self._counted:
            self._counted.notify_all()
        try:
            wire.received.body = await _body(reader, wire.received)
        except (asyncio.IncompleteReadError, ConnectionError):
            self._mark_gone(wire)
            writer.close()
            return
        watcher = asyncio.create_task(self._watch(wire))
        try:
            await self.play(wire)
        except ConnectionError:
            await wire.gone.wait()
        finally:
            if not writer.transport.is_closing():
                writer.close()
            watcher.cancel()

    async def _watch(self, wire: Wire) -> None:
        try:
            while await wire.reader.read(65536):
                pass
        except ConnectionError:
            pass
        self._mark_gone(wire)

    @staticmethod
    def _mark_gone(wire: Wire) -> None:
        wire.gone_at = time.monotonic()
        wire.gone.set()


async def _body(reader: asyncio.StreamReader, received: Received) -> bytes:
    headers = received.headers
    if headers.get(b"transfer-encoding") == b"chunked":
        body = bytearray()
        while size := int((await reader.readline()).strip(), 16):
            body += await reader.readexactly(size)
            await reader.readexactly(2)
        await reader.readline()
        return bytes(body)
    return await reader.readexactly(int(headers.get(b"content-length", 0)))


def answer(body: bytes, *headers: bytes, status: bytes = b"200 OK") -> bytes:
    """A whole HTTP answer with its length told."""
    lines = [b"HTTP/1.1 " + status, b"Content-Length: %d" % len(body), *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def stream_head(*headers: bytes) -> bytes:
    """The head of a chunked event stream."""
    fixed = (b"Content-Type: text/event-stream", b"Transfer-Encoding: chunked")
    return b"\r\n".join([b"HTTP/1.1 200 OK", *fixed, *headers]) + b"\r\n\r\n"


def replay(data: bytes) -> Play:
    """A script that sends these bytes and closes."""

    async def play(wire: Wire) -> None:
        await wire.send(data)

    return play
