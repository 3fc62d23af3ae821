"""One request to an engine, on a connection that it alone uses.

The client library's parser and flow control without its session, whose objects for each request
take more time than all else that a stream's first byte waits for.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import aiohttp
from aiohttp.http import RawResponseMessage
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.streams import StreamReader
from multidict import CIMultiDict
from yarl import URL

from router.forward import Fields
from router.kept import Kept
from router.passing import Limits
from router.sockets import Answering, Dialler, Place

WITHOUT_BODY = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
Body = bytes | AsyncIterator[bytes] | None


class Unreached(Exception):
    """No connection to the engine came about; the request has not left."""


@dataclass(frozen=True)
class Base:
    """An engine's address in the parts that a request needs."""

    place: Place
    host: str
    path: str
    authorization: str | None


@lru_cache(maxsize=256)
def base(engine_url: str) -> Base:
    """Where an engine answers; what its address says of a user goes along as it asks for."""
    url = URL(engine_url.rstrip("/"), encoded=True)
    user = aiohttp.BasicAuth.from_url(url)
    return Base(
        Place(url.raw_host or "", url.port or 80, url.scheme == "https"),
        url.host_port_subcomponent or "",
        url.raw_path.rstrip("/"),
        user.encode() if user else None,
    )


class Answer:
    """An engine's answer whose head is there; its body is read from `content`."""

    def __init__(
        self, message: RawResponseMessage, content: StreamReader, close: Callable[[], None]
    ) -> None:
        self.status = message.code
        self.reason = message.reason
        self.raw_headers: Fields = message.raw_headers
        self.headers = message.headers
        self.content = content
        self.close = close

    @property
    def is_over(self) -> bool:
        """Whether all of it has come and was read."""
        return self.status != 101 and self.content.at_eof()

    @property
    def is_followed(self) -> bool:
        """Whether the first bytes of its body have come with its head."""
        return self.content.total_bytes > 0 and self.content.exception() is None

    async def __aenter__(self) -> "Answer":
        """The answer itself; its connection is given up with the block."""
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()


class Upstream:
    """The way to the engines, bound by its limits."""

    def __init__(self, limits: Limits) -> None:
        """Nothing is connected before `ask`."""
        self._limits = limits
        self._dialler = Dialler()
        self._kept = Kept()

    def close(self) -> None:
        """Keep no connection open that no request uses."""
        self._kept.close()

    async def ask(
        self,
        engine_url: str,
        method: str,
        raw_path: str,
        headers: CIMultiDict[str],
        body: Body,
        *,
        sent: Callable[[], None] = lambda: None,
    ) -> Answer:
        """Send a request; the head of its answer is there. `sent` is called as it leaves.

        A body without a Content-Length goes in chunks if it comes in pieces. Raises Unreached,
        then TimeoutError, aiohttp.ClientError or OSError for what fails on a connection; what
        reading `body` raises comes as an aiohttp.ClientError.
        """
        where = base(engine_url)
        head = _head(where, method, raw_path, headers, body, kept=self._kept.wanted(where.place))
        loop = asyncio.get_running_loop()
        total_s = self._limits.total_s
        ends = None if total_s is None else loop.time() + total_s
        protocol = self._kept.take(where.place)
        if protocol is None:
            protocol = await self._connected(where.place)
        exchange = _Exchange(protocol, ends, partial(self._kept.give, where.place))
        try:
            protocol.expect(method)
            sent()
            exchange.send(head, body, chunked="Content-Length" not in headers)
            return await exchange.answered()
        except HttpProcessingError as error:
            exchange.close()
            raise aiohttp.ClientPayloadError("no HTTP") from error
        except BaseException:
            exchange.close()
            raise

    async def _connected(self, place: Place) -> Answering:
        """A new connection. Raises Unreached."""
        limits = self._limits
        made = partial(Answering, asyncio.get_running_loop(), limits.idle_s)
        try:
            async with asyncio.timeout(min(limits.connect_s, limits.total_s or limits.connect_s)):
                return await self._dialler.connect(place, made)
        except OSError as error:  # TimeoutError is one
            raise Unreached from error


