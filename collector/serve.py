"""The collector's door: events in over HTTP, its health and figures out."""

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import hdrs, web

from collector import guard
from collector.body import BadEncoding, Busy, Room, TooLarge, read
from collector.clock import now_ns
from collector.commit import Committer, QueueFull
from collector.connections import AppRunner, Connections
from collector.decode import Decoded, Malformed, Rejected, TooMany, decode
from collector.metrics import Tally, render
from collector.settings import SettingsError
from collector.store import Receipt, Store, StoreUnavailable

log = logging.getLogger(__name__)
TYPES = {"application/json": False, "application/x-ndjson": True}
BODY_SECONDS = 30.0
# As many as one of the taps' batches may hold: their answer tells of every event.
REJECTED_MAX = 1000
# The library's own lines quote what a malformed request holds, the token included.
_silent = logging.getLogger("collector.serve.http")
_silent.disabled = True
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Unfinished(ValueError):
    """The client left before the end of its body, or broke it."""


class Unsupported(ValueError):
    """The body comes in a form that is not read here."""


# What a refusal is answered with: status, and seconds to wait before the same body may be sent
# again (none: it must not be).
REFUSALS: dict[type[Exception], tuple[int, str | None]] = {
    Unfinished: (400, None),
    Unsupported: (415, None),
    TooLarge: (413, None),
    TooMany: (413, None),
    BadEncoding: (400, None),
    Malformed: (400, None),
    TimeoutError: (408, None),
    Busy: (429, "1"),
    QueueFull: (429, "1"),
    StoreUnavailable: (503, "5"),
}


@dataclass
class Door:
    """What the handlers share."""

    store: Store
    committer: Committer
    tally: Tally
    secret: str | None = None
    hosts: frozenset[str] = frozenset()
    room: Room = field(default_factory=Room)
    connections: Connections = field(default_factory=Connections)
    # Decoding is CPU work: one body at a time, off the event loop, so that health stays quick.
    decoding: asyncio.Lock = field(default_factory=asyncio.Lock)


DOOR = web.AppKey("door", Door)


async def start(door: Door, listen: str) -> tuple[web.AppRunner, int]:
    """Serve on `host:port` (port 0: any free one); returns the runner and the port.

    The caller awaits `runner.cleanup()`. Raises SettingsError where it cannot listen.
    """
    host, port = guard.address(listen)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        server = socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        raise SettingsError(
            f"collector.listen = {listen!r} cannot be used ({os.strerror(error.errno or 0)}):"
            " stop what listens there, or choose another port"
        ) from None
    port = server.getsockname()[1]
    door.hosts = guard.hosts(host, port)
    app = web.Application(middlewares=[_guarded])
    app[DOOR] = door
    app.router.add_post("/v1/events", post_events)
    app.router.add_get("/healthz", get_healthz)
    app.router.add_get("/metrics", get_metrics)
    runner = AppRunner(
        app,
        door.connections,
        access_log=None,
        logger=_silent,
        auto_decompress=False,
        keepalive_timeout=75,
        shutdown_timeout=5.0,
    )
    await runner.setup()
    await web.SockSite(runner, server).start()
    return runner, port


@web.middleware
async def _guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
    door = request.app[DOOR]
    told = request.headers.getall(hdrs.HOST, [])
    here = guard.reached(request.get_extra_info("sockname"))
    if refusal := guard.refuse_host(told, door.hosts | here):
        return _refused(403, refusal)
    if refusal := guard.refuse_origin(request.headers.getall(hdrs.ORIGIN, []), told[0]):
        return _refused(403, refusal)
    if request.path != "/healthz":
        refusal = guard.refuse_token(request.headers, door.secret)
        if refusal:
            return _refused(401, refusal, {hdrs.WWW_AUTHENTICATE: "Bearer"})
    try:
        return await handler(request)
    except web.HTTPException:
        raise
    except Exception as error:
        # Its text may quote the request.
        log.error("a request failed: %s", type(error).__name__)
        return _refused(500, "the collector failed here; its log names the kind of error")


