"""A front tap: one port before another router, for what that router drops on its way.

It gives every request an `X-Request-ID`, which routers pass on and the taps of the workers see as
well, and tells session, project and key. Its telling joins theirs by that id: card, times and
tokens are theirs. It names no engine of the rig, so that alone it takes no card's time.
"""

from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec
from aiohttp import web

from collector.events import Attempt, Route
from collector.settings import EngineSettings, Settings
from collector.settings_check import split_address
from router.forward import upload
from router.gate import Gate
from router.passing import Booking, Limits, Passing, Unanswered, invite
from router.upstream import Answer

# SMG tells in its answer where the request went.
WORKER = "x-smg-routed-worker-id"
POLICY = "another router's"
Place = tuple[str, int]


class Front(Gate):
    """The handler of a front tap's port."""

    def __init__(
        self,
        url: str,
        workers: Mapping[Place, str],
        booking: Booking,
        limits: Limits,
        *,
        only_here: bool = False,
    ) -> None:
        """As `Gate`; `url` is the router's, `workers` the engines by the addresses that it may
        know them by (see `workers`)."""
        place = urlsplit(url).netloc.rpartition("@")[2]
        super().__init__(f"the front tap of {place}", booking, limits, only_here=only_here)
        # Which engine answers is not seen here.
        self._router = EngineSettings(name=f"behind {place}", url=url, gpus=[])
        self._workers = workers

    async def _exchange(self, passing: Passing) -> web.StreamResponse:
        await invite(passing.request)
        data = upload(passing.request, passing.watch)
        try:
            answer = await self._ask(passing, self._router, data)
        except Unanswered as failed:
            return failed.response
        async with answer:
            return await self._pass_back(passing, answer)

    async def _pass_back(self, passing: Passing, answer: Answer) -> web.StreamResponse:
        passing.worker = self._workers.get(_place(answer.headers.get(WORKER, "")))
        return await super()._pass_back(passing, answer)

    def _event(self, passing: Passing, engine: EngineSettings) -> Attempt:
        event = super()._event(passing, engine)
        if passing.worker is None:
            return event
        return msgspec.structs.replace(event, route=Route(policy=POLICY, chosen=passing.worker))


def workers(settings: Settings) -> dict[Place, str]:
    """The engines by address: their taps', and their own."""
    found = {_place(engine.url): engine.name for engine in settings.engines}
    taps = {split_address(tap.listen): tap.engine for tap in settings.taps if tap.engine}
    return found | taps


def _place(url: str) -> Place:
    """Host and port of an address; ("", 0) of what is none."""
    try:
        parts = urlsplit(url)
        return parts.hostname or "", parts.port or 80
    except ValueError:
        return "", 0