class _Exchange:
    """A request on its way and its answer, over one connection."""

    def __init__(self, protocol: Answering, ends: float | None, keep: Callable[..., None]) -> None:
        self._protocol = protocol
        self._keep = keep
        self._answer: Answer | None = None
        self._was_early = False
        self._is_given_up = False
        self._upload: asyncio.Task[None] | None = None
        self._limit: asyncio.TimerHandle | None = None
        if ends is not None:
            self._limit = asyncio.get_running_loop().call_at(ends, protocol.out_of_time)

    def send(self, head: bytes, body: Body, *, chunked: bool) -> None:
        transport = self._protocol.transport
        if transport is None:
            raise aiohttp.ServerDisconnectedError
        if body is None or isinstance(body, bytes):
            transport.writelines((head, body) if body else (head,))
            if self._protocol.writing_paused:  # the engine is not silent while it still reads
                self._upload = asyncio.create_task(self._wait_for_sending())
            else:
                self._protocol.start_timeout()
        else:
            transport.write(head)
            self._upload = asyncio.create_task(self._send_pieces(body, chunked))

    async def answered(self) -> Answer:
        while True:
            message, content = await self._protocol.read()
            if not 100 <= message.code < 200 or message.code == 101:
                break
        # An engine that answers what it has not read may take the rest for another request.
        self._was_early = self._upload is not None and not self._upload.done()
        if self._limit is not None:
            content.on_eof(self._limit.cancel)  # what has come whole is not late
        self._answer = Answer(message, content, self.close)
        return self._answer

    def close(self) -> None:
        """Keep the connection where all has come and gone, else end it; once."""
        if self._is_given_up:
            return
        self._is_given_up = True
        if self._limit is not None:
            self._limit.cancel()
        answer, self._answer = self._answer, None
        transport = self._protocol.transport
        unsent = 0 if transport is None else transport.get_write_buffer_size()
        if answer is not None and answer.is_over and self._is_sent() and not unsent:
            self._keep(self._protocol, threaded="Keep-Alive" in answer.headers)
            return
        if self._upload is not None:
            self._upload.cancel()
        if unsent:
            self._protocol.abort()  # what is still to be sent would hold the connection open
        self._protocol.close()

    def _is_sent(self) -> bool:
        """Whether all of the request had gone when its answer began."""
        upload = self._upload
        if upload is None:
            return True
        return not self._was_early and not upload.cancelled() and upload.exception() is None

    async def _wait_for_sending(self) -> None:
        with contextlib.suppress(ConnectionError):  # its reader hears of it as well
            await self._protocol.drain()
            self._protocol.start_timeout()

    async def _send_pieces(self, body: AsyncIterator[bytes], chunked: bool) -> None:
        try:
            async for piece in body:
                await self._write(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
            if chunked:
                await self._write(b"0\r\n\r\n")
            self._protocol.start_timeout()
        except OSError as error:
            self._protocol.set_exception(aiohttp.ClientOSError(*error.args), error)
        except Exception as error:
            self._protocol.set_exception(aiohttp.ClientConnectionError("not sent"), error)

    async def _write(self, data: bytes) -> None:
        transport = self._protocol.transport
        if transport is None:
            raise ConnectionResetError
        transport.write(data)
        await self._protocol.drain()


def _head(
    where: Base, method: str, raw_path: str, headers: CIMultiDict[str], body: Body, *, kept: bool
) -> bytes:
    """The request's head: its fields in their order between those of this connection."""
    lines = [f"{method} {where.path}{raw_path} HTTP/1.1", f"Host: {where.host}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if where.authorization is not None and "Authorization" not in headers:
        lines.append(f"Authorization: {where.authorization}")
    if "Content-Length" not in headers:
        if isinstance(body, bytes):
            lines.append(f"Content-Length: {len(body)}")
        elif body is not None:
            lines.append("Transfer-Encoding: chunked")
        elif method not in WITHOUT_BODY:
            lines.append("Content-Length: 0")  # else some servers wait for a body
    if not kept:
        lines.append("Connection: close")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "surrogateescape")
