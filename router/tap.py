"""A tap: one port that passes through to one engine and keeps the books of what passes."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import aiohttp
from aiohttp import hdrs, web
from multidict import CIMultiDict

from collector import guard
from collector.clock import boot_ns
from collector.events import Event
from router.engines import Assignments
from router.event_ids import EventIds
from router.forward import (
    NO_AUTO_HEADERS,
    REQUEST_ID,
    ClientGone,
    begin,
    end_to_end,
    refusal,
    send,
    target,
    text,
    upload,
)
from router.sockets import ProbingConnector, ProbingServer
from router.watch import Origin, Watch

log = logging.getLogger("rigledger.tap")
# The server's own log lines may quote a malformed request, prompt and key included.
_silent = logging.getLogger("rigledger.tap.http")
_silent.disabled = True
HEAD_BYTES = 64 * 1024
# By it a tap knows a request that it has sent itself.
MARK = "X-Rigledger-Tap"


@dataclass(frozen=True)
class Limits:
    """How long a tap waits for its engine, s: to connect, between two reads, in all.

    A long prompt may keep an engine silent for as long as it likes; one that is gone is found by
    TCP itself.
    """

    connect_s: float = 10.0
    idle_s: float | None = None
    total_s: float | None = None


class Tap:
    """The handler of one listening port. `put` takes each request's event and must not block."""

    def __init__(
        self,
        assignments: Assignments,
        *,
        origin: Origin,
        put: Callable[[Event], None],
        ids: EventIds,
        limits: Limits,
        only_here: bool = False,
    ) -> None:
        """Create it inside a running event loop; `server` is to be put on a port, `close` frees
        its connections to the engine. `only_here`: the port is one that only this machine
        reaches, so a Host that is no loopback name comes from a page that rebinds DNS."""
        self._assignments = assignments
        self._origin = origin
        self._put = put
        self._ids = ids
        self._only_here = only_here
        # Keyed by the installation: a tap of another one may bear the same name.
        self._mark = str(origin.labels.keyed("tap", assignments.name))
        self._running: dict[asyncio.Task[object], web.RequestHandler] = {}
        self._out_of_time = False
        self._session = aiohttp.ClientSession(
            connector=ProbingConnector(),
            timeout=aiohttp.ClientTimeout(
                total=limits.total_s, sock_connect=limits.connect_s, sock_read=limits.idle_s
            ),
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=NO_AUTO_HEADERS,
            max_line_size=HEAD_BYTES,
            max_field_size=HEAD_BYTES,
            max_headers=1024,
        )
        self.server = ProbingServer(
            self.handle,
            handler_cancellation=True,
            auto_decompress=False,
            access_log=None,
            logger=_silent,
            max_line_size=HEAD_BYTES,
            max_field_size=HEAD_BYTES,
            max_headers=1024,
        )

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Pass one request through; exactly one event if it asks for tokens, however it ends.

        What the tap refuses has never been a request to the engine, and is no event.
        """
        fields = end_to_end(request.raw_headers, b"host", b"expect")
        try:
            headers = text(fields)
        except UnicodeDecodeError:
            return refusal(400, "A header holds bytes outside UTF-8, which cannot be passed on.")
        if refused := self._refused(request):
            return refused
        headers.add(MARK, self._mark)
        watch = Watch(request.method, request.raw_path, headers, headers.get(REQUEST_ID))
        if watch.operation is not None and not watch.request_id:
            headers[REQUEST_ID] = watch.request_id = f"tap-{self._ids.next()}"
        task = cast("asyncio.Task[object]", asyncio.current_task())
        self._running[task] = request.protocol
        try:
            return await self._exchange(request, headers, watch)
        except asyncio.CancelledError:
            watch.end("timeout" if self._out_of_time else "client_abort")
            raise
        except ClientGone:
            watch.end("client_abort")
            return _hang_up(request)
        except Exception as error:
            log.warning("a request failed inside the tap: %s", type(error).__name__)
            watch.end("upstream_error")
            return _hang_up(request)
        finally:
            del self._running[task]
            self._book(watch)

    async def drain(self, seconds: float) -> None:
        """Close idle connections and wait for running requests; those still running after
        `seconds` are cut and booked. The caller has stopped listening."""
        busy = set(self._running.values())
        for connection in self.server.connections:
            if connection in busy:
                connection.close()
            else:
                connection.force_close()
        if self._running:
            await asyncio.wait(set(self._running), timeout=seconds)
        self._out_of_time = True
        left = set(self._running)
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=1.0)

    async def close(self) -> None:
        """Free the connections to the engine."""
        await self._session.close()

    def _refused(self, request: web.BaseRequest) -> web.Response | None:
        """The answer to a request that must not go on, None for all others."""
        told = request.headers.getall(hdrs.HOST, [])
        if self._only_here and (reason := guard.refuse_rebound(told)):
            return refusal(403, reason)
        if not request.raw_path.startswith("/"):
            return refusal(400, "The tap takes only paths that begin with a slash.")
        if "websocket" in request.headers.get(hdrs.UPGRADE, "").lower():
            return refusal(501, "The tap passes requests and answers, no WebSockets.")
        if self._mark in request.headers.getall(MARK, []):
            name = self._assignments.name
            return refusal(508, f"The address of the engine {name} leads back to this tap.")
        return None

    async def _exchange(
        self, request: web.BaseRequest, headers: CIMultiDict[str], watch: Watch
    ) -> web.StreamResponse:
        engine = self._assignments.at(watch.received_ns)
        if request.headers.get("Expect", "").lower() == "100-continue":
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            request.writer.output_size = 0
        try:
            answer = await self._session.request(
                request.method,
                target(engine.url, request.raw_path),
                headers=headers,
                data=upload(request, watch),
                allow_redirects=False,
            )
        except TimeoutError:
            watch.end("timeout")
            return refusal(504, f"The engine {engine.name} did not answer in time.")
        except (aiohttp.ClientError, OSError) as error:
            if request.transport is None:
                raise ClientGone from None
            watch.end("upstream_error")
            kind = type(error).__name__
            return refusal(502, f"The engine {engine.name} cannot be reached ({kind}).")
        async with answer:
            return await self._pass_back(request, answer, watch)

    async def _pass_back(
        self, request: web.BaseRequest, answer: aiohttp.ClientResponse, watch: Watch
    ) -> web.StreamResponse:
        watch.answered(answer.status, answer.headers)
        response = await begin(request, answer)
        while True:
            try:
                chunk = await answer.content.readany()
            except TimeoutError:
                watch.end("timeout")
                return _hang_up(request)
            except (aiohttp.ClientError, OSError):
                watch.end("upstream_error")
                return _hang_up(request)
            if not chunk:
                break
            at_ns = boot_ns()
            try:
                await send(response, chunk)
            finally:
                watch.passed(chunk, at_ns)
        watch.end("ok")
        return response

    def _book(self, watch: Watch) -> None:
        if watch.operation is None:
            return
        try:
            engine = self._assignments.at(watch.received_ns)
            self._put(watch.event(self._ids.next(), self._origin, engine))
        except Exception as error:  # a fault in the books must not become one of the answer
            log.error("a request could not be booked: %s", type(error).__name__)


def _hang_up(request: web.BaseRequest) -> web.StreamResponse:
    """Close the connection without the answer's proper end, so that the client sees the cut."""
    if request.transport is not None:
        request.transport.close()
    return web.StreamResponse()
