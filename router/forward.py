"""HTTP passed through as it is: the head less its hop-by-hop fields, bodies in the chunks they
come in."""

from collections.abc import AsyncIterator, Iterable, Sequence

from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from router.watch import Watch

# RFC 9110, section 7.6.1.
HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-connection",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
# Of a request also what is told anew, and what was answered here.
OF_REQUEST = HOP_BY_HOP | {b"host", b"expect"}
REQUEST_ID = "X-Request-ID"
Fields = Sequence[tuple[bytes, bytes]]


class ClientGone(Exception):
    """The client left before its answer was complete."""


def end_to_end(fields: Fields, dropped: frozenset[bytes] = HOP_BY_HOP) -> Fields:
    """A head's fields in their order and spelling, less those `dropped` (lower case, the
    hop-by-hop ones among them) and those that `Connection` names."""
    named = [(name.lower(), name, value) for name, value in fields]
    for low, _, value in named:
        if low == b"connection":
            dropped |= {part.strip().lower() for part in value.split(b",")}
    return [(name, value) for low, name, value in named if low not in dropped]


def text(fields: Iterable[tuple[bytes, bytes]]) -> CIMultiDict[str]:
    """Fields as the client library takes them. Raises UnicodeDecodeError for bytes that it could
    not send as they are."""
    return CIMultiDict((name.decode(), value.decode()) for name, value in fields)


def target(engine_url: str, raw_path: str) -> URL:
    """The engine's own address of a request's target, not one byte of which is written anew.

    All of it stands in the path: an empty query would lose its question mark.
    """
    base = URL(engine_url.rstrip("/"), encoded=True)
    return URL.build(
        scheme=base.scheme,
        authority=base.raw_authority,
        path=base.raw_path.rstrip("/") + raw_path,
        encoded=True,
    )


def upload(request: web.BaseRequest, watch: Watch) -> AsyncIterator[bytes] | bytes | None:
    """The request's body: whole where it has come already, else as it arrives; None where it has
    none."""
    if not request.body_exists:
        return None
    if request.content_length is None or not request.content.is_eof():
        return _upload(request, watch)
    body = request.content.read_nowait()
    _copy(body, watch)
    watch.copy.is_whole = True
    return body


async def _upload(request: web.BaseRequest, watch: Watch) -> AsyncIterator[bytes]:
    while chunk := await received(request, watch):
        _copy(chunk, watch)
        yield chunk
    watch.copy.read()


def _copy(chunk: bytes, watch: Watch) -> None:
    if watch.operation is not None:
        watch.copy.add(chunk)


async def received(request: web.BaseRequest, watch: Watch) -> bytes:
    """The next bytes of a request's body, none at its end."""
    try:
        return await request.content.readany()
    except Exception:
        # What the client fails to send must not be booked as the engine's failure.
        watch.end("client_abort")
        raise


class Passed(web.StreamResponse):
    """An engine's answer on its way to the client.

    Head and body go out as the bytes that came: the server library would add Date, Server and a
    Content-Type, drop a length that has no body, and lose bytes outside UTF-8. Added are the
    fields of this connection alone, Transfer-Encoding and Connection.
    """

    def __init__(self, status: int, reason: str, fields: Fields) -> None:
        super().__init__(status=status, reason=reason)
        self._kept = fields
        self._chunked_body = False
        self._ended = False
        self._goes_on = False
        self._request: web.BaseRequest | None = None
        self._head = b""

    @property
    def keep_alive(self) -> bool:
        """Whether the connection takes another request after this answer."""
        return self._goes_on

    async def prepare(self, request: web.BaseRequest) -> None:
        """Send the head, once. Raises ConnectionResetError where the client has gone."""
        if self._request is None:
            self.make_ready(request)
            self._put(b"")

    def make_ready(self, request: web.BaseRequest) -> None:
        """Make the head; it goes out with the first bytes of the body."""
        self._request = request
        keep_alive = request.keep_alive
        own: list[tuple[bytes, bytes]] = []
        sized = any(name.lower() == b"content-length" for name, _ in self._kept)
        if not sized and not _is_empty(request.method, self.status):
            if request.version >= (1, 1):
                own.append((b"Transfer-Encoding", b"chunked"))
                self._chunked_body = True
            else:
                keep_alive = False
        if keep_alive != (request.version >= (1, 1)):
            own.append((b"Connection", b"keep-alive" if keep_alive else b"close"))
        self._goes_on = keep_alive
        reason = (self.reason or "").encode("utf-8", "surrogateescape")
        lines = [b"HTTP/%d.%d %d %b" % (*request.version, self.status, reason)]
        lines += [name + b": " + value for name, value in (*self._kept, *own)]
        self._head = b"\r\n".join(lines) + b"\r\n\r\n"

    async def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send a part of the body, at the client's pace. Raises ConnectionResetError."""
        data = bytes(data)
        self._put(b"%x\r\n%b\r\n" % (len(data), data) if self._chunked_body else data)
        await self._drained()

    async def write_eof(self, data: bytes = b"") -> None:
        """End the body, once, after its last bytes."""
        if not self._ended:
            if data:
                await self.write(data)
            self._ended = True
            end = b"0\r\n\r\n" if self._chunked_body else b""
            if end or self._head:
                self._put(end)
            await self._drained()

    def _put(self, data: bytes) -> None:
        request = self._request
        if request is None or request.transport is None or request.transport.is_closing():
            raise ConnectionResetError
        data, self._head = self._head + data, b""
        request.transport.write(data)
        # By it the library knows that an answer has begun, and that none of its own may follow.
        request.writer.output_size += len(data)

    async def _drained(self) -> None:
        if self._request is not None and self._request.protocol.writing_paused:
            await self._request.writer.drain()


def _is_empty(method: str, status: int) -> bool:
    """Whether an answer has no body, whatever its head says. RFC 9110, section 6.4.1."""
    return method == "HEAD" or 100 <= status < 200 or status in (204, 304)


async def begin(
    request: web.BaseRequest,
    status: int,
    reason: str,
    fields: Fields,
    more: Fields = (),
    *,
    alone: bool = True,
) -> web.StreamResponse:
    """Send an answer's head on to the client, and `more` fields with it; unless `alone`, together
    with the first bytes that follow. Raises ClientGone."""
    response = Passed(status, reason, [*end_to_end(fields), *more])
    try:
        if not alone:
            response.make_ready(request)
        await response.prepare(request)
    except ConnectionError:
        raise ClientGone from None
    return response


async def send(response: web.StreamResponse, chunk: bytes) -> None:
    """Send bytes on, at the client's pace. Raises ClientGone."""
    try:
        await response.write(chunk)
    except ConnectionError:
        raise ClientGone from None


def refusal(status: int, sentence: str) -> web.Response:
    """An error of the tap's own, in the shape of OpenAI's."""
    return web.json_response({"error": {"message": sentence, "type": "tap_error"}}, status=status)
