"""One request on its way through a port: what is known of it, and what its way is bound by."""

from collections.abc import Callable
from dataclasses import dataclass, field

from aiohttp import web
from multidict import CIMultiDict

from collector.connections import Connections
from collector.events import Event
from collector.settings import EngineSettings
from router.event_ids import EventIds
from router.forward import Fields
from router.watch import Origin, Watch


@dataclass(frozen=True)
class Limits:
    """How long an engine is waited for, s: to connect, between two reads, in all; and for how many
    clients, over all ports of the process, there is room.

    A long prompt may keep an engine silent for as long as it likes; one that is gone is found by
    TCP itself.
    """

    connect_s: float = 10.0
    idle_s: float | None = None
    total_s: float | None = None
    connections: Connections = field(default_factory=Connections)


@dataclass(frozen=True)
class Booking:
    """Where the books of a port go: who tells, `put` for each event (must not block), and ids.
    `lost` hears of each attempt that came to no event."""

    origin: Origin
    put: Callable[[Event], None]
    ids: EventIds
    lost: Callable[[], None] = lambda: None


@dataclass
class Passing:
    """One request on its way, and the attempt that is under way; `told` goes out with the
    answer's head. `worker` is the engine to which another router says to have sent it."""

    request: web.BaseRequest
    headers: CIMultiDict[str]
    watch: Watch
    engine: EngineSettings | None = None
    told: Fields = ()
    worker: str | None = None


class Unanswered(Exception):
    """The engine gave no answer; `response` says so to the client, `refused` where it was never
    reached, so that another may be asked."""

    def __init__(self, response: web.Response, *, refused: bool) -> None:
        super().__init__(response.status)
        self.response = response
        self.refused = refused


async def invite(request: web.BaseRequest) -> None:
    """Tell a client that asked first that its body is welcome."""
    if request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0


def hang_up(request: web.BaseRequest) -> web.StreamResponse:
    """Close the connection without the answer's proper end, so that the client sees the cut."""
    if request.transport is not None:
        request.transport.close()
    return web.StreamResponse()
