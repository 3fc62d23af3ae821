"""HTTP passed through as it is: the head less its hop-by-hop fields, bodies in the chunks they
come in."""

from collections.abc import AsyncIterator, Iterable, Sequence

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from router.watch import Watch

# RFC 9110, section 7.6.1; Host is set anew for the engine's own address.
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
# What the client library would add by itself to a request that lacks it.
NO_AUTO_HEADERS = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")
REQUEST_ID = "X-Request-ID"
Fields = Sequence[tuple[bytes, bytes]]


class ClientGone(Exception):
    """The client left before its answer was complete."""


def end_to_end(fields: Fields, *more: bytes) -> Fields:
    """A head's fields in their order and spelling, less the hop-by-hop ones, those that
    `Connection` names, and `more` (lower case)."""
    told = (value for name, value in fields if name.lower() == b"connection")
    named = {part.strip().lower() for value in told for part in value.split(b",")}
    dropped = HOP_BY_HOP | named | set(more)
    return [(name, value) for name, value in fields if name.lower() not in dropped]


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


def upload(request: web.BaseRequest, watch: Watch) -> AsyncIterator[bytes] | None:
    """The request's body as it arrives, or None where it has none."""
    return _upload(request, watch) if request.body_exists else None


async def _upload(request: web.BaseRequest, watch: Watch) -> AsyncIterator[bytes]:
    watch.dispatched()
    while chunk := await _received(request, watch):
        if watch.operation is not None:
            watch.copy.add(chunk)
        yield chunk
    watch.copy.read()


async def _received(request: web.BaseRequest, watch: Watch) -> bytes:
    try:
        return await request.content.readany()
    except Exception:
        # What the client fails to send must not be booked as the engine's failure.
        watch.end("client_abort")
        raise


class Passed(web.StreamResponse):
    """The engine's answer on its way to the client.

    The head goes out as the bytes that came: the server library would add Date, Server and a
    Content-Type, drop a length that has no body, and lose bytes outside UTF-8. Its part are the
    fields of this connection alone, Transfer-Encoding and Connection.
    """

    def __init__(self, answer: aiohttp.ClientResponse, more: Fields = ()) -> None:
        self._kept = [*end_to_end(answer.raw_headers), *more]
        lengths = [value for name, value in self._kept if name.lower() == b"content-length"]
        super().__init__(
            status=answer.status,
            reason=answer.reason or "",
            headers=text((b"Content-Length", value) for value in lengths[:1]),
        )

    async def _write_headers(self) -> None:
        request = self._req
        if request is None or request.transport is None or request.transport.is_closing():
            raise ConnectionResetError
        own = {name.encode(): value.encode() for name, value in self.headers.items()}
        fields = [*self._kept, *((n, v) for n, v in own.items() if n in _OF_THE_CONNECTION)]
        reason = self.reason.encode("utf-8", "surrogateescape")
        lines = [b"HTTP/%d.%d %d %b" % (*request.version, self.status, reason)]
        lines += [name + b": " + value for name, value in fields]
        request.transport.write(b"\r\n".join(lines) + b"\r\n\r\n")


_OF_THE_CONNECTION = (b"Transfer-Encoding", b"Connection")


async def begin(
    request: web.BaseRequest, answer: aiohttp.ClientResponse, more: Fields = ()
) -> web.StreamResponse:
    """Send the answer's head on to the client, and `more` fields with it. Raises ClientGone."""
    response = Passed(answer, more)
    try:
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
