"""TCP connections that notice by themselves when the other end has gone."""

import asyncio
import contextlib
import functools
import ipaddress
import socket
import ssl
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import aiohappyeyeballs
import aiohttp
from aiohttp import web
from aiohttp.client_proto import ResponseHandler
from aiohttp.helpers import EMPTY_BODY_METHODS

from collector.connections import Server

# Two minutes of silence from a host, not from an engine: its kernel answers the probes.
IDLE_S = 60
PROBE_S = 15
PROBES = 4
# An answer's head: its lines, and how many fields.
HEAD_BYTES = 64 * 1024
HEAD_FIELDS = 1024
# How long a name keeps its addresses, s.
RESOLVED_S = 10.0
AddrInfo = tuple[Any, Any, int, str, tuple[Any, ...]]


class Place(NamedTuple):
    """Where an engine listens; `secure` where it speaks TLS."""

    host: str
    port: int
    secure: bool = False


@functools.lru_cache(maxsize=1)
def tls() -> ssl.SSLContext:
    """How engines behind TLS are spoken to. It takes a while to read the authorities."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


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


class ProbingServer(Server):
    """A server whose connections are probed, set up once for all requests of a connection."""

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        """A client has connected."""
        super().connection_made(handler, transport)
        keep_alive(transport.get_extra_info("socket"))


class Answering(ResponseHandler):
    """The answers of one connection as they come in. What the library finds no HTTP in the midst of
    a body it tells nobody who waits for that body; here it does."""

    _has_body: bool | None = None
    # Its parser has been, and may still be held up.
    _was_held_up = False

    def __init__(self, loop: asyncio.AbstractEventLoop, idle_s: float | None = None) -> None:
        """`idle_s`: for how long the engine may be silent, None for ever."""
        super().__init__(loop)
        self._idle_s = idle_s

    def expect(self, method: str) -> None:
        """What comes next answers a request of this method."""
        has_body = method not in EMPTY_BODY_METHODS
        if has_body is self._has_body:
            return
        self._has_body = has_body
        self.set_response_params(
            skip_payload=not has_body,
            read_until_eof=True,
            auto_decompress=False,
            read_timeout=self._idle_s,
            max_line_size=HEAD_BYTES,
            max_field_size=HEAD_BYTES,
            max_headers=HEAD_FIELDS,
        )

    def set_exception(self, exc: BaseException, *cause: BaseException) -> None:
        """The connection has failed, and so has what is still to come of the body."""
        super().set_exception(exc, *cause)
        body = self._payload
        if body is not None and not body.is_eof() and body.exception() is None:
            known = isinstance(exc, aiohttp.ClientError)
            body.set_exception(exc if known else aiohttp.ClientPayloadError("no HTTP"))

    def connection_lost(self, exc: BaseException | None) -> None:
        """The connection has ended. A body that tells no length has come whole where the engine
        ends it, and not where something cuts it."""
        if exc is not None and self._payload is not None and not self._payload.is_eof():
            self._payload.set_exception(aiohttp.ClientPayloadError("cut"))
        super().connection_lost(exc)

    @property
    def may_serve_again(self) -> bool:
        """Whether it is open and between two answers: nothing of another one has come, no head
        has begun that nobody asked for, and nothing is held up."""
        if self.should_close or self._was_held_up or not self.is_connected():
            return False
        try:
            # Between answers the parser has nothing to end, and stays as it is.
            return self._parser is not None and self._parser.feed_eof() is None
        except Exception:
            return False

    def rest(self) -> None:
        """Nothing is waited for until the next request."""
        self._drop_timeout()

    def pause_reading(self) -> None:
        """Hold up reading: more has come than is taken."""
        self._was_held_up = True
        super().pause_reading()

    def resume_reading(self, resume_parser: bool = True) -> None:
        """Take up reading where it was held up. The library asks for it after every piece, and
        would have its parser look at nothing each time."""
        if self._reading_paused:
            super().resume_reading(resume_parser)

    def out_of_time(self) -> None:
        """Whoever waits for the answer waits no longer."""
        self._on_read_timeout()

    async def drain(self) -> None:
        """Wait until the engine takes more. Raises ConnectionError."""
        await self._drain_helper()


class Dialler:
    """Connects to engines: by address at once, by name as it was resolved a moment ago.

    A request has a connection that it alone uses; which of them serve another one is for `kept`.
    """

    def __init__(self) -> None:
        """Nothing is resolved or connected yet."""
        self._resolved: dict[Place, tuple[float, list[AddrInfo]]] = {}
        self._lookups: dict[Place, asyncio.Task[None]] = {}

    async def connect(self, place: Place, factory: Callable[[], Answering]) -> Answering:
        """A connection to whatever answers there first. Raises OSError."""
        loop = asyncio.get_running_loop()
        options: dict[str, Any] = {}
        if place.secure:
            options["ssl"] = await loop.run_in_executor(None, tls)
            options["server_hostname"] = place.host.rstrip(".")
        infos = [] if _is_literal(place.host) else await self._addresses(place)
        if len(infos) > 1:
            sock = await aiohappyeyeballs.start_connection(
                infos, happy_eyeballs_delay=0.25, interleave=1, socket_factory=kept_alive
            )
            _, made = await loop.create_connection(factory, sock=sock, **options)
            return made
        host = infos[0][4][0] if infos else place.host
        transport, made = await loop.create_connection(factory, host, place.port, **options)
        keep_alive(transport.get_extra_info("socket"))
        return made

    async def _addresses(self, place: Place) -> list[AddrInfo]:
        """Those of a name, each request beginning with another of them."""
        if self._resolved.get(place, (0.0, []))[0] < time.monotonic():
            # One lookup for all who wait; one that gives up does not end it for the others.
            await asyncio.shield(self._lookups.get(place) or self._look_up(place))
        until_s, infos = self._resolved[place]
        self._resolved[place] = until_s, [*infos[1:], infos[0]]
        return infos

    def _look_up(self, place: Place) -> asyncio.Task[None]:
        task = self._lookups[place] = asyncio.create_task(self._resolve(place))

        def ended(task: asyncio.Task[None]) -> None:
            del self._lookups[place]
            if not task.cancelled():
                task.exception()  # whoever waited for it has it; nobody may be left to

        task.add_done_callback(ended)
        return task

    async def _resolve(self, place: Place) -> None:
        try:
            found = await asyncio.get_running_loop().getaddrinfo(
                place.host, place.port, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG
            )
        except UnicodeError:
            found = []  # no such name can be
        if not found:
            raise OSError(f"{place.host} has no address")
        self._resolved[place] = time.monotonic() + RESOLVED_S, list(found)


@functools.lru_cache(maxsize=256)
def _is_literal(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
