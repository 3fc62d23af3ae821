"""A collector by script, on a thread of its own: keeps events by id, and fails as it is told."""

import asyncio
import json
import threading
from collections import Counter
from typing import Any

from aiohttp import web


class Receiver:
    """`with Receiver() as receiver`: POST /v1/events at `receiver.url`.

    `mode`: ok; hang (never answers); 500, 429 …: that status; dying (keeps the events, then cuts
    the connection); bare (202 without a receipt). Events whose id is in `refuse` are rejected.
    """

    def __init__(self, port: int = 0) -> None:
        self.mode = "ok"
        self.refuse: set[str] = set()
        self.largest: int | None = None
        self.events: dict[str, dict[str, Any]] = {}
        self.seen: Counter[str] = Counter()
        self.posts = 0
        self.tokens: set[str | None] = set()
        self._port = port
        self._loop = asyncio.new_event_loop()
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._loop.run_forever)

    def __enter__(self) -> "Receiver":
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(10)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def wait_events(self, number: int, seconds: float = 20) -> None:
        """Wait until `number` different events are kept; AssertionError when they do not come."""
        self._wait(lambda: len(self.events) >= number, seconds)
        assert len(self.events) == number

    def wait_posts(self, number: int, seconds: float = 20) -> None:
        """Wait until `number` posts have come."""
        self._wait(lambda: self.posts >= number, seconds)
        assert self.posts >= number

    def _wait(self, reached: Any, seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(reached, seconds)

    async def _start(self) -> None:
        app = web.Application(client_max_size=1 << 26)
        app.router.add_post("/v1/events", self._take)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port).start()
        self.port = self._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{self.port}"

    async def _take(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.tokens.add(request.headers.get("Authorization"))
        with self._changed:
            self.posts += 1
            self._changed.notify_all()
        if self.mode == "hang":
            await asyncio.Event().wait()
        if self.mode.isdigit():
            return web.json_response({"error": "scripted"}, status=int(self.mode))
        answer = self._keep(json.loads(body))
        if self.mode == "dying":
            assert request.transport is not None
            request.transport.abort()
        return answer

    def _keep(self, events: list[dict[str, Any]]) -> web.Response:
        if self.mode == "bare":
            return web.Response(status=202, text="ok")
        if self.largest is not None and len(events) > self.largest:
            return web.json_response({"error": "too large"}, status=413)
        rejected, accepted, duplicates = [], 0, 0
        for index, event in enumerate(events):
            identity = event["event_id"]
            self.seen[identity] += 1
            if identity in self.refuse:
                entry = {"index": index, "event_id": identity, "field": "model", "error": "no"}
                rejected.append(entry)
            elif identity in self.events:
                duplicates += 1
            else:
                accepted += 1
                self.events[identity] = event
        with self._changed:
            self._changed.notify_all()
        receipt = {"accepted": accepted, "duplicates": duplicates, "rejected": rejected}
        return web.json_response(receipt, status=202 if accepted or duplicates else 400)