async def post_events(request: web.Request) -> web.Response:
    """Keep the events of one body; the answer comes once they are durable."""
    door = request.app[DOOR]
    try:
        ndjson, gzip = _form(request)
        async with asyncio.timeout(BODY_SECONDS):
            body = await read(_received(request), door.room, gzip=gzip)
        try:
            return await _keep(door, body, ndjson)
        finally:
            door.room.give_back(len(body))
    except tuple(REFUSALS) as error:
        status, retry_after = REFUSALS[type(error)]
        if status == 503:
            log.error("events were not kept: %s", error)
        reason = str(error) or f"the body did not come in {BODY_SECONDS:g} s"
        return _refused(status, reason, {hdrs.RETRY_AFTER: retry_after} if retry_after else None)


async def _received(request: web.Request) -> AsyncIterator[bytes]:
    """The body as it comes. Raises Unfinished."""
    try:
        async for chunk in request.content.iter_any():
            yield chunk
    except (ConnectionError, web.RequestPayloadError) as error:
        raise Unfinished("the body ended early, or its chunks are malformed") from error


def _form(request: web.Request) -> tuple[bool, bool]:
    """Whether the body is NDJSON, and whether it is gzip. Raises Unsupported."""
    ndjson = TYPES.get(request.content_type)
    if ndjson is None or (request.charset or "utf-8").lower() != "utf-8":
        raise Unsupported(f"send {' or '.join(TYPES)}, in UTF-8")
    encodings = request.headers.getall(hdrs.CONTENT_ENCODING, ["identity"])
    if len(encodings) != 1 or encodings[0].lower() not in {"gzip", "identity"}:
        raise Unsupported("Content-Encoding must be gzip, or none")
    return ndjson, encodings[0].lower() == "gzip"


async def _keep(door: Door, body: bytearray, ndjson: bool) -> web.Response:
    async with door.decoding:
        told = await asyncio.to_thread(decode, body, ndjson=ndjson)
    receipt = await asyncio.wrap_future(door.committer.submit(told.parcel))
    door.tally.rejected(told.rejected)
    return _answer(told, receipt)


def _answer(told: Decoded, receipt: Receipt) -> web.Response:
    rejected = told.rejected
    conflicts = [
        Rejected(
            told.indexes[at],
            told.parcel.identity(at)[1],
            "event_id",
            "this event_id was told before with other content; correct it with a higher revision",
        )
        for at in sorted(receipt.conflicts)[:REJECTED_MAX]
    ]
    if receipt.accepted or receipt.duplicates or not (rejected or conflicts):
        status = 202
    else:
        status = 400 if rejected else 409
    refusals = sorted([*rejected, *conflicts], key=lambda refusal: refusal.index)[:REJECTED_MAX]
    answer: dict[str, Any] = {
        "accepted": receipt.accepted,
        "duplicates": receipt.duplicates,
        "rejected": [
            {"index": r.index, "event_id": r.event_id, "field": r.field, "error": r.error}
            for r in refusals
        ],
    }
    if more := len(rejected) + len(receipt.conflicts) - len(refusals):
        answer["rejected_more"] = more
    return web.json_response(answer, status=status)


async def get_healthz(request: web.Request) -> web.Response:
    """200 while events can be kept, 503 since the last write failed."""
    failure = request.app[DOOR].committer.failure
    if failure is not None:
        return web.json_response({"status": "failing", "error": failure}, status=503)
    return web.json_response({"status": "ok"})


async def get_metrics(request: web.Request) -> web.Response:
    """The figures in Prometheus' text format."""
    door = request.app[DOOR]
    store = door.store
    counters = await asyncio.to_thread(store.counters)
    segments = await asyncio.to_thread(store.segments)
    text = render(
        door.tally,
        counters,
        damage=await asyncio.to_thread(store.damage),
        hot_rows=store.hot_rows,
        segments=segments,
        now_ns=now_ns(),
    )
    return web.Response(text=text, headers={hdrs.CONTENT_TYPE: "text/plain; version=0.0.4"})


def _refused(status: int, error: str, headers: dict[str, str] | None = None) -> web.Response:
    return web.json_response({"error": error}, status=status, headers=headers)
