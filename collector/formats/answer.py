"""Watches an engine's answer go by and tells what it said of its tokens. No sockets, no clock.

Nothing here raises into the data path, and no text outlives the line or body it stands in.
"""

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from collector.formats import (
    anthropic,
    emitted,
    llama_cpp,
    ndjson,
    ollama,
    openai,
    responses,
    sglang,
    sse,
)
from collector.formats.body import Body
from collector.formats.heard import Heard
from collector.formats.usage import NOTHING, Usage, count, known, name

DECODED_BYTES = 256 * 1024 * 1024
_PIECE_BYTES = 256 * 1024
_CHOICES = 128


Form = Literal["openai", "anthropic", "responses", "ollama", "sglang"]
# OpenAI's form is read here, with what llama.cpp and vLLM add to it.
_FORMS: dict[str, Callable[[bytes], Heard]] = {
    "anthropic": anthropic.hear,
    "responses": responses.hear,
    "ollama": ollama.hear,
    "sglang": sglang.hear,
}


@dataclass(slots=True)
class Told:
    """What an answer told. Instants are the ones given to `feed`, ns.

    `text_bytes` is how much it emitted: of a stream that is counted by its `content_chunks`, and of
    a whole answer that tells no usage.
    """

    usage: Usage = NOTHING
    response_id: str | None = None
    model: str | None = None
    finish_reason: str | None = None
    first_token_ns: int | None = None
    generation_ns: int | None = None
    wait_ns: int | None = None
    content_chunks: int = 0
    text_bytes: int = 0
    unreadable: int = 0


