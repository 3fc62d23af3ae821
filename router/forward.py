"""HTTP passed through as it is: the head less its hop-by-hop fields, bodies in the chunks they
come in."""

from collections.abc import AsyncIterator, Mapping

import aiohttp
from aiohttp import web
from multidict import CIMultiDict

from router.watch import Watch

# RFC 9110, section 7.6.1; Host is set anew for the engine's own address.
HOP_BY_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-connection",
        "proxy-authenticate",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
# What the client library would add by itself to a request that lacks it.
NO_AUTO_HEADERS = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")
REQUEST_ID = "X-Request-ID"


class ClientGone(Exception):
    """The client left before its answer was complete."""


def end_to_end(headers: Mapping[str, str], *more: str) -> CIMultiDict[str]:
    """Headers less the hop-by-hop ones, those that `Connection` names, and `more` (lower case)."""
    named = {part.strip().lower() for part in headers.get("Connection", "").split(",")}
    dropped = HOP_BY_HOP | named | set(more)
    return CIMultiDict((k, v) for k, v in headers.items() if k.lower() not in dropped)


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


async def begin(request: web.BaseRequest, answer: aiohttp.ClientResponse) -> web.StreamResponse:
    """Send the answer's head on to the client. Raises ClientGone."""
    response = web.StreamResponse(
        status=answer.status, reason=answer.reason, headers=end_to_end(answer.headers)
    )
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
