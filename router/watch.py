"""The books of one request: what is noted as it passes, and the one event that it becomes."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from collector.clock import PLACED, Placed, boot_ns, from_ns
from collector.events import Attempt
from collector.formats.answer import Observer, Told
from collector.formats.usage import Usage
from collector.settings import EngineSettings
from router.labels import Labels
from router.request_copy import RequestCopy, endpoint

Status = Literal["ok", "client_abort", "upstream_error", "timeout"]
SESSION_HEADERS = ("x-claude-code-session-id", "x-session-id")
PROJECT_HEADER = "x-project"


@dataclass(frozen=True)
class Origin:
    """What every event of this process carries."""

    source: str
    rig: str
    boot_id: str | None
    labels: Labels


class Watch:
    """One request from its arrival to its end. All instants are on the boot clock, ns."""

    def __init__(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        request_id: str | None,
        placed: Placed = PLACED,
    ) -> None:
        """Begin at the request's arrival; `headers` must ignore the case of names.

        `placed` tells when that was; all else is measured from there on the boot clock.
        """
        asked = endpoint(method, path)
        self.operation = asked.operation
        self.copy = RequestCopy(
            headers.get("Content-Encoding", ""), headers.get("Content-Type", "")
        )
        self._arrived_ns = boot_ns()
        self.received_ns = placed.now_ns()
        self._headers = headers
        # Which attempt of its request this is.
        self.attempt_no = 1
        self.request_id = request_id
        # A keyed hash of how the conversation began, where nothing names it.
        self.conversation: str | None = None
        self._counted = asked.counts_chunks
        self._form = asked.form
        self._dispatched_ns: int | None = None
        self._http_status: int | None = None
        self._ended_ns: int | None = None
        self._status: Status = "client_abort"
        # What the answer told, once the event is made.
        self.told = Told()

    @cached_property
    def _observer(self) -> Observer:
        return Observer(counts_chunks=self._counted, form=self._form)

    def prepare(self) -> None:
        """Make ready for the answer, while the engine computes it."""
        self._observer  # noqa: B018

    def dispatched(self) -> None:
        """The request's body begins to go to the engine."""
        if self._dispatched_ns is None:
            self._dispatched_ns = boot_ns()

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        """The engine's status and headers are there."""
        self._http_status = status
        if self.operation is not None:
            self._observer.start(status, headers)

    def passed(self, chunk: bytes, at_ns: int) -> None:
        """Bytes of the answer, and when they came from the engine."""
        if self.operation is not None:
            if self.copy.is_whole:
                self.copy.read()
            self._observer.feed(chunk, at_ns)

    @property
    def has_begun(self) -> bool:
        """Whether the first token, or an answer that is no stream of tokens, has come."""
        return self._observer.has_begun

    def end(self, status: Status) -> None:
        """How it ended; the first word counts.

        A client that leaves after the stream's own end mark has all it asked for.
        """
        if self._ended_ns is None:
            self._ended_ns = boot_ns()
            self._status = "ok" if status == "client_abort" and self._observer.done else status

    def event(self, event_id: str, origin: Origin, engine: EngineSettings) -> Attempt:
        """The request as an event, after its end."""
        self.copy.read()
        self._observer.prompts = self.copy.prompts if self.operation == "completion" else 1
        told = self.told = self._observer.finish()
        if self._status == "ok" and (self._observer.failed or self._cut_short(told)):
            self._status = "upstream_error"
        duration_ns = (self._ended_ns or boot_ns()) - self._arrived_ns
        usage = self._usage(told)
        return Attempt(
            source=origin.source,
            event_id=event_id,
            rig=origin.rig,
            boot_id=origin.boot_id,
            operation=self.operation or "other",
            attempt_no=self.attempt_no,
            request_id=self._joined(origin.labels),
            response_id=told.response_id,
            session=self._session(origin.labels),
            project=origin.labels.label("project", self._headers.get(PROJECT_HEADER)),
            key=origin.labels.keyed("key", self._api_key()),
            engine=engine.name,
            model=told.model or self.copy.model or engine.model,
            gpus=list(engine.gpus),
            received_at=from_ns(self.received_ns),
            dispatch_ns=self._since_arrival(self._dispatched_ns),
            wait_ns=told.wait_ns,
            ttft_ns=self._ttft_ns(told, duration_ns),
            duration_ns=duration_ns,
            input_tokens=usage.input_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            output_tokens=usage.output_tokens,
            reasoning_tokens=usage.reasoning_tokens,
            draft_tokens=usage.draft_tokens,
            draft_accepted_tokens=usage.draft_accepted_tokens,
            usage_source=usage.source,
            status=self._status,
            http_status=self._http_status,
            finish_reason=told.finish_reason,
            raw_usage=usage.raw,
        )

    def _cut_short(self, told: Told) -> bool:
        """Whether a counted stream ended in good order of HTTP, yet without any end of its own."""
        return (
            self._observer.streamed
            and self._counted
            and not self._observer.done
            and told.finish_reason is None
            and told.unreadable == 0
        )

    def _usage(self, told: Told) -> Usage:
        """What was told; a stream that failed before its first byte is known to have sent none."""
        if self._http_status is None and self.copy.stream and self._counted:
            return Usage(output_tokens=0, source="derived")
        return told.usage

    def _ttft_ns(self, told: Told, duration_ns: int) -> int | None:
        """Arrival to the first token, ns.

        A whole answer shows no first token; where llama.cpp tells its times, it lies
        `predicted_ms` before the end. Else unknown.
        """
        if told.first_token_ns is not None:
            return self._since_arrival(told.first_token_ns)
        if self._status != "ok" or told.generation_ns is None or self._observer.streamed:
            return None
        derived_ns = duration_ns - told.generation_ns
        return derived_ns if derived_ns >= 0 else None

    def _since_arrival(self, at_ns: int | None) -> int | None:
        return None if at_ns is None else max(0, at_ns - self._arrived_ns)

    def _session(self, labels: Labels) -> str | None:
        values = [*(self._headers.get(header) for header in SESSION_HEADERS), self.copy.user]
        named = labels.label("session", next((value for value in values if value), None))
        return named or self.conversation

    def _api_key(self) -> str | None:
        """The key that the client showed; only its hash goes into the books."""
        scheme, _, key = self._headers.get("Authorization", "").partition(" ")
        bearer = key.strip() if scheme.lower() == "bearer" else None
        return bearer or self._headers.get("X-Api-Key")

    def _joined(self, labels: Labels) -> str | None:
        """The request id as both ends tell it; one that the ledger cannot hold, as its hash."""
        value = self.request_id
        if value and (len(value) > 256 or not value.isascii() or not value.isprintable()):
            return labels.keyed("request", value)
        return value or None
