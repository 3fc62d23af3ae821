"""From the data path to the collector: queue, spool, post; the data path waits for none of it."""

import asyncio
import contextlib
import logging
import random
import sqlite3
import threading
import time
from collections import deque

import aiohttp
import msgspec

from collector.events import Event
from router.delivery import ANSWER_BYTES, BATCH_BYTES, BATCH_ROWS, Verdict, encode, judge
from router.spool import Spool

QUEUE_EVENTS = 10_000
# Grouping keeps commits and posts from competing with the data path for the interpreter.
COMMIT_EVERY_S = 0.02
POST_EVERY_S = 0.25
FIRST_DELAY_S = 0.2
LAST_DELAY_S = 30.0
POST_TIMEOUT_S = 10.0
TELL_LOST_EVERY_S = 60.0
FAREWELL_S = 2.0
CLOSE_S = 10.0

log = logging.getLogger("rigledger.feed")


class Feed:
    """Takes events on any thread and sees to it that the collector gets them, in order.

    A thread of its own commits queued events to the spool in groups and posts them; they leave
    the spool only once the collector has answered that they are durable. What does not fit into
    the queue or the spool is counted in `lost`, which the log tells while it grows, and at the end.
    """

    def __init__(
        self, spool: Spool, url: str, token: str | None = None, *, queue_events: int = QUEUE_EVENTS
    ) -> None:
        """`url`: the collector's base, as `http://127.0.0.1:8585`; nothing runs before `start`."""
        self._spool = spool
        self._url = f"{url.rstrip('/')}/v1/events"
        self._headers = {"Content-Type": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._queue: deque[Event] = deque()
        self._queue_events = queue_events
        self._overflow = 0
        self._told_lost = 0
        self._tell_lost_from_s = 0.0
        self._pending: list[bytes] = []
        self._batch_rows = BATCH_ROWS
        self._retry_after_s = 0.0
        self._said: set[str] = set()
        self._stopping = False
        self._signalled = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._main, name="rigledger-feed", daemon=True)

    @property
    def lost(self) -> int:
        """Events that could not be made, or found no room in the queue or the spool, or no disk
        until the end."""
        return self._overflow + self._spool.dropped

    def lose(self) -> None:
        """Count what should have become an event, and did not."""
        self._overflow += 1

    def start(self) -> None:
        """Start committing and sending."""
        if self._spool.damaged is not None:
            log.warning("the spool was damaged; it was moved to %s", self._spool.damaged)
        self._thread.start()
        self._started.wait()

    def put(self, event: Event) -> None:
        """Take an event; never blocks, never raises."""
        if self._stopping or len(self._queue) + len(self._pending) >= self._queue_events:
            self._overflow += 1
            self._say_once("full", "the queue of events is full; events are being lost")
            return
        self._queue.append(event)
        if not self._signalled and self._loop is not None:
            self._signalled = True
            self._loop.call_soon_threadsafe(self._wake.set)

    def close(self) -> None:
        """Commit what is queued, try once more to send (2 s at most), stop."""
        if self._loop is None or self._stopping:
            return
        self._stopping = True
        self._loop.call_soon_threadsafe(self._wake.set)
        self._thread.join(CLOSE_S)
        if self.lost:
            log.error("events lost from start to end: %d; the books do not have them", self.lost)

    def _main(self) -> None:
        asyncio.run(self._run())

    async def _run(self) -> None:
        self._wake, self._filled, self._closed = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._wake.set()
        self._started.set()
        timeout = aiohttp.ClientTimeout(total=POST_TIMEOUT_S)
        async with aiohttp.ClientSession(timeout=timeout, headers=self._headers) as session:
            sending = asyncio.create_task(self._send_until_closed(session))
            await self._commit_until_stopped()
            self._closed.set()
            self._filled.set()
            await asyncio.wait([sending], timeout=FAREWELL_S)
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
        self._spool.close()

    async def _commit_until_stopped(self) -> None:
        while not self._stopping:
            await self._wake.wait()
            await asyncio.sleep(COMMIT_EVERY_S)
            self._wake.clear()
            done = self._commit()
            self._tell_lost()
            if not done:
                # The disk refuses: keep the events in memory and look again in a while.
                self._loop_later(1.0)
        if not self._commit():
            self._overflow += len(self._pending)
            log.error("%d events found no room on the disk and are lost", len(self._pending))
            self._pending = []

    def _tell_lost(self) -> None:
        lost, now_s = self.lost, time.monotonic()
        if lost > self._told_lost and now_s >= self._tell_lost_from_s:
            log.error("events lost since the start: %d; the books do not have them", lost)
            self._told_lost, self._tell_lost_from_s = lost, now_s + TELL_LOST_EVERY_S

    def _loop_later(self, delay_s: float) -> None:
        asyncio.get_running_loop().call_later(delay_s, self._wake.set)

    def _commit(self) -> bool:
        self._signalled = False
        while self._queue:
            self._encode(self._queue.popleft())
        if not self._pending:
            return True
        try:
            self._spool.append(self._pending)
        except sqlite3.Error as error:
            self._say_once("spool", f"the spool cannot be written ({error}); free some disk space")
            return False
        self._said.discard("spool")
        self._pending = []
        if self._spool.dropped:
            self._say_once("spool full", "the spool is full; the newest events are being lost")
        self._filled.set()
        return True

    def _encode(self, event: Event) -> None:
        try:
            self._pending.append(msgspec.json.encode(event))
        except Exception as error:
            self._overflow += 1
            self._say_once("encode", f"an event could not be encoded: {type(error).__name__}")

    async def _send_until_closed(self, session: aiohttp.ClientSession) -> None:
        """Send whatever the spool holds; once closed, until it is empty or a post fails."""
        delay_s = FIRST_DELAY_S
        while True:
            if not len(self._spool):
                if self._closed.is_set():
                    return
                await self._filled.wait()
                self._filled.clear()
                await self._pause(POST_EVERY_S)
            elif await self._send(session):
                delay_s = FIRST_DELAY_S
                if len(self._spool) < self._batch_rows:
                    await self._pause(POST_EVERY_S)
            elif self._closed.is_set():
                return
            else:
                pause_s = max(delay_s, min(self._retry_after_s, LAST_DELAY_S))
                await self._pause(pause_s * random.uniform(0.7, 1.0))  # noqa: S311
                delay_s = min(2 * delay_s, LAST_DELAY_S)

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._closed.wait(), seconds)

    async def _send(self, session: aiohttp.ClientSession) -> bool:
        """Post the oldest batch and settle it; False when it is to be tried again later."""
        try:
            batch = self._spool.first(self._batch_rows, BATCH_BYTES)
            if not batch:
                return True
            verdict = await self._post(session, batch)
            if verdict.settled:
                self._spool.settle(batch, verdict.refused)
        except sqlite3.Error as error:
            self._say_once("read", f"the spool cannot be read ({error})")
            return False
        if verdict.refused:
            reason = next(iter(verdict.refused.values()))
            self._say_once("refused", f"the collector refused events for good, first: {reason}")
        if verdict.split:
            self._batch_rows = max(1, len(batch) // 2)
            return True
        if not verdict.settled:
            text = f"the collector at {self._url} takes no events: {verdict.reason}; they wait"
            self._say_once("down", text)
            return False
        self._batch_rows = min(BATCH_ROWS, self._batch_rows * 2)
        if "down" in self._said:
            self._said.discard("down")
            log.info("the collector takes events again")
        return True

    async def _post(
        self, session: aiohttp.ClientSession, batch: list[tuple[int, bytes]]
    ) -> Verdict:
        self._retry_after_s = 0.0
        try:
            async with session.post(self._url, data=encode(batch), allow_redirects=False) as answer:
                after = answer.headers.get("Retry-After", "")
                self._retry_after_s = float(after) if after.isascii() and after.isdigit() else 0.0
                body = bytearray()
                async for chunk in answer.content.iter_any():
                    body += chunk
                    if len(body) > ANSWER_BYTES:
                        return Verdict(reason="its answer is too long")
                return judge(answer.status, bytes(body), batch)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return Verdict(reason=type(error).__name__)

    def _say_once(self, topic: str, text: str) -> None:
        if topic not in self._said:
            self._said.add(topic)
            log.warning("%s", text)
