"""What every port of the router does: take a request, pass its answer back, book it, end in order.

`tap.Tap` sends what it takes to one engine; `door.Door` chooses among several.
"""

import asyncio
import itertools
import logging
from abc import ABC, abstractmethod
from typing import cast

import aiohttp
from aiohttp import hdrs, web

from collector import guard
from collector.clock import boot_ns
from collector.events import Attempt
from collector.settings import EngineSettings
from router.forward import (
    OF_REQUEST,
    REQUEST_ID,
    ClientGone,
    begin,
    end_to_end,
    refusal,
    send,
    text,
)
from router.passing import Booking, Limits, Passing, Unanswered, hang_up
from router.sockets import HEAD_BYTES, HEAD_FIELDS, ProbingServer
from router.upstream import Answer, Body, Unreached, Upstream
from router.watch import Watch

log = logging.getLogger("rigledger.gate")
# The server's own log lines may quote a malformed request, prompt and key included.
_silent = logging.getLogger("rigledger.gate.http")
_silent.disabled = True
# By it a port knows a request that it has sent itself.
MARK = "X-Rigledger-Tap"


class Gate(ABC):
    """The handler of one listening port."""

    def __init__(
        self, name: str, booking: Booking, limits: Limits, *, only_here: bool = False
    ) -> None:
        """Create it inside a running event loop; `server` is to be put on a port. `only_here`: the
        port is one that only this machine reaches, so a Host that is no loopback name comes from a
        page that rebinds DNS."""
        self.name = name
        self._booking = booking
        self._only_here = only_here
        # Keyed by the installation: a port of another one may bear the same name.
        self._mark = str(booking.origin.labels.keyed("tap", name))
        # Names of requests, unlike any other: this run of the port, and a count.
        self._began, self._numbers = booking.ids.next(), itertools.count(1)
        self._running: dict[asyncio.Task[object], web.RequestHandler] = {}
        self._out_of_time = False
        self._upstream = Upstream(limits)
        self.server = ProbingServer(
            self.handle,
            connections=limits.connections,
            handler_cancellation=True,
            auto_decompress=False,
            access_log=None,
            logger=_silent,
            max_line_size=HEAD_BYTES,
            max_field_size=HEAD_BYTES,
            max_headers=HEAD_FIELDS,
        )

    @abstractmethod
    async def _exchange(self, passing: Passing) -> web.StreamResponse:
        """Have the request answered."""

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Pass one request through; exactly one event for each attempt that asks for tokens,
        however it ends.

        What the port refuses has never been a request to an engine, and is no event.
        """
        fields = end_to_end(request.raw_headers, OF_REQUEST)
        try:
            headers = text(fields)
        except UnicodeDecodeError:
            return refusal(400, "A header holds bytes outside UTF-8, which cannot be passed on.")
        if refused := self._refused(request):
            return refused
        headers.add(MARK, self._mark)
        watch = Watch(request.method, request.raw_path, headers, headers.get(REQUEST_ID))
        if watch.operation is not None and not watch.request_id:
            watch.request_id = f"tap-{self._began}-{next(self._numbers)}"
            headers[REQUEST_ID] = watch.request_id
        passing = Passing(request, headers, watch)
        task = cast("asyncio.Task[object]", asyncio.current_task())
        self._running[task] = request.protocol
        try:
            return await self._exchange(passing)
        except asyncio.CancelledError:
            passing.watch.end("timeout" if self._out_of_time else "client_abort")
            raise
        except ClientGone:
            passing.watch.end("client_abort")
            return hang_up(request)
        except Exception as error:
            log.warning("a request failed inside the router: %s", type(error).__name__)
            passing.watch.end("upstream_error")
            return hang_up(request)
        finally:
            del self._running[task]
            self._settle(passing)

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
        self._upstream.close()

    def _refused(self, request: web.BaseRequest) -> web.Response | None:
        """The answer to a request that must not go on, None for all others."""
        told = request.headers.getall(hdrs.HOST, [])
        if self._only_here and (reason := guard.refuse_rebound(told)):
            return refusal(403, reason)
        if not request.raw_path.startswith("/"):
            return refusal(400, "Only paths that begin with a slash are passed on.")
        if "websocket" in request.headers.get(hdrs.UPGRADE, "").lower():
            return refusal(501, "Requests and answers are passed on, no WebSockets.")
        if self._mark in request.headers.getall(MARK, []):
            return refusal(508, f"The address behind {self.name} leads back to this port.")
        return None

    async def _ask(self, passing: Passing, engine: EngineSettings, body: Body) -> Answer:
        """Send the request to an engine; its answer's head is there. Raises Unanswered,
        ClientGone."""
        passing.engine = engine
        request, watch = passing.request, passing.watch
        asyncio.get_running_loop().call_soon(watch.prepare)
        try:
            return await self._upstream.ask(
                engine.url,
                request.method,
                request.raw_path,
                passing.headers,
                body,
                sent=watch.dispatched,
            )
        except (Unreached, aiohttp.ClientError, OSError) as error:
            if request.transport is None:
                raise ClientGone from None
            refused = isinstance(error, Unreached)
            reason = error.__cause__ if refused else error
            if isinstance(reason, TimeoutError):
                watch.end("timeout")
                response = refusal(504, f"The engine {engine.name} did not answer in time.")
            else:
                watch.end("upstream_error")
                sentence = f"The engine {engine.name} cannot be reached ({type(reason).__name__})."
                response = refusal(502, sentence)
            raise Unanswered(response, refused=refused) from None

    async def _pass_back(self, passing: Passing, answer: Answer) -> web.StreamResponse:
        request, watch = passing.request, passing.watch
        watch.answered(answer.status, answer.headers)
        response = await begin(
            request,
            answer.status,
            answer.reason,
            answer.raw_headers,
            passing.told,
            alone=not answer.is_followed,
        )
        while True:
            try:
                chunk = await answer.content.readany()
            except TimeoutError:
                watch.end("timeout")
                return hang_up(request)
            except (aiohttp.ClientError, OSError):
                watch.end("upstream_error")
                return hang_up(request)
            if not chunk:
                break
            at_ns = boot_ns()
            try:
                await send(response, chunk)
                await asyncio.sleep(0)  # first it goes out, then it is looked at
            finally:
                self._passed(passing, chunk, at_ns)
        watch.end("ok")
        return response

    def _passed(self, passing: Passing, chunk: bytes, at_ns: int) -> None:
        """Bytes of the answer have gone on, which came at `at_ns`."""
        passing.watch.passed(chunk, at_ns)

    def _settle(self, passing: Passing) -> None:
        """The attempt has ended: tell the books."""
        if passing.watch.operation is None or passing.engine is None:
            return
        try:
            self._booking.put(self._event(passing, passing.engine))
        except Exception as error:  # a fault in the books must not become one of the answer
            log.error("a request could not be booked: %s", type(error).__name__)
            self._booking.lost()

    def _event(self, passing: Passing, engine: EngineSettings) -> Attempt:
        return passing.watch.event(self._booking.ids.next(), self._booking.origin, engine)
