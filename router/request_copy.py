"""What a request asks for: its operation by path, its model and stream flag from a copy."""

import zlib
from typing import Any, Literal

import msgspec

from collector.formats.usage import name

Operation = Literal["chat", "completion", "embedding", "rerank", "other"]
COPY_BYTES = 4 * 1024 * 1024

_OPERATIONS: dict[str, Operation] = {
    "/chat/completions": "chat",
    "/messages": "chat",
    "/responses": "chat",
    "/api/chat": "chat",
    "/completions": "completion",
    "/completion": "completion",
    "/infill": "completion",
    "/generate": "completion",
    "/api/generate": "completion",
    "/embeddings": "embedding",
    "/embedding": "embedding",
    "/api/embed": "embedding",
    "/api/embeddings": "embedding",
    "/pooling": "embedding",
    "/rerank": "rerank",
    "/reranking": "rerank",
    "/score": "rerank",
    "/audio/transcriptions": "other",
    "/audio/translations": "other",
}
# Endpoints whose stream comes in chunks that can be counted as tokens.
_COUNTED = frozenset({"/chat/completions", "/completions", "/completion", "/infill"})


def operation(method: str, path: str) -> Operation | None:
    """What a request asks of an engine, or None if it asks for no tokens (health, models, …)."""
    return _OPERATIONS.get(_endpoint(path)) if method == "POST" else None


def counts_chunks(path: str) -> bool:
    """Whether each content chunk of a stream on this path stands for output."""
    return _endpoint(path) in _COUNTED


def _endpoint(path: str) -> str:
    bare = path.partition("?")[0].rstrip("/")
    for version in ("/v1", "/v2"):
        if bare.startswith(version + "/"):
            return bare.removeprefix(version)
    return bare


class _Asked(msgspec.Struct):
    """The only fields that are decoded; messages and prompts are skipped over."""

    model: Any = None
    stream: Any = None


_ASKED = msgspec.json.Decoder(_Asked)


class RequestCopy:
    """A bounded copy of a request's body, dropped as soon as it has been read."""

    def __init__(self, coding: str = "") -> None:
        """`coding`: the body's Content-Encoding; only gzip and deflate can be read."""
        self.model: str | None = None
        self.stream = False
        self._coding = coding.strip().lower()
        self._body: bytearray | None = bytearray()

    def add(self, chunk: bytes) -> None:
        """Take the next bytes; a body beyond the limit is forgotten."""
        if self._body is not None:
            self._body += chunk
            if len(self._body) > COPY_BYTES:
                self._body = None

    def read(self) -> None:
        """Read model and stream flag, and forget the rest; unreadable bodies tell nothing."""
        body, self._body = self._body, None
        if not body:
            return
        try:
            asked = _ASKED.decode(self._plain(bytes(body)))
        except (msgspec.DecodeError, UnicodeError, RecursionError, zlib.error):
            return
        self.model = name(asked.model)
        self.stream = asked.stream is True

    def _plain(self, body: bytes) -> bytes:
        if self._coding in ("", "identity"):
            return body
        if self._coding in ("gzip", "x-gzip", "deflate"):
            return zlib.decompressobj(wbits=zlib.MAX_WBITS | 32).decompress(body, COPY_BYTES)
        return b""
