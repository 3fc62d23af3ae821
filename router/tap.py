"""A tap: one port that passes through to one engine and keeps the books of what passes."""

from aiohttp import web

from router.engines import Assignments
from router.forward import upload
from router.gate import Gate
from router.passing import Booking, Limits, Passing, Unanswered, invite


class Tap(Gate):
    """The handler of one engine's port."""

    def __init__(
        self, assignments: Assignments, booking: Booking, limits: Limits, *, only_here: bool = False
    ) -> None:
        """As `Gate`; `assignments`: which declaration of the engine is in force when."""
        super().__init__(assignments.name, booking, limits, only_here=only_here)
        self._assignments = assignments

    async def _exchange(self, passing: Passing) -> web.StreamResponse:
        passing.engine = self._assignments.at(passing.watch.received_ns)
        await invite(passing.request)
        data = upload(passing.request, passing.watch)
        try:
            answer = await self._ask(passing, passing.engine, data)
        except Unanswered as failed:
            return failed.response
        async with answer:
            return await self._pass_back(passing, answer)
