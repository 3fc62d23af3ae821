"""Clients of a port: how many at once, and how long one may take to say what it wants.

Strangers who say nothing must not use up the descriptors that the process itself needs.
"""

import asyncio
import contextlib
import logging
import resource
from collections.abc import Awaitable, Callable
from typing import Any, cast

from aiohttp import web

# For a request's head, from its first byte on; for the first of a connection, from its opening on.
HEAD_S = 30.0
# Nobody's rig computes so many requests at once.
MOST = 8192
# What the process keeps open for itself, and the clients who come before one who is sent away has
# gone.
RESERVED = 256

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
log = logging.getLogger("rigledger.connections")


def raise_limit() -> None:
    """Let this process open as many files as it may."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def most_at_once(files: int) -> int:
    """Clients whom so many open files have room for, where each may want an engine beside it."""
    return max(1, min(MOST, (files - min(RESERVED, files // 4)) // 2))


class Connections:
    """All clients of a process's ports. Where they are too many, the one that has been longest
    without a request under way is let go; one whose request runs never is."""

    def __init__(self, most: int | None = None) -> None:
        """`most` at once; without it, as many as the limit of open files has room for."""
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.most = most_at_once(files) if most is None else most
        self._open: set[Connection] = set()
        # Without a request under way, the longest so first.
        self._idle: dict[Connection, None] = {}
        self._said = False

    def came(self, client: "Connection") -> None:
        """A client has connected."""
        self._open.add(client)
        self._idle[client] = None
        if len(self._open) <= self.most:
            return
        if not self._said:
            self._said = True
            log.warning("more than %d clients: the longest idle are let go", self.most)
        longest = next(iter(self._idle))
        self.left(longest)
        longest.force_close()

    def left(self, client: "Connection") -> None:
        """A client has gone."""
        self._open.discard(client)
        self._idle.pop(client, None)

    def asked(self, client: "Connection") -> None:
        """Its request is under way."""
        self._idle.pop(client, None)
        client.head_came()

    def answered(self, client: "Connection") -> None:
        """Its request is over."""
        if client in self._open:
            self._idle[client] = None
        client.answered()


class Connection(web.RequestHandler):
    """One client."""

    # Until when the head that has begun must be whole.
    _due: asyncio.TimerHandle | None = None
    _is_busy = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It has connected, and is to say what it wants."""
        self._await_head()
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """It says something: of a head, where no request is under way."""
        if self._due is None and not self._is_busy and data:
            self._await_head()
        super().data_received(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        """It has gone."""
        self.head_came()
        super().connection_lost(exc)

    def head_came(self) -> None:
        """A request is under way, for as long as it likes."""
        self._is_busy = True
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def answered(self) -> None:
        """The request is over; the next may come when it likes."""
        self._is_busy = False

    def _await_head(self) -> None:
        self._due = asyncio.get_running_loop().call_later(HEAD_S, self.force_close)


class Server(web.Server):
    """A server whose clients are among the process's `connections`."""

    def __init__(
        self, handler: Handler, *, connections: Connections | None = None, **options: Any
    ) -> None:
        """`options` as the library's server has them; without `connections`, its own."""
        self._clients = connections or Connections()

        async def handled(request: web.BaseRequest) -> web.StreamResponse:
            client = cast("Connection", request.protocol)
            self._clients.asked(client)
            try:
                return await handler(request)
            finally:
                self._clients.answered(client)

        super().__init__(handled, **options)

    def __call__(self) -> Connection:
        return Connection(self, loop=self._loop, **self._kwargs)

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        """A client has connected."""
        super().connection_made(handler, transport)
        self._clients.came(cast("Connection", handler))

    def connection_lost(
        self, handler: web.RequestHandler, exc: BaseException | None = None
    ) -> None:
        """A client has gone."""
        super().connection_lost(handler, exc)
        self._clients.left(cast("Connection", handler))


class AppRunner(web.AppRunner):
    """Runs an application on such a server."""

    def __init__(self, app: web.Application, connections: Connections, **options: Any) -> None:
        """`options` as the library's runner has them."""
        super().__init__(app, **options)
        self._clients = connections

    async def _make_server(self) -> web.Server:
        made = await super()._make_server()
        return Server(
            made.request_handler,
            connections=self._clients,
            request_factory=made.request_factory,
            **self._kwargs,
        )