class Observer:
    """Start it with the answer's head, feed it every chunk, and ask `finish` once."""

    def __init__(self, *, counts_chunks: bool = True, form: Form = "openai") -> None:
        """`counts_chunks`: each chunk of a stream that carries output stands for a token. `form`:
        the wire format of the endpoint; OpenAI's includes llama.cpp's own."""
        self.streamed = False
        self.done = False
        self.failed = False
        # How many prompts were asked in one; None where that is not known.
        self.prompts: int | None = 1
        self._counts_chunks = counts_chunks
        # Whether this answer's chunks are counted.
        self._counts = False
        self._blind = False
        self._hear = _FORMS.get(form)
        self._events: sse.Reader | ndjson.Reader | None = None
        self._body: Body | None = None
        self._inflate: Any = None
        self._decoded_bytes = 0
        self._told = Told()
        self._usage = NOTHING
        self._choices = llama_cpp.Choices()
        self._ended_choice = 0
        # Chunks of each choice that no usage has counted yet.
        self._uncounted: dict[int, int] = {}

    @property
    def has_begun(self) -> bool:
        """Whether a first token has come, or bytes of an answer that shows none."""
        if self._told.first_token_ns is not None:
            return True
        return self._blind or not self._counts

    def start(self, status: int, headers: Mapping[str, str]) -> None:
        """The answer's status and headers (names in any case, if the mapping ignores it)."""
        kind = headers.get("Content-Type", "").partition(";")[0].strip().lower()
        coding = headers.get("Content-Encoding", "").strip().lower()
        self.failed = status >= 400
        self.streamed = kind in _STREAMS
        self._counts = self.streamed and self._counts_chunks
        if coding in ("gzip", "x-gzip", "deflate"):
            self._inflate = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
        elif coding not in ("", "identity"):
            self._blind = True
            return
        if self.streamed:
            self._events = _STREAMS[kind]()
        else:
            self._body = Body()

    def feed(self, chunk: bytes, at_ns: int) -> None:
        """Bytes as they came over the wire, and the instant of their coming."""
        try:
            if self._inflate is None:
                self._read(chunk, at_ns)
            else:
                self._read_packed(chunk, at_ns)
        except Exception:  # the books may miss a figure; the answer must go on
            self._give_up()

    def finish(self) -> Told:
        """What was told, after the last byte or the failure."""
        try:
            return self._finish()
        except Exception:
            self._give_up()
            self._told.usage = NOTHING
            return self._told

    def _finish(self) -> Told:
        if self._inflate is not None and not self._blind:
            self._read(self._inflate.flush(), None)
        if self._events is not None:
            for payload in self._events.close():
                self._payload(payload, None)
            self._told.unreadable += self._events.skipped
        elif self._body is not None:
            for document in self._body.documents():
                self._document(document, None)
                if self._total().source == "missing":
                    self._told.text_bytes = emitted.of_document(document)
        self._events = self._body = None
        self._told.usage = self._total()
        return self._told

    def _give_up(self) -> None:
        self._blind = True
        self._events = self._body = None
        self._told.unreadable += 1

    def _read_packed(self, chunk: bytes, at_ns: int) -> None:
        while chunk and (self._events or self._body):
            piece = self._inflate.decompress(chunk, _PIECE_BYTES)
            chunk = self._inflate.unconsumed_tail
            self._decoded_bytes += len(piece)
            if self._decoded_bytes > DECODED_BYTES:
                self._give_up()
            self._read(piece, at_ns)

    def _read(self, chunk: bytes, at_ns: int | None) -> None:
        if self._events is not None:
            for payload in self._events.feed(chunk):
                self._payload(payload, at_ns)
        elif self._body is not None:
            self._body.add(chunk)

    def _payload(self, payload: bytes, at_ns: int | None) -> None:
        if payload.strip() == b"[DONE]":
            self.done = True
        elif not self._document(payload, at_ns) and b"\n" in payload:
            # Some servers part their events with one newline instead of two.
            for line in payload.split(b"\n"):
                self._payload(line, at_ns)

    def _document(self, document: bytes, at_ns: int | None) -> bool:
        try:
            if self._hear is not None:
                self._note(self._hear(document), at_ns)
                return True
            told = openai.read(document)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            if b"\n" not in document:
                self._told.unreadable += 1
            return False
        self._note_part(told, at_ns)
        return True

    def _note_part(self, told: openai.Part, at_ns: int | None) -> None:
        """What a document of OpenAI's form told: of most chunks, some text and nothing else."""
        self._note_names(told)
        if self._counts:
            text_bytes = openai.emitted_bytes(told)
            if text_bytes is not None:
                self._note_token(at_ns, text_bytes, openai.index(told))
        self._note_usage(told)

    def _note(self, heard: Heard, at_ns: int | None) -> None:
        """What a document of another form than OpenAI's told."""
        self.failed = self.failed or heard.failed
        self.done = self.done or heard.done
        told = self._told
        told.response_id = told.response_id or heard.response_id
        told.model = told.model or heard.model
        told.finish_reason = heard.finish_reason or told.finish_reason
        told.generation_ns = known(heard.generation_ns, told.generation_ns)
        told.wait_ns = known(heard.wait_ns, told.wait_ns)
        if self._counts and heard.token:
            self._note_token(at_ns, heard.text_bytes)
        if heard.usage.source != "missing":
            self._usage = heard.usage.filled_from(self._usage)
            if heard.usage.output_tokens is not None:
                self._uncounted.clear()

    def _note_token(self, at_ns: int | None, text_bytes: int, choice: int = 0) -> None:
        told, uncounted = self._told, self._uncounted
        at = choice if choice in uncounted or len(uncounted) < _CHOICES else 0
        uncounted[at] = uncounted.get(at, 0) + 1
        told.content_chunks += 1
        told.text_bytes += text_bytes
        if told.first_token_ns is None:
            told.first_token_ns = at_ns

    def _note_names(self, told: openai.Part) -> None:
        noted = self._told
        finish = name(told.stop_type) if told.stop is True else None
        for choice in told.choices or ():
            if choice.finish_reason and (ended := name(choice.finish_reason)):
                finish, self._ended_choice = ended, count(choice.index) or 0
        if told.error:
            self.failed = True
        if noted.response_id is None:
            noted.response_id = name(told.id)
        if noted.model is None:
            noted.model = name(told.model)
        if finish is not None:
            noted.finish_reason = finish

    def _note_usage(self, told: openai.Part) -> None:
        found = openai.usage(told.usage) if told.usage else NOTHING
        if told.tokens_evaluated is not None and told.stop is not False:
            found = found.filled_from(
                llama_cpp.native(told.tokens_evaluated, told.tokens_predicted)
            )
        if told.prompt_progress:
            self._usage = self._usage.filled_from(llama_cpp.progress(told.prompt_progress))
        if told.metrics and isinstance(told.metrics, dict):
            self._note_metrics(told.metrics)
        if told.sglext:
            self._usage = self._usage.filled_from(openai.drafts(told.sglext))
        if told.timings is not None and isinstance(told.timings, dict):
            self._note_choice(told, found)
        elif found.source != "missing":
            self._usage = found.filled_from(self._usage)
            self._uncounted.clear()

    def _note_choice(self, told: openai.Part, found: Usage) -> None:
        """llama.cpp's figures, which are those of one choice; of which, its last chunk says."""
        choice = openai.index(told) if told.choices or told.tokens_evaluated else self._ended_choice
        self._choices.note(choice, found.filled_from(llama_cpp.timings(told.timings)))
        told_of_one = found.output_tokens in (None, count(told.timings.get("predicted_n")))
        self._choices.untold = len(told.choices or ()) > 1 and told_of_one
        self._uncounted.pop(choice, None)
        self._told.generation_ns = known(
            llama_cpp.generation_ns(told.timings), self._told.generation_ns
        )

    def _note_metrics(self, told: dict[str, Any]) -> None:
        """vLLM's `metrics` of one request: times in ms, null where there are several choices."""
        wait_ns, generation_ns = _ns(told.get("queue_time_ms")), _ns(told.get("generation_time_ms"))
        self._told.wait_ns = known(wait_ns, self._told.wait_ns)
        self._told.generation_ns = known(generation_ns, self._told.generation_ns)

    def _total(self) -> Usage:
        """What was told, and the chunks that came after it: an aborted stream tells no end."""
        if self._blind:
            return NOTHING
        usage = self._choices.total(self.prompts).filled_from(self._usage)
        since = sum(self._uncounted.values())
        if not self._counts:
            return usage
        told_nothing = self._told.unreadable > 0 and self._told.content_chunks == 0
        if told_nothing or (since == 0 and usage.output_tokens is not None):
            return usage
        return msgspec.structs.replace(
            usage, output_tokens=(usage.output_tokens or 0) + since, source="derived"
        )


_STREAMS: dict[str, Callable[[], sse.Reader | ndjson.Reader]] = {
    "text/event-stream": sse.Reader,
    "application/x-ndjson": ndjson.Reader,
}


def _ns(milliseconds: Any) -> int | None:
    number = isinstance(milliseconds, int | float) and not isinstance(milliseconds, bool)
    return round(milliseconds * 1_000_000) if number and 0 <= milliseconds < 1e12 else None
