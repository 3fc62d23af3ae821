"""TCP connections that notice by themselves when the other end has gone."""

import asyncio
import contextlib
import functools
import ipaddress
import socket
from typing import Any

import aiohttp
from aiohttp import web
from aiohttp.client_proto import ResponseHandler

# Two minutes of silence from a host, not from an engine: its kernel answers the probes.
IDLE_S = 60
PROBE_S = 15
PROBES = 4
AddrInfo = tuple[Any, Any, int, str, tuple[Any, ...]]


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


class ProbingServer(web.Server):
    """A server whose connections are probed, set up once for all requests of a connection."""

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        """A client has connected."""
        super().connection_made(handler, transport)
        keep_alive(transport.get_extra_info("socket"))


class Answering(ResponseHandler):
    """One answer as it comes in. What the library finds no HTTP in the midst of a body it tells
    nobody who waits for that body; here it does."""

    def set_exception(self, exc: BaseException, *cause: BaseException) -> None:
        """The connection has failed, and so has what is still to come of the body."""
        super().set_exception(exc, *cause)
        body = self._payload
        if body is not None and not body.is_eof() and body.exception() is None:
            known = isinstance(exc, aiohttp.ClientError)
            body.set_exception(exc if known else aiohttp.ClientPayloadError("no HTTP"))


class ProbingConnector(aiohttp.TCPConnector):
    """Connections to engines: probed, and one for each request.

    Engines close idle ones when they like, which would fail a request that they never saw, and
    llama.cpp's server keeps a thread waiting on each idle connection while requests on new ones
    queue.
    """

    def __init__(self) -> None:
        """Create it inside a running event loop."""
        super().__init__(limit=0, force_close=True, socket_factory=kept_alive)
        answering: type[ResponseHandler] = Answering
        self._factory = functools.partial(answering, loop=self._loop)

    async def _wrap_create_connection(
        self, *args: Any, addr_infos: list[Any], **kwargs: Any
    ) -> tuple[asyncio.Transport, ResponseHandler]:
        """Where racing several addresses gains nothing, let the event loop itself connect.

        It takes half the time, which every stream's first byte would wait for.
        """
        host, port = addr_infos[0][4][:2]
        if len(addr_infos) > 1 and not _is_loopback(host):
            return await super()._wrap_create_connection(*args, addr_infos=addr_infos, **kwargs)
        made = await self._wrap_existing_connection(*args, host, port, **kwargs)
        keep_alive(made[0].get_extra_info("socket"))
        return made


def _is_loopback(host: str) -> bool:
    return ipaddress.ip_address(host.partition("%")[0]).is_loopback
