"""A request's body, received whole before an engine is chosen for it: bounded in size and time."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from aiohttp import web

from router.forward import received, refusal
from router.watch import Watch

BODY_BYTES = 64 * 1024 * 1024
HELD_BYTES = 1024 * 1024 * 1024
RECEIPT_S = 120.0


class Refused(Exception):
    """The request is not taken; `response` says why."""

    def __init__(self, response: web.Response) -> None:
        super().__init__(response.status)
        self.response = response


class Receipt:
    """The bodies that wait for their engine, all together bounded."""

    def __init__(
        self,
        body_bytes: int = BODY_BYTES,
        held_bytes: int = HELD_BYTES,
        within_s: float = RECEIPT_S,
    ) -> None:
        """One body holds `body_bytes` at most and comes `within_s`; all hold `held_bytes`."""
        self._body_bytes = body_bytes
        self._held_bytes = held_bytes
        self._within_s = within_s
        self.held = 0

    @contextmanager
    def holding(self) -> Iterator["Hold"]:
        """Room for one body; what it held is free again at the end."""
        hold = Hold(self)
        try:
            yield hold
        finally:
            self.held -= hold.size
            hold.size = 0

    async def body(self, request: web.BaseRequest, watch: Watch, hold: "Hold") -> bytes:
        """The whole body. Raises Refused; what the client's leaving raises comes through."""
        length = request.content_length
        if length is not None and length > self._body_bytes:
            raise Refused(self._too_large())
        if length is not None and request.content.is_eof():  # most have come with their head
            return self._counted(hold, request.content.read_nowait())
        try:
            async with asyncio.timeout(self._within_s):
                return await self._whole(request, watch, hold)
        except TimeoutError:
            watch.end("client_abort")
            sentence = f"The request's body did not come within {self._within_s:g} s."
            raise Refused(_closing(refusal(408, sentence))) from None

    async def _whole(self, request: web.BaseRequest, watch: Watch, hold: "Hold") -> bytes:
        parts: list[bytes] = []
        while chunk := await received(request, watch):
            parts.append(self._counted(hold, chunk))
        return b"".join(parts)

    def _counted(self, hold: "Hold", chunk: bytes) -> bytes:
        hold.size += len(chunk)
        self.held += len(chunk)
        if hold.size > self._body_bytes:
            raise Refused(_closing(self._too_large()))
        if self.held > self._held_bytes:
            busy = refusal(503, "Too many request bodies wait for their engines; try again.")
            busy.headers["Retry-After"] = "1"
            raise Refused(_closing(busy))
        return chunk

    def _too_large(self) -> web.Response:
        return refusal(413, f"The request's body is larger than {self._body_bytes} bytes.")


class Hold:
    """How much one request holds of the room for bodies."""

    def __init__(self, receipt: Receipt) -> None:
        self.receipt = receipt
        self.size = 0


def _closing(response: web.Response) -> web.Response:
    """What of the body has not been read must not be taken for the next request."""
    response.force_close()
    return response
