"""Sends events to a collector over HTTP, in batches, each acknowledged before the next."""

import http.client
import threading
from collections.abc import Iterator, Sequence

import msgspec

from collector.demo.ledger import Due
from collector.settings_check import split_address

BATCH = 3_000
TIMEOUT_S = 60
_WAIT_S = 1.0


class SendError(RuntimeError):
    """The collector refuses what it was sent; the message says why."""


class _Answer(msgspec.Struct):
    """What of the collector's answer matters here."""

    accepted: int = 0
    duplicates: int = 0
    rejected: list[dict[str, object]] = []


class Sender:
    """One connection to a collector; it waits for one that is away or full."""

    def __init__(self, address: str, stop: threading.Event) -> None:
        self._host, self._port = split_address(address)
        self._stop = stop
        self._connection: http.client.HTTPConnection | None = None

    def send(self, events: Sequence[Due]) -> bool:
        """Send one batch; True once it is durable, False when told to stop before.

        Raises SendError when the collector refuses any of it.
        """
        body = f"[{','.join(text for _, text in events)}]".encode()
        while not self._stop.is_set():
            try:
                status, answer = self._post(body)
            except (OSError, http.client.HTTPException):
                self.close()
                self._stop.wait(_WAIT_S)
                continue
            if status in (429, 503):
                self._stop.wait(_WAIT_S)
                continue
            _check(status, answer)
            return True
        return False

    def close(self) -> None:
        """Give the connection up; the next batch opens another."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _post(self, body: bytes) -> tuple[int, bytes]:
        if self._connection is None:
            self._connection = http.client.HTTPConnection(self._host, self._port, timeout=TIMEOUT_S)
        headers = {"Content-Type": "application/json"}
        self._connection.request("POST", "/v1/events", body, headers)
        answer = self._connection.getresponse()
        return answer.status, answer.read()


def batches(events: Sequence[Due]) -> Iterator[Sequence[Due]]:
    """Parts of at most about BATCH events. What falls due at one instant stays together."""
    start = 0
    while start < len(events):
        end = min(start + BATCH, len(events))
        while end < len(events) and events[end][0] == events[end - 1][0]:
            end += 1
        yield events[start:end]
        start = end


def _check(status: int, body: bytes) -> None:
    if status != http.client.ACCEPTED:
        raise SendError(f"the collector answered {status}: {body[:200].decode(errors='replace')}")
    rejected = msgspec.json.decode(body, type=_Answer).rejected
    if rejected:
        first = rejected[0]
        raise SendError(
            f"the collector refused {len(rejected)} demo events, the first "
            f"{first.get('event_id')}: {first.get('error')}; delete the demo's data folder"
        )
