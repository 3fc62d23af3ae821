"""A bounded queue and the thread that sends it. Whoever puts never waits and never fails; what
takes time, such as making an event of a call, is the thread's."""

from __future__ import annotations

import atexit
import json
import logging
import os
import threading
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

QUEUE_EVENTS = 10_000
BATCH_EVENTS = 500
ANSWER_BYTES = 4 * 1024 * 1024
EVERY_S = 0.5
TIMEOUT_S = 5.0
LAST_DELAY_S = 30.0
FAREWELL_S = 0.9

REFUSED = "as the collector refuses them: is it of this plugin's version?"

log = logging.getLogger("rigledger")


class Sender:
    """Sends events to a collector, in order, until they are durable there."""

    def __init__(
        self,
        url: str,
        event: Callable[[dict[str, Any]], dict[str, Any] | None],
        token_file: str | None = None,
    ) -> None:
        """`url`: the collector's base; `event` makes an event of what is put, or none. Nothing
        runs before the first one."""
        self.dropped = 0
        self._said: set[str] = set()
        self._url = url.rstrip("/") + "/v1/events"
        self._event = event
        self._token_file = token_file
        self._queue: deque[dict[str, Any]] = deque()
        self._wake = threading.Event()
        self._stopping = False
        self._pid: int | None = None
        self._lock = threading.Lock()
        # Neither an environment's proxy nor a redirect may lead events elsewhere.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect())
        atexit.register(self.close)

    def put(self, call: dict[str, Any]) -> None:
        """Take a call, or count it as dropped where the queue is full."""
        if len(self._queue) >= QUEUE_EVENTS:
            self.drop(1, f"as {QUEUE_EVENTS:,} wait for the collector already")
            return
        self._queue.append(call)
        if self._pid != os.getpid():  # not begun yet, or forked since
            self._begin()

    def drop(self, calls: int, why: str) -> None:
        """Count calls that will not be in the books; the first of each cause is told in the log."""
        with self._lock:
            self.dropped += calls
            is_news = why not in self._said
            self._said.add(why)
        if is_news:
            log.warning("calls are missing from the books, %s", why)

    def close(self) -> None:
        """Try once more to send, for less than a second in all."""
        self._stopping = True
        self._wake.set()
        thread = getattr(self, "_thread", None)
        if thread is not None and self._pid == os.getpid():
            thread.join(FAREWELL_S)

    def _begin(self) -> None:
        with self._lock:
            if self._pid == os.getpid():
                return
            self._pid = os.getpid()
            self._thread = threading.Thread(target=self._run, name="rigledger", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        delay_s = EVERY_S
        while not self._stopping:
            self._wake.wait(delay_s)
            delay_s = EVERY_S if self._send_all(TIMEOUT_S) else min(2 * delay_s, LAST_DELAY_S)
        self._send_all(FAREWELL_S / 2)

    def _send_all(self, timeout_s: float) -> bool:
        until = time.monotonic() + timeout_s
        while self._queue:
            calls = [self._queue[n] for n in range(min(BATCH_EVENTS, len(self._queue)))]
            batch = self._events(calls)
            if time.monotonic() > until and self._stopping:
                return False
            if batch and not self._post(batch, timeout_s):
                return False
            for _ in calls:
                self._queue.popleft()
        return True

    def _events(self, calls: list[dict[str, Any]]) -> list[str]:
        found = []
        for call in calls:
            time.sleep(0)  # the threads that serve go first
            try:
                event = self._event(call)
                if event is not None:
                    found.append(json.dumps(event))
            except Exception as error:
                self.drop(1, f"of which no event can be made: {type(error).__name__}")
        return found

    def _post(self, batch: list[str], timeout_s: float) -> bool:
        """Whether the batch is settled: taken, or refused for good and counted as dropped. An
        answer that is no receipt may be another program's: nothing is known to be taken."""
        try:
            headers = {"Content-Type": "application/json", **self._authority()}
            body = f"[{','.join(batch)}]".encode()
            request = urllib.request.Request(self._url, body, headers, method="POST")  # noqa: S310
            with self._opener.open(request, timeout=timeout_s) as answer:
                receipt = json.loads(answer.read(ANSWER_BYTES))
            if type(receipt["accepted"]) is not int:
                return False
            refused = len(receipt["rejected"]) + receipt.get("rejected_more", 0)
            if refused:
                self.drop(refused, REFUSED)
            return True
        except urllib.error.HTTPError as error:
            if error.code not in (400, 409):
                return False
            self.drop(len(batch), REFUSED)  # nothing of it was kept
            return True
        except Exception:
            return False

    def _authority(self) -> dict[str, str]:
        if not self._token_file:
            return {}
        token = Path(self._token_file).read_text(encoding="utf-8").strip()
        return {"Authorization": f"Bearer {token}"}


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None
